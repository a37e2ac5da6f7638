/* The client's side of a command: from its request to its exit status. */
#pragma once

#include "connection.h"
#include "run_request.h"
#include "terminal.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct attended {
	const char *called; /* the command line's command, for messages */
	bool json, quiet;
	bool tty;
	struct connection connection;
	struct terminal terminal;
	int signals;	  /* a signalfd; -1 */
	bool is_stopping; /* one signal to end was passed on already */
	char session[32];
	uint32_t exec; /* number of the command in a session that goes on without it; 0: that ends
			  with it */
};

/* Descriptors 0 to 2 exist from here on, so that none of ours can be taken for one of them. */
void attended_open_streams(void);

/* Begin to attend what @o, given to the command @called, asks for; with attended_close to end. */
struct attended attended_begin(const char *called, const struct run_options *o);

/* Words on standard error. */
void attended_complain(const struct attended *a, const char *text);

#define ATTENDED_STATUS_CAPACITY 75 /* EX_TEMPFAIL: come again */

/* Send @message, borrowed, over the connection, with the standard streams and the workspace that it
 * names, and follow what comes of it. Returns the exit status. */
int attended_run(struct attended *a, json_t *message);
void attended_close(struct attended *a);
