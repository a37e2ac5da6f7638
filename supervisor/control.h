/*
 * Messages between our own processes: one JSON object per SOCK_SEQPACKET message, descriptors ride
 * along.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define CONTROL_SOCKET "/run/vitrine/control.sock"	/* where clients find vitrined by default */
#define CONTROL_PRIVATE_SOCKET "/run/vitrine/%lld.sock" /* of a private vitrined, by its pid */
#define CONTROL_FDS_MAX 16
#define CONTROL_MESSAGE_MAX (16 * 1024 * 1024)

/* Closes descriptors (-1: none) that somebody else chose. */
typedef void control_let_go(const int *fds, size_t count);

struct control_message {
	json_t *body;		  /* an object; owned */
	int fds[CONTROL_FDS_MAX]; /* owned, close-on-exec; taken ones are set to -1 */
	size_t fd_count;
	control_let_go *let_go; /* NULL: close(2) */
};
void control_message_free(struct control_message *m);

/*
 * Send @body (borrowed) and @fd_count borrowed descriptors. What does not fit a packet (64 KiB)
 * travels in a sealed memfd that the receiver unpacks by itself. 0 or -errno.
 */
int control_send(int socket, json_t *body, const int *fds, size_t fd_count);
/* Likewise @text, which is JSON already. */
int control_send_text(int socket, const char *text, size_t size);

/*
 * Before a socket is closed: say that nothing more comes, and take what the peer still sends until
 * it closes too, for at most @timeout_ms. Without this the kernel throws away what we sent last
 * when something of the peer's was not read yet. True if the peer closed.
 */
bool control_linger(int socket, int timeout_ms);

/* Receive one message. 0, -EAGAIN, -ECONNRESET (the peer is gone), -EBADMSG (not a message of ours)
 * or -errno. */
int control_receive(int socket, struct control_message *ret_message);

/* The same of a peer whose descriptors are not simply closed, but by @let_go: all that come, also
 * with what is no message. */
int control_receive_from(int socket, control_let_go *let_go, struct control_message *ret_message);

/* The packet that would be received next, which stays where it is with all that rides along; of a
 * body that does not fit it there is {"memfd": SIZE}. 0 or as above. */
int control_peek(int socket, json_t **ret_packet);

/*
 * Bytes as JSON: a string where they are valid UTF-8 without NUL, else {"b64": "..."}. And back:
 * *ret_data is malloc'ed and NUL-terminated behind its end.
 */
json_t *control_bytes(const void *data, size_t size);
json_t *control_base64(const void *data, size_t size); /* always as b64 */
int control_get_bytes(const json_t *value, char **ret_data, size_t *ret_size);
