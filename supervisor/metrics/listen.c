/*
 * Only the host itself is served: who wants metrics elsewhere puts a proxy of his own in front,
 * which knows whom to let in.
 */
#include "listen.h"

#include "../record/cleanup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define UNIX "unix:"
#define BACKLOG 16

union place {
	struct sockaddr any;
	struct sockaddr_un un;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static bool parse_port(const char *text, in_port_t *ret_port)
{
	unsigned port = 0;

	if (!*text || strlen(text) > 5)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		port = port * 10 + (unsigned)(*text - '0');
	}
	if (port == 0 || port > UINT16_MAX)
		return false;
	*ret_port = htons((uint16_t)port);
	return true;
}

static bool parse_unix(const char *path, union place *ret, socklen_t *ret_size)
{
	if (*path != '/' || strlen(path) >= sizeof(ret->un.sun_path))
		return false;
	for (const char *c = path; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return false;
	ret->un = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(ret->un.sun_path, path, strlen(path) + 1);
	*ret_size = sizeof(ret->un);
	return true;
}

static bool parse_address(const char *text, union place *ret, socklen_t *ret_size)
{
	char address[INET_ADDRSTRLEN];
	const char *colon = strrchr(text, ':');

	if (!strncmp(text, "[::1]:", 6)) {
		ret->in6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
						 .sin6_addr = IN6ADDR_LOOPBACK_INIT};
		*ret_size = sizeof(ret->in6);
		return parse_port(text + 6, &ret->in6.sin6_port);
	}
	if (!colon || (size_t)(colon - text) >= sizeof(address))
		return false;
	memcpy(address, text, (size_t)(colon - text));
	address[colon - text] = 0;
	ret->in = (struct sockaddr_in){.sin_family = AF_INET};
	*ret_size = sizeof(ret->in);
	return inet_pton(AF_INET, address, &ret->in.sin_addr) == 1 &&
	       ntohl(ret->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET &&
	       parse_port(colon + 1, &ret->in.sin_port);
}

static bool parse(const char *text, union place *ret, socklen_t *ret_size)
{
	if (!strncmp(text, UNIX, strlen(UNIX)))
		return parse_unix(text + strlen(UNIX), ret, ret_size);
	return parse_address(text, ret, ret_size);
}

bool metrics_listen_is_valid(const char *text)
{
	union place place;
	socklen_t size;

	return parse(text, &place, &size);
}

/* A socket file at which somebody listens is his; any other file is not ours to remove. */
static int make_way(const struct sockaddr_un *un)
{
	cleanup(close_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (lstat(un->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	if (connect(fd, (const struct sockaddr *)un, sizeof(*un)) == 0 || errno != ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(un->sun_path) < 0 ? -errno : 0;
}

static int bind_to(int fd, const union place *place, socklen_t size)
{
	int one = 1, r = 0;

	if (place->any.sa_family != AF_UNIX) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		return bind(fd, &place->any, size) < 0 ? -errno : 0;
	}
	r = make_way(&place->un);
	if (r < 0)
		return r;
	mode_t mask = umask(0177);
	r = bind(fd, &place->any, size) < 0 ? -errno : 0;
	umask(mask);
	return r;
}

int metrics_listen(const char *text)
{
	union place place;
	socklen_t size;

	if (!parse(text, &place, &size))
		return -EINVAL;
	cleanup(close_fd) int fd =
		socket(place.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	int r = bind_to(fd, &place, size);
	if (r < 0)
		return r;
	if (listen(fd, BACKLOG) < 0)
		return -errno;
	return take_fd(fd);
}

void metrics_unlisten(const char *text)
{
	union place place;
	socklen_t size;

	if (parse(text, &place, &size) && place.any.sa_family == AF_UNIX)
		unlink(place.un.sun_path);
}
