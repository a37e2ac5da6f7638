/*
 * Serves metrics over HTTP: GET and HEAD of /metrics, and nothing else. libmicrohttpd reads what
 * clients send.
 */
#pragma once

#include "text.h"

struct metrics_server;

#define METRICS_CONNECTIONS 16 /* at once; more wait in the kernel */
#define METRICS_DEADLINE_S 10  /* that a connection may take, whatever it does */
#define METRICS_MEMORY 16384   /* of a connection, for the head of its request */

struct metrics_server_options {
	const struct metrics_source *source; /* borrowed, as is what it points to */
	/*
	 * A listening socket (borrowed), served by a thread; -1: connections are given one by one,
	 * and served by metrics_server_turn.
	 */
	int listen_fd;
	bool is_network; /* a browser may be made to come: the name it asked for has to be ours */
};

int metrics_server_new(const struct metrics_server_options *options,
		       struct metrics_server **ret_server);
void metrics_server_free(struct metrics_server *s);

/* Once a second: connections that are older than the deadline at @now_s are cut. */
void metrics_server_sweep(struct metrics_server *s, uint64_t now_s);

/* Without a thread: serve @fd, which is owned from here on, and do what can be done. */
int metrics_server_add(struct metrics_server *s, int fd);
void metrics_server_turn(struct metrics_server *s);
/* Connections that are open. */
size_t metrics_server_connections(struct metrics_server *s);
