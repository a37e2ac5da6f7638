/*
 * Root writes it down itself, without waiting for a vitrined that may be busy; others ask vitrined.
 * Who reads files of a record by other means leaves no such trace; see SECURITY.md.
 */
#include "announce.h"

#include "clerk.h"
#include "connection.h"
#include "record/cleanup.h"
#include "record/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define QUERY_MOST 4096
#define STATUS_REFUSED 1

const char *announce_state(const struct command *c, const void *values)
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

int announce_connect(int state_fd, int *ret_socket)
{
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/" SERVED_LINK, state_fd);
	r = connection_connect(path, ret_socket);
	return r == -ECONNREFUSED || r == -EACCES || r == -EPERM ? -ENOENT : r;
}

void announce_query(const struct command *c, int count, char **arguments, char *text, size_t room)
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

bool announce_is_path(const char *what)
{
	size_t length = strlen(what);

	return strchr(what, '/') || (length > 4 && !strcmp(what + length - 4, ".tar"));
}

int announce_named(const struct command *c)
{
	switch (c->reads) {
	case COMMAND_READS_ONE:
	case COMMAND_READS_UNTOLD:
		return 1;
	case COMMAND_READS_TWO:
		return 2;
	default:
		return 0;
	}
}

static int announce(const struct command *c, const char *state, const char *session, int count,
		    char **arguments)
{
	cleanup(close_fd) int state_fd = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(close_fd) int socket = -1;
	struct control_message answer = {0};
	struct fault f = {0};
	char query[QUERY_MOST], why[256], id[SESSION_ID_LENGTH + 1];
	int r;

	/* What cannot be found is said by the command. */
	if (state_fd < 0 || announce_connect(state_fd, &socket) < 0 ||
	    find_record(state_fd, session, id) < 0)
		return 0;
	announce_query(c, count, arguments, query, sizeof(query));
	if (geteuid() == 0) {
		r = write_down(state, id, query, why, sizeof(why));
	} else {
		r = connection_ask(socket,
				   json_pack("{s:s, s:s, s:o}", "request", "record.access",
					     "session", id, "query",
					     control_bytes(query, strlen(query))),
				   &answer, &f);
		control_message_free(&answer);
		snprintf(why, sizeof(why), "%.*s", (int)sizeof(why) - 1, f.text);
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
	bool is_told = c->reads == COMMAND_READS_ONE || c->reads == COMMAND_READS_TWO ||
		       c->reads == COMMAND_READS_ALL;
	const char *state = is_told ? announce_state(c, values) : NULL;
	int named = announce_named(c), status = 0;

	if (!state)
		return 0;
	if (!named)
		return announce(c, state, "-", argument_count, arguments);
	for (int i = 0; i < named && i < argument_count && !status; i++) {
		if (!announce_is_path(arguments[i]))
			status = announce(c, state, arguments[i], argument_count, arguments);
	}
	return status;
}
