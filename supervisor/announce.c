/*
 * Root writes it down itself, without waiting for a vitrined that may be busy; others ask vitrined.
 * Who reads files of a record by other means leaves no such trace; see SECURITY.md.
 */
#include "announce.h"

#include "clerk.h"
#include "connection.h"
#include "control.h"
#include "record/cleanup.h"
#include "record/jansson_cleanup.h"
#include "record/store.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#define ANSWER_MS 60000
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

/* Connect to the vitrined that serves the directory. -ENOENT: none does. */
static int connect_to(int state_fd, int *ret_socket)
{
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/" SERVED_LINK, state_fd);
	r = connection_connect(path, ret_socket);
	return r == -ECONNREFUSED || r == -EACCES || r == -EPERM ? -ENOENT : r;
}

static void write_query(const struct command *c, int count, char **arguments, char *text,
			size_t room)
{
	size_t length = (size_t)snprintf(text, room, "%s", c->name);

	for (int i = 0; i < count && length < room; i++)
		length += (size_t)snprintf(text + length, room - length, " %s", arguments[i]);
}

/* The id of the record that @what means, "-" for all. */
static int find_record(int state_fd, const char *what, char ret_id[SESSION_ID_LENGTH + 1])
{
	cleanup(close_fd) int fd = -1;
	struct manifest m;
	int r = 0;

	if (!strcmp(what, "-")) {
		memcpy(ret_id, "-", 2);
		return 0;
	}
	r = store_find(state_fd, what, &m, &fd);
	if (r < 0)
		return r;
	memcpy(ret_id, m.id, sizeof(m.id));
	manifest_free(&m);
	return 0;
}

static int write_down(const char *state, const char *id, const char *query, char *why, size_t room)
{
	const struct clerk_client client = {.uid = getuid(), .by = "user"};
	struct clerk *clerk = NULL;
	struct fault f = {0};
	struct event e;
	int r = clerk_open(state, ACTS_APPEND, &clerk, &f);

	snprintf(why, room, "%.*s", (int)room - 1, f.text);
	if (r < 0)
		return r;
	event_init(&e, EVENT_record_access, 0, 0);
	event_put_text(&e, FIELD_query, query);
	r = clerk_note(clerk, LEDGER_ACCESS, id, &e, &client, false);
	clerk_close(clerk);
	snprintf(why, room, "%s", strerror(r < 0 ? -r : 0));
	return r;
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
	cleanup(close_fd) int state_fd = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(close_fd) int socket = -1;
	cleanup(json) json_t *request = NULL;
	char query[QUERY_MOST], why[256], id[SESSION_ID_LENGTH + 1];
	int r;

	/* What cannot be found is said by the command. */
	if (state_fd < 0 || connect_to(state_fd, &socket) < 0 ||
	    find_record(state_fd, session, id) < 0)
		return 0;
	write_query(c, count, arguments, query, sizeof(query));
	if (geteuid() == 0) {
		r = write_down(state, id, query, why, sizeof(why));
	} else {
		request = json_pack("{s:s, s:s, s:o}", "request", "record.access", "session", id,
				    "query", control_bytes(query, strlen(query)));
		r = ask(socket, request, why, sizeof(why));
	}
	if (r == 0)
		return 0;
	fprintf(stderr,
		"vitrine %s: vitrined serves %s, and that you read it could not be written down: "
		"%s\n",
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
