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
	char reads[SESSION_ID_LENGTH + 1];   /* the record that is lent to it (lend.h) */
	char exec_session[SESSION_ID_LENGTH + 1]; /* the session of its command */
	uint32_t exec;			    /* the command that it gave to a session; 0: none */
	bool is_answered, is_exec_answered; /* what it started has its answer */
	bool is_waiting;		    /* with a request that is not read yet */
};

/* Send a message to the client (its reference is taken). A client that does not read is dropped by
 * the next event on its socket. */
void client_send(struct client *c, json_t *message);
void client_send_fds(struct client *c, json_t *message, const int *fds, size_t fd_count);
void client_refuse(struct client *c, const char *code, const char *text);

/* The session that the request names, if the client may have it; else it is refused. */
struct session *client_session(struct client *c, const struct control_message *m);
/* The number that member @key of the request holds, *ret_number if there is none; else it is
 * refused. */
bool client_number(struct client *c, const struct control_message *m, const char *key,
		   uint32_t *ret_number);

/* exec.run: a command for a session that is there. */
void client_serve_exec(struct client *c, struct control_message *m);
/* The client is gone: its command ends. */
void client_end_exec(struct client *c);

/* 1: what it asks for next, which is not read yet, is a session, and has to wait until the disk has
 * more of those that have ended; 0: it has not; -EAGAIN: it would, were it one, but nothing is
 * there to be looked at, so that nothing may be read. */
int client_has_to_wait(const struct client *c);

/* Find the row of the request in @m, check who may send it, and serve it. */
void client_serve(struct client *c, struct control_message *m);
