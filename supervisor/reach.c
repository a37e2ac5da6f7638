/*
 * Finds a session that is alive and the daemon whose it is: the one that listens, or the private
 * one that the session's manifest names.
 */
#include "reach.h"

#include "connection.h"
#include "control.h"
#include "place.h"
#include "record/cleanup.h"
#include "record/jansson_cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int find_session(const char *state, const char *what, struct manifest *ret_manifest,
			struct fault *f)
{
	cleanup(close_fd) int state_fd = open(state, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	cleanup(close_fd) int dir_fd = -1;

	if (state_fd < 0)
		return fault_set(f, -errno, "state", "%s: %s", state, strerror(errno));
	int r = store_find(state_fd, what, ret_manifest, &dir_fd);
	if (r == 0)
		return 0;
	return fault_set(f, r, "no_session", "%s: %s", what,
			 r == -ENOENT ? "no such session"
			 : r == -ENOTUNIQ
				 ? "more than one session is called that; give more of its id"
				 : strerror(-r));
}

int reach_ask(int socket, json_t *message, json_t **ret_answer, struct fault *f)
{
	struct control_message m;
	int r = connection_ask(socket, message, &m, f);

	if (r < 0)
		return r;
	*ret_answer = json_incref(m.body);
	control_message_free(&m);
	return 0;
}

/* A daemon that was named knows where it keeps its records. */
static int ask_state(int socket, json_t **ret_answer, const char **ret_state, struct fault *f)
{
	int r = reach_ask(socket, json_pack("{s:s}", "request", "daemon.info"), ret_answer, f);

	if (r < 0)
		return r;
	*ret_state = json_string_value(json_object_get(*ret_answer, "state"));
	return *ret_state ? 0 : fault_set(f, -EBADMSG, "daemon", "vitrined does not say its state");
}

static int connect_owner(const struct manifest *m, const struct place *usual, int *ret_socket,
			 struct fault *f)
{
	char path[64];

	snprintf(path, sizeof(path), CONTROL_PRIVATE_SOCKET, (long long)m->supervisor_pid);
	int r = connection_connect(path, ret_socket);
	if (r == -ENOENT || r == -ECONNREFUSED)
		r = connection_connect(usual->socket, ret_socket);
	return r < 0 ? fault_set(f, r, "no_daemon",
				 "no vitrined of session %s answers (%s); is it at another "
				 "--socket?",
				 m->id, strerror(-r))
		     : 0;
}

/* Which of the sessions in @list is meant by @what: an id, the beginning of one, a name, or last.
 */
static int find_listed(const json_t *list, const char *what, struct manifest *m, struct fault *f)
{
	const char *found = NULL;
	json_int_t newest = -1;
	const json_t *session;
	size_t i, count = 0;

	json_array_foreach (list, i, session) {
		const char *id = json_string_value(json_object_get(session, "id"));
		const char *name = json_string_value(json_object_get(session, "name"));
		json_int_t started = json_integer_value(json_object_get(session, "started_ns"));

		if (!id || (strcmp(what, "last") && strncmp(id, what, strlen(what)) &&
			    (!name || strcmp(name, what))))
			continue;
		if (!strcmp(what, "last") && started <= newest)
			continue;
		newest = started;
		count = strcmp(what, "last") ? count + 1 : 1;
		found = id;
	}
	if (count != 1)
		return fault_set(f, -ENOENT, "no_session", "%s: %s", what,
				 count ? "more than one session is called that; give more of its id"
				       : "no session of yours that is alive");
	snprintf(m->id, sizeof(m->id), "%s", found);
	return 0;
}

/* Who cannot read records asks the daemon, which tells each user of the user's own. */
static int find_by_daemon(const struct reach_options *o, const struct place *usual,
			  const char *what, struct manifest *m, int *ret_socket, struct fault *f)
{
	const char *path = o->socket ? o->socket : usual->socket;
	cleanup(json) json_t *answer = NULL;
	cleanup(close_fd) int socket = -1;
	int r = connection_connect(path, &socket);

	if (r < 0)
		return fault_set(f, r, "no_daemon", "no vitrined at %s: %s", path, strerror(-r));
	r = reach_ask(socket, json_pack("{s:s}", "request", "session.list"), &answer, f);
	if (r == 0)
		r = find_listed(json_object_get(answer, "sessions"), what, m, f);
	if (r == 0)
		*ret_socket = take_fd(socket);
	return r;
}

static int find_by_record(const struct reach_options *o, const struct place *usual,
			  const char *what, struct manifest *m, int *ret_socket, struct fault *f)
{
	cleanup(json) json_t *info = NULL;
	cleanup(close_fd) int socket = -1;
	const char *state = o->state ? o->state : usual->state;
	int r = 0;

	if (o->socket) {
		r = connection_connect(o->socket, &socket);
		if (r < 0)
			return fault_set(f, r, "no_daemon", "no vitrined at %s: %s", o->socket,
					 strerror(-r));
		if (!o->state)
			r = ask_state(socket, &info, &state, f);
	}
	if (r == 0)
		r = find_session(state, what, m, f);
	if (r == 0 && m->state == SESSION_ENDED)
		r = fault_set(f, -ESRCH, "ended", "session %s has ended already", m->id);
	if (r == 0 && socket < 0)
		r = connect_owner(m, usual, &socket, f);
	if (r < 0)
		return r;
	*ret_socket = take_fd(socket);
	return 0;
}

int reach_session(const struct reach_options *o, const char *what,
		  char ret_id[SESSION_ID_LENGTH + 1], int *ret_socket, struct fault *ret_fault)
{
	cleanup(place) struct place usual;
	struct manifest m = {0};
	int r;

	place_read(&usual);
	r = geteuid() == 0 ? find_by_record(o, &usual, what, &m, ret_socket, ret_fault)
			   : find_by_daemon(o, &usual, what, &m, ret_socket, ret_fault);
	if (r == 0)
		snprintf(ret_id, SESSION_ID_LENGTH + 1, "%s", m.id);
	manifest_free(&m);
	return r;
}
