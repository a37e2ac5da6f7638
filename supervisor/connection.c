/*
 * Finds a daemon. One code path: a private daemon serves the same protocol as one that listens, on
 * a socket that it inherited.
 */
#include "connection.h"

#include "control.h"
#include "place.h"
#include "record/cleanup.h"
#include "record/install.h"
#include "record/jansson_cleanup.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define STOP_TIMEOUT_MS 60000
#define ANSWER_MS 60000

int connection_connect(const char *path, int *ret_socket)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	cleanup(close_fd) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	*ret_socket = take_fd(fd);
	return 0;
}

/* The codes of refusals that who asks may act upon. */
static const char *known_code(const char *code)
{
	static const char *const codes[] = {"forbidden", "capacity", "bad_request"};

	for (size_t i = 0; code && i < sizeof(codes) / sizeof(*codes); i++)
		if (!strcmp(codes[i], code))
			return codes[i];
	return "refused";
}

int connection_ask(int socket, json_t *request, struct control_message *ret_answer, struct fault *f)
{
	cleanup(json) json_t *owned = request;
	struct pollfd answer = {.fd = socket, .events = POLLIN};
	struct control_message m = {0};
	int r = owned ? control_send(socket, owned, NULL, 0) : -ENOMEM;

	if (r == 0)
		r = poll(&answer, 1, ANSWER_MS) == 1 ? control_receive(socket, &m) : -ETIMEDOUT;
	if (r < 0)
		return fault_set(f, r, "daemon", "vitrined does not answer: %s", strerror(-r));
	if (json_is_true(json_object_get(m.body, "ok"))) {
		*ret_answer = m;
		return 0;
	}
	const json_t *error = json_object_get(m.body, "error");
	const char *text = json_string_value(json_object_get(error, "message"));
	fault_say(f, known_code(json_string_value(json_object_get(error, "code"))), "%s",
		  text ? text : "vitrined refused");
	control_message_free(&m);
	return -EREMOTEIO;
}

static int start_private(const struct connection_options *o, const char *usual_state,
			 struct connection *ret_connection, struct fault *f)
{
	char dir[PATH_MAX], bytes[32];
	const char *arguments[8] = {"--private", "--state", o->state ? o->state : usual_state};
	struct connection c = CONNECTION_NONE;

	size_t count = 3;

	if (o->is_detached)
		arguments[count++] = "--detached";
	if (o->ring_bytes) {
		snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)o->ring_bytes);
		arguments[count++] = "--ring-bytes";
		arguments[count++] = bytes;
	}
	int r = install_find("vitrined", dir);
	if (r < 0)
		return fault_set(f, r, "install", "vitrined is not beside vitrine");
	r = companion_start(dir, "vitrined", arguments, &c.daemon);
	if (r < 0)
		return fault_set(f, r, "install", "cannot start %s/vitrined: %s", dir,
				 strerror(-r));

	c.socket = take_fd(c.daemon.socket);
	*ret_connection = c;
	return 0;
}

int connection_open(const struct connection_options *o, struct connection *ret_connection,
		    struct fault *f)
{
	cleanup(place) struct place place;
	struct connection c = CONNECTION_NONE;
	int r = -ENOENT;

	place_read(&place);
	const char *path = o->socket ? o->socket : place.socket;

	if (o->socket || !o->state)
		r = connection_connect(path, &c.socket);
	if (r == 0) {
		*ret_connection = c;
		return 0;
	}
	if (geteuid() == 0 && !o->socket && (r == -ENOENT || r == -ECONNREFUSED))
		return start_private(o, place.state, ret_connection, f);
	if (r == -EACCES || r == -EPERM)
		return fault_set(f, r, "no_daemon",
				 "vitrined at %s may be used by root and its group alone, and you "
				 "are uid %u: have root add you to group vitrine, and log in again",
				 path, geteuid());
	if (o->socket)
		return fault_set(f, r, "no_daemon", "no vitrined listens at %s: %s", path,
				 strerror(-r));
	return fault_set(f, r, "no_daemon",
			 "no vitrined listens at %s, and only root can run a session without one: "
			 "start vitrined, or run this as root",
			 path);
}

void connection_close(struct connection *c)
{
	if (c->socket >= 0)
		close(c->socket);
	c->socket = -1;
	if (c->daemon.pid)
		companion_stop(&c->daemon, STOP_TIMEOUT_MS);
}

void connection_leave(struct connection *c)
{
	if (c->socket >= 0)
		close(c->socket);
	if (c->daemon.pidfd >= 0)
		close(c->daemon.pidfd);
	*c = (struct connection)CONNECTION_NONE;
}
