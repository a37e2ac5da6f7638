/*
 * Messages between our own processes. A message is one packet; a body that does not fit one lies in
 * a sealed memfd, which rides as the first descriptor behind the packet {"memfd": SIZE}.
 *
 * Either end may be hostile to the other (a client to vitrined, a compromised recorder to
 * vitrined): what is received is bounded and checked before it is parsed, and no descriptor is ever
 * leaked.
 */
#include "control.h"

#include "record/base64.h"
#include "record/jansson_cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define PACKET_MAX (64 * 1024)
#define PACKET_FDS 253 /* as many as the kernel lets ride along (SCM_MAX_FD) */
#define MEMFD_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* Text of a message, wiped when it goes: secrets travel in messages. */
struct text {
	char *data;
	size_t size;
};

static void cleanup_text(struct text *t)
{
	if (t->data)
		explicit_bzero(t->data, t->size);
	free(t->data);
}

static void let_fds_go(const struct control_message *m, const int *fds, size_t count)
{
	if (m->let_go) {
		m->let_go(fds, count);
		return;
	}
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

void control_message_free(struct control_message *m)
{
	json_decref(m->body);
	m->body = NULL;
	let_fds_go(m, m->fds, m->fd_count);
	m->fd_count = 0;
}

static void cleanup_message(struct control_message *m)
{
	control_message_free(m);
}

/* ---- sending ---- */

static int send_packet(int socket, const char *data, size_t size, const int *fds, size_t fd_count)
{
	struct iovec iov = {.iov_base = (void *)data, .iov_len = size};
	union {
		char bytes[CMSG_SPACE(sizeof(int) * CONTROL_FDS_MAX)];
		struct cmsghdr align;
	} room = {0};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd_count > 0) {
		struct cmsghdr *c = &room.align;

		message.msg_control = room.bytes;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * fd_count);
	}

	while (sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

static int memfd_of(const struct text *text, int *ret_fd)
{
	cleanup(close_fd) int fd = memfd_create("vitrine-message", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;

	for (size_t done = 0; done < text->size;) {
		ssize_t n = write(fd, text->data + done, text->size - done);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			done += n;
	}
	if (fcntl(fd, F_ADD_SEALS, MEMFD_SEALS) < 0)
		return -errno;

	*ret_fd = take_fd(fd);
	return 0;
}

static int send_large(int socket, const struct text *text, const int *fds, size_t fd_count)
{
	int all[CONTROL_FDS_MAX];
	char packet[64];

	if (fd_count + 1 > CONTROL_FDS_MAX)
		return -E2BIG;

	cleanup(close_fd) int memfd = -1;
	int r = memfd_of(text, &memfd);
	if (r < 0)
		return r;

	all[0] = memfd;
	if (fd_count > 0)
		memcpy(all + 1, fds, sizeof(int) * fd_count);
	int length = snprintf(packet, sizeof(packet), "{\"memfd\":%zu}", text->size);
	return send_packet(socket, packet, length, all, fd_count + 1);
}

static int send_text(int socket, const struct text *text, const int *fds, size_t fd_count)
{
	if (text->size > CONTROL_MESSAGE_MAX)
		return -EMSGSIZE;
	if (text->size > PACKET_MAX)
		return send_large(socket, text, fds, fd_count);
	return send_packet(socket, text->data, text->size, fds, fd_count);
}

int control_send(int socket, json_t *body, const int *fds, size_t fd_count)
{
	if (fd_count > CONTROL_FDS_MAX)
		return -E2BIG;

	cleanup(text) struct text text = {.data = json_dumps(body, JSON_COMPACT)};
	if (!text.data)
		return -ENOMEM;
	text.size = strlen(text.data);
	return send_text(socket, &text, fds, fd_count);
}

int control_send_text(int socket, const char *text, size_t size)
{
	const struct text given = {.data = (char *)text, .size = size};

	return send_text(socket, &given, NULL, 0);
}

/* ---- receiving ---- */

/* All that came are ours to let go of: what finds no room the kernel would close for us. */
static void take_descriptors(struct msghdr *message, struct control_message *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		int fds[PACKET_FDS];
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		size_t room = CONTROL_FDS_MAX - m->fd_count;
		size_t taken = count < room ? count : room;

		memcpy(fds, CMSG_DATA(c), count * sizeof(int));
		memcpy(m->fds + m->fd_count, fds, taken * sizeof(int));
		m->fd_count += taken;
		if (count > taken) {
			let_fds_go(m, fds + taken, count - taken);
			message->msg_flags |= MSG_CTRUNC;
		}
	}
}

/* One packet and its descriptors. */
static int receive_packet(int socket, struct text *packet, struct control_message *m)
{
	struct iovec iov = {.iov_base = packet->data, .iov_len = packet->size};
	union {
		char bytes[CMSG_SPACE(sizeof(int) * PACKET_FDS)];
		struct cmsghdr align;
	} room;
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = room.bytes,
				 .msg_controllen = sizeof(room.bytes)};

	ssize_t n;
	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;

	take_descriptors(&message, m);
	if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return -EBADMSG;
	if (n == 0)
		return -ECONNRESET;
	packet->size = n;
	return 0;
}

static int parse_object(const char *data, size_t size, json_t **ret_object)
{
	cleanup(json) json_t *value = json_loadb(data, size, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(value))
		return -EBADMSG;
	*ret_object = take(value);
	return 0;
}

/* The memfd has to be sealed: its maker could change it under our eyes otherwise. */
static int read_memfd(int fd, struct text *ret_text)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & MEMFD_SEALS) != MEMFD_SEALS || fstat(fd, &st) < 0)
		return -EBADMSG;
	if (st.st_size <= 0 || st.st_size > CONTROL_MESSAGE_MAX)
		return -EBADMSG;

	ret_text->size = st.st_size;
	ret_text->data = malloc(ret_text->size);
	if (!ret_text->data)
		return -ENOMEM;

	for (size_t done = 0; done < ret_text->size;) {
		ssize_t n = pread(fd, ret_text->data + done, ret_text->size - done, done);
		if (n == 0 || (n < 0 && errno != EINTR))
			return -EBADMSG;
		if (n > 0)
			done += n;
	}
	return 0;
}

static int unpack_memfd(struct control_message *m)
{
	cleanup(text) struct text text = {0};

	if (m->fd_count == 0)
		return -EBADMSG;
	int r = read_memfd(m->fds[0], &text);
	if (r < 0)
		return r;

	json_t *body = NULL;
	r = parse_object(text.data, text.size, &body);
	if (r < 0)
		return r;

	json_decref(m->body);
	m->body = body;
	close(m->fds[0]);
	m->fd_count--;
	memmove(m->fds, m->fds + 1, sizeof(int) * m->fd_count);
	return 0;
}

int control_receive_from(int socket, control_let_go *let_go, struct control_message *ret_message)
{
	static _Thread_local char room[PACKET_MAX];
	cleanup(message) struct control_message m = {.let_go = let_go};
	struct text packet = {.data = room, .size = sizeof(room)};

	int r = receive_packet(socket, &packet, &m);
	if (r == -EAGAIN)
		return r;
	if (r == 0)
		r = parse_object(packet.data, packet.size, &m.body);
	explicit_bzero(packet.data, packet.size); /* it may have held a secret */
	if (r < 0)
		return r;
	if (json_object_get(m.body, "memfd")) {
		r = unpack_memfd(&m);
		if (r < 0)
			return r;
	}

	*ret_message = m;
	m = (struct control_message){0};
	return 0;
}

int control_receive(int socket, struct control_message *ret_message)
{
	return control_receive_from(socket, NULL, ret_message);
}

int control_peek(int socket, json_t **ret_packet)
{
	cleanup(text) struct text packet = {.data = malloc(PACKET_MAX), .size = PACKET_MAX};

	if (!packet.data)
		return -ENOMEM;
	ssize_t n = recv(socket, packet.data, packet.size, MSG_PEEK | MSG_TRUNC);
	if (n < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	if (n == 0)
		return -ECONNRESET;
	if ((size_t)n > packet.size)
		return -EBADMSG;
	return parse_object(packet.data, (size_t)n, ret_packet);
}

bool control_linger(int socket, int timeout_ms)
{
	struct pollfd more = {.fd = socket, .events = POLLIN};
	struct control_message m;
	int r = 0;

	shutdown(socket, SHUT_WR);
	while ((r == 0 || r == -EAGAIN || r == -EBADMSG) && poll(&more, 1, timeout_ms) > 0) {
		r = control_receive(socket, &m);
		if (r == 0)
			control_message_free(&m);
	}
	return r == -ECONNRESET;
}

/* ---- bytes ---- */

json_t *control_base64(const void *data, size_t size)
{
	cleanup(free) char *text = malloc(BASE64_LENGTH(size) + 1);
	if (!text)
		return NULL;
	base64_encode(data, size, text);
	text[BASE64_LENGTH(size)] = 0;
	return json_pack("{s:s}", "b64", text);
}

json_t *control_bytes(const void *data, size_t size)
{
	if (size > CONTROL_MESSAGE_MAX)
		return NULL;
	if (size == 0 || !memchr(data, 0, size)) {
		json_t *value = json_stringn(size ? data : "", size);
		if (value)
			return value;
	}
	return control_base64(data, size);
}

static int decode_base64(const char *text, size_t length, char **ret_data, size_t *ret_size)
{
	if (length % 4 != 0 || length > CONTROL_MESSAGE_MAX)
		return -EBADMSG;

	cleanup(free) char *data = malloc(length / 4 * 3 + 1);
	if (!data)
		return -ENOMEM;
	ssize_t size = base64_decode(text, length, data);
	if (size < 0)
		return -EBADMSG;

	data[size] = 0;
	*ret_data = take(data);
	*ret_size = (size_t)size;
	return 0;
}

int control_get_bytes(const json_t *value, char **ret_data, size_t *ret_size)
{
	if (json_is_string(value)) {
		size_t size = json_string_length(value);
		char *data = malloc(size + 1);

		if (!data)
			return -ENOMEM;
		memcpy(data, json_string_value(value), size + 1);
		*ret_data = data;
		*ret_size = size;
		return 0;
	}

	const json_t *b64 = json_object_get(value, "b64");
	if (!json_is_string(b64) || json_object_size(value) != 1)
		return -EBADMSG;
	return decode_base64(json_string_value(b64), json_string_length(b64), ret_data, ret_size);
}
