/*
 * A receiver that takes everything and looks at nothing: `bench-null_receiver FILE` listens on a
 * port of loopback that it writes to FILE. What begins with "POST" gets an answer to each request;
 * all else is read away.
 */
#include "supervisor/record/cleanup.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define ROOM (1 << 20)

static const char answer[] =
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	"Content-Length: 38\r\n\r\n{\"errors\":false,\"items\":[],\"code\":0}   ";

/* Length of the body that the head at @text asks for; 0: none. */
static size_t body_length(const char *text)
{
	const char *at = strcasestr(text, "\r\nContent-Length:");
	size_t length = 0;

	for (at = at ? at + 17 : ""; *at == ' ' || (*at >= '0' && *at <= '9'); at++)
		length = *at == ' ' ? length : length * 10 + (size_t)(*at - '0');
	return length;
}

/* Read one request away; false at the end. */
static bool take_request(int fd, char *room, size_t *have)
{
	char *end;
	size_t left;

	room[*have] = 0;
	while (!(end = strstr(room, "\r\n\r\n"))) {
		ssize_t n = read(fd, room + *have, ROOM - *have);

		if (n <= 0)
			return false;
		*have += (size_t)n;
		room[*have] = 0;
	}
	left = (size_t)(end + 4 - room) + body_length(room);
	while (left > *have) {
		ssize_t n;

		left -= *have;
		*have = 0;
		n = read(fd, room, ROOM);
		if (n <= 0)
			return false;
		*have = (size_t)n;
	}
	memmove(room, room + left, *have - left);
	*have -= left;
	return write(fd, answer, sizeof(answer) - 1) == (ssize_t)sizeof(answer) - 1;
}

static void *serve(void *context)
{
	cleanup(close_fd) int fd = (int)(intptr_t)context;
	cleanup(free) char *room = malloc(ROOM + 1);
	ssize_t n = room ? read(fd, room, ROOM) : -1;
	size_t have = n > 0 ? (size_t)n : 0;

	if (n >= 4 && !memcmp(room, "POST", 4)) {
		while (take_request(fd, room, &have))
			;
		return NULL;
	}
	while (n > 0)
		n = read(fd, room, ROOM);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FILE *out;

	if (argc != 2 || fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 ||
	    listen(fd, 64) < 0 || getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return 1;
	out = fopen(argv[1], "we");
	if (!out)
		return 1;
	fprintf(out, "%u\n", ntohs(address.sin_port));
	fclose(out);
	for (;;) {
		pthread_t thread;
		int one = 1, peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (peer < 0)
			continue;
		setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)peer) == 0)
			pthread_detach(thread);
		else
			close(peer);
	}
}
