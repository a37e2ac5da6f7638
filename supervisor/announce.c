/* Who reads files of a record by other means leaves no such trace; see SECURITY.md. */
#include "announce.h"

#include "connection.h"
#include "control.h"
#include "jansson_cleanup.h"
#include "record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#define ANSWER_MS 10000
#define QUERY_MOST 4096
#define STATUS_REFUSED 1

static const char *state_of(const struct command *c, const void *values)
{
	for (const struct command_option *o = c->options; o && o->name; o++) {
		const char *state;

		if (strcmp(o->name, "state") != 0)
			continue;
		memcpy(&state, (const char *)values + o->offset, sizeof(state));
		return state;
	}
	return NULL;
}

/* Connect to the vitrined that serves @state. -ENOENT: none does. */
static int connect_to(const char *state, int *ret_socket)
{
	char path[64];
	cleanup(close_fd) int fd = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -ENOENT; /* the command says what is wrong */
	snprintf(path, sizeof(path), "/proc/self/fd/%d/" SERVED_LINK, fd);
	r = connection_connect(path, ret_socket);
	return r == -ECONNREFUSED || r == -EACCES || r == -EPERM ? -ENOENT : r;
}

static json_t *query_of(const struct command *c, int count, char **arguments)
{
	char text[QUERY_MOST];
	size_t length = (size_t)snprintf(text, sizeof(text), "%s", c->name);

	for (int i = 0; i < count && length < sizeof(text); i++)
		length +=
			(size_t)snprintf(text + length, sizeof(text) - length, " %s", arguments[i]);
	return control_bytes(text, strlen(text));
}

static bool is_path(const char *what)
{
	size_t length = strlen(what);

	return strchr(what, '/') || (length > 4 && !strcmp(what + length - 4, ".tar"));
}

static int ask(int socket, json_t *request, char *why, size_t room)
{
	struct pollfd answer = {.fd = socket, .events = POLLIN};
	struct control_message m;
	int r = request ? control_send(socket, request, NULL, 0) : -ENOMEM;

	snprintf(why, room, "vitrined does not answer");
	if (r == 0)
		r = poll(&answer, 1, ANSWER_MS) == 1 ? control_receive(socket, &m) : -ETIMEDOUT;
	if (r < 0)
		return r;
	if (!json_is_true(json_object_get(m.body, "ok"))) {
		const json_t *error = json_object_get(m.body, "error");
		const char *text = json_string_value(json_object_get(error, "message"));

		snprintf(why, room, "%s", text ? text : "vitrined refused");
		r = -EACCES;
	}
	control_message_free(&m);
	return r;
}

static int announce(const struct command *c, const char *state, const char *session, int count,
		    char **arguments)
{
	cleanup(close_fd) int socket = -1;
	cleanup(json) json_t *request = NULL;
	char why[256];
	int r = connect_to(state, &socket);

	if (r == -ENOENT)
		return 0;
	request = json_pack("{s:s, s:s, s:o}", "request", "record.access", "session", session,
			    "query", query_of(c, count, arguments));
	snprintf(why, sizeof(why), "%s", strerror(r < 0 ? -r : 0));
	if (r == 0)
		r = ask(socket, request, why, sizeof(why));
	if (r == 0)
		return 0;
	fprintf(stderr,
		"vitrine %s: vitrined serves %s, and could not write down that you read it: %s\n",
		c->name, state, why);
	return STATUS_REFUSED;
}

int announce_reading(const struct command *c, const void *values, int argument_count,
		     char **arguments)
{
	const char *state = c->reads == COMMAND_READS_NOTHING ? NULL : state_of(c, values);
	int named = c->reads == COMMAND_READS_ONE ? 1 : c->reads == COMMAND_READS_TWO ? 2 : 0;
	int status = 0;

	if (!state)
		return 0;
	if (!named)
		return announce(c, state, "-", argument_count, arguments);
	for (int i = 0; i < named && i < argument_count && !status; i++) {
		if (!is_path(arguments[i]))
			status = announce(c, state, arguments[i], argument_count, arguments);
	}
	return status;
}
