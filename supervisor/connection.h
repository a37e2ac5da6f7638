/* A client's way to a daemon: the one that listens, or a private one for this run alone. */
#pragma once

#include "companion.h"
#include "control.h"
#include "fault.h"

#include <stdbool.h>
#include <stdint.h>

struct connection {
	int socket;
	struct companion daemon; /* the private one; .pid 0: none */
};

#define CONNECTION_NONE                                                                            \
	{                                                                                          \
		.socket = -1, .daemon = COMPANION_NONE                                             \
	}

struct connection_options {
	const char *socket;  /* NULL: the default, and a private daemon where none listens */
	const char *state;   /* absolute; NULL: whatever the daemon has. Without .socket: private */
	uint64_t ring_bytes; /* of a private daemon; 0: its default */
	bool is_detached;    /* a private daemon stays as long as it has sessions */
};

/* Connect to what listens at @path. 0 or -errno. */
int connection_connect(const char *path, int *ret_socket);

/*
 * Send @request (its reference is taken) and wait for the answer, which is the caller's. 0;
 * -EREMOTEIO: it was refused, and the fault has the code and the words; or -errno with a fault.
 */
int connection_ask(int socket, json_t *request, struct control_message *ret_answer,
		   struct fault *ret_fault);

/* 0 or -errno with a fault. */
int connection_open(const struct connection_options *options, struct connection *ret_connection,
		    struct fault *ret_fault);
/* A private daemon is waited for: when this returns, what it had is gone. */
void connection_close(struct connection *c);
/* It is left to itself. */
void connection_leave(struct connection *c);
