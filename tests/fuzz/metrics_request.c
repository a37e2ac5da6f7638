/* Whatever a client of vitrine-metrics sends: nothing breaks, and its connection ends. */
#include "../../supervisor/metrics/server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct metrics_server *open_server(void)
{
	static struct metrics_daemon daemon;
	static struct metrics_source source = {.program = "vitrined", .daemon = &daemon};
	const struct metrics_server_options options = {
		.source = &source, .listen_fd = -1, .is_network = true};
	struct metrics_server *server = NULL;

	if (metrics_server_new(&options, &server) < 0)
		abort();
	return server;
}

/* What comes back begins as HTTP does, or nothing comes. */
static void check_answer(int fd)
{
	char answer[16];
	ssize_t n = recv(fd, answer, sizeof(answer), 0);

	if (n > 0 && (n < 5 || memcmp(answer, "HTTP/", 5) != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct metrics_server *server;
	int ends[2];

	if (!server)
		server = open_server();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0)
		return 0;
	if (metrics_server_add(server, ends[1]) < 0)
		abort();
	/* In two pieces, so that the seam falls anywhere. */
	size_t half = size ? data[0] % size : 0;
	if (send(ends[0], data, half, MSG_NOSIGNAL) >= 0)
		metrics_server_turn(server);
	if (send(ends[0], data + half, size - half, MSG_NOSIGNAL) >= 0)
		metrics_server_turn(server);
	metrics_server_turn(server);
	check_answer(ends[0]);
	close(ends[0]);
	for (int turns = 0; turns < 100 && metrics_server_connections(server) > 0; turns++)
		metrics_server_turn(server);
	if (metrics_server_connections(server) > 0)
		abort();
	return 0;
}
