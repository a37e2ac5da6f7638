/*
 * Messages of fixed size with descriptors. See message.h.
 */
#include "message.h"

#include "../record/cleanup.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

union control_room {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(MESSAGE_FDS_MAX * sizeof(int))];
};

int message_send(int socket, const void *data, size_t size, const int *fds, size_t count)
{
	struct iovec piece = {.iov_base = (void *)data, .iov_len = size};
	struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
	union control_room room = {0};

	if (count > MESSAGE_FDS_MAX)
		return -E2BIG;
	if (count > 0) {
		message.msg_control = &room;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		room.head.cmsg_level = SOL_SOCKET;
		room.head.cmsg_type = SCM_RIGHTS;
		room.head.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&room.head), fds, count * sizeof(int));
	}

	ssize_t sent;
	do
		sent = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return -errno;
	return (size_t)sent == size ? 0 : -EMSGSIZE;
}

void message_fds_close(struct message_fds *fds)
{
	for (size_t i = 0; i < fds->count; i++)
		cleanup_close_fd(&fds->fd[i]);
	fds->count = 0;
}

static void take_descriptors(struct msghdr *message, struct message_fds *ret_fds)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;

		ret_fds->count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(ret_fds->fd, CMSG_DATA(c), ret_fds->count * sizeof(int));
	}
}

int message_receive(int socket, bool wait, void *ret_data, size_t size, struct message_fds *ret_fds)
{
	cleanup(message_fds) struct message_fds fds = {.count = 0};
	struct iovec piece = {.iov_base = ret_data, .iov_len = size};
	union control_room room = {0};
	struct msghdr message = {
		.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = &room,
		.msg_controllen = sizeof(room),
	};

	ssize_t received;
	do
		received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
	while (received < 0 && errno == EINTR);
	if (received < 0)
		return -errno;
	take_descriptors(&message, &fds);

	if (received == 0)
		return -ECONNRESET;
	if ((size_t)received != size || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return -EBADMSG;
	if (!ret_fds)
		return fds.count == 0 ? 0 : -EBADMSG;

	*ret_fds = fds;
	fds.count = 0;
	return 0;
}
