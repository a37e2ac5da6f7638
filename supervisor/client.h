/* One connection to the control socket, and the session that it started. */
#pragma once

#include "control.h"
#include "host.h"
#include "session.h"

#include <sys/socket.h>

struct client {
	struct host *host;
	struct client *next;
	struct supervisor *supervisor;
	int socket;
	struct ucred who; /* as the kernel knows the other end */
	sd_event_source *source;
	char session[SESSION_ID_LENGTH + 1]; /* the session that it started and that still lives */
	bool is_answered;		     /* its session.run has its answer */
	char reads[SESSION_ID_LENGTH + 1];   /* the record that is lent to it (lend.h) */
};

/* Send a message to the client (its reference is taken). A client that does not read is dropped by
 * the next event on its socket. */
void client_send(struct client *c, json_t *message);
void client_send_fds(struct client *c, json_t *message, const int *fds, size_t fd_count);
void client_refuse(struct client *c, const char *code, const char *text);

/* Find the row of the request in @m, check who may send it, and serve it. */
void client_serve(struct client *c, struct control_message *m);
