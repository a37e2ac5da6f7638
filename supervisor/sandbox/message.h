/*
 * Messages of fixed size between vitrined, the launcher and the init of a session: one struct and
 * the descriptors that ride along, over SOCK_SEQPACKET. All three are built together, so a struct
 * of another size is an error and not another version.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MESSAGE_FDS_MAX 8

struct message_fds {
	int fd[MESSAGE_FDS_MAX]; /* owned; what is taken is set to -1 */
	size_t count;
};

/* Send @size bytes and @count borrowed descriptors, whole or not at all. 0 or -errno. */
int message_send(int socket, const void *data, size_t size, const int *fds, size_t count);

/*
 * Receive exactly @size bytes. Descriptors are close-on-exec; where @ret_fds is NULL there must be
 * none. 0, -EAGAIN (nothing there, when @wait is false), -ECONNRESET (the peer is gone), -EBADMSG
 * or -errno.
 */
int message_receive(int socket, bool wait, void *ret_data, size_t size,
		    struct message_fds *ret_fds);

void message_fds_close(struct message_fds *fds);

static inline void cleanup_message_fds(struct message_fds *fds)
{
	message_fds_close(fds);
}
