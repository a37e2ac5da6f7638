/*
 * What lies between a client's standard streams and a command's: three pipes into the session, and
 * descriptions of our own of what the client passed. The recorder relays between them.
 */
#pragma once

#include "fault.h"

#include <stdbool.h>
#include <sys/types.h>

struct streams {
	int session[3]; /* what the command gets as 0, 1, 2 */
	int from[3];	/* the recorder reads: client's stdin, session's stdout and stderr */
	int to[3];	/* the recorder writes: session's stdin, client's stdout and stderr */
};

#define STREAMS_NONE                                                                               \
	{                                                                                          \
		.session = {-1, -1, -1}, .from = {-1, -1, -1}, .to = {-1, -1, -1},                 \
	}

/* The pipes of a command, made ahead of it; both ends of each in order of its descriptor. */
struct streams_pipes {
	int session[3], recorder[3];
	uid_t owner;
};

#define STREAMS_PIPES_NONE                                                                         \
	{                                                                                          \
		.session = {-1, -1, -1}, .recorder = {-1, -1, -1},                                 \
	}

/* For a command of @owner. 0 or -errno. */
int streams_make_pipes(uid_t owner, struct streams_pipes *ret_pipes);
void streams_close_pipes(struct streams_pipes *p);

struct streams_options {
	int client[3]; /* what a client passed; borrowed */
	bool root;     /* who answers for the host passed it (see passed.h) */
	bool tty;      /* no pipes: from[0] and to[1] alone are the client's terminal */
	uid_t owner;   /* of the pipes, so that the command can open /dev/stdout */
	struct streams_pipes *pipes; /* taken if they are the owner's; NULL: none are there */
};

/* 0 or -errno with a fault. */
int streams_open(const struct streams_options *options, struct streams *ret_streams,
		 struct fault *ret_fault);

/* Close what was handed over: the command's ends, or all. */
void streams_close_session(struct streams *s);
void streams_close(struct streams *s);
