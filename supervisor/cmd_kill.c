/*
 * vitrine kill: end a session, or send its command a signal. The daemon is the one that listens, or
 * the private one that the session's manifest names.
 */
#include "connection.h"
#include "control.h"
#include "place.h"
#include "record/cleanup.h"
#include "record/command.h"
#include "record/jansson_cleanup.h"
#include "record/store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CALLED "vitrine kill"
#define LOOK_NS 20000000 /* between two looks whether it has ended */
#define END_TIMEOUT_S 60 /* for its record to be closed */
#define KILL_STATUS_FAILED 1

struct kill_options {
	const char *state, *socket;
	int signal; /* 0: end it */
};

/* TERM, SIGTERM or 15. */
static int parse_signal(const char *text, void *ret_value)
{
	const char *name = strncmp(text, "SIG", 3) ? text : text + 3;
	size_t digits = strspn(text, "0123456789");
	int number = 0;

	for (size_t i = 0; digits <= 2 && !text[digits] && i < digits; i++)
		number = 10 * number + (text[i] - '0');
	for (int s = 1; !number && s < NSIG; s++)
		if (sigabbrev_np(s) && !strcmp(sigabbrev_np(s), name))
			number = s;
	if (number < 1 || number >= NSIG)
		return -EINVAL;
	*(int *)ret_value = number;
	return 0;
}

/* ---- which session, and whose ---- */

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
			 r == -ENOENT	  ? "no such session"
			 : r == -ENOTUNIQ ? "more than one session begins so"
					  : strerror(-r));
}

/* A message and its answer, owned by the caller. 0 or -errno with a fault. */
static int ask(int socket, json_t *message, json_t **ret_answer, struct fault *f)
{
	cleanup(json) json_t *owned = message;
	struct control_message m = {0};
	int r = owned ? control_send(socket, owned, NULL, 0) : -ENOMEM;

	if (r == 0)
		r = control_receive(socket, &m);
	if (r < 0)
		return fault_set(f, r, "daemon", "vitrined: %s", strerror(-r));
	*ret_answer = json_incref(m.body);
	control_message_free(&m);

	const json_t *error = json_object_get(*ret_answer, "error");
	if (json_is_true(json_object_get(*ret_answer, "ok")))
		return 0;
	fault_say(f, "refused", "%s", json_string_value(json_object_get(error, "message")) ?: "?");
	return -EREMOTEIO;
}

/* A daemon that was named knows where it keeps its records. */
static int ask_state(int socket, json_t **ret_answer, const char **ret_state, struct fault *f)
{
	int r = ask(socket, json_pack("{s:s}", "request", "daemon.info"), ret_answer, f);

	if (r < 0)
		return r;
	*ret_state = json_string_value(json_object_get(*ret_answer, "state"));
	return *ret_state ? 0 : fault_set(f, -EBADMSG, "daemon", "vitrined does not say its state");
}

static int connect_owner(const struct manifest *m, const char *usual, int *ret_socket,
			 struct fault *f)
{
	char path[64];

	snprintf(path, sizeof(path), CONTROL_PRIVATE_SOCKET, (long long)m->supervisor_pid);
	int r = connection_connect(path, ret_socket);
	if (r == -ENOENT || r == -ECONNREFUSED)
		r = connection_connect(usual, ret_socket);
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
				 count ? "more than one session begins so"
				       : "no session of yours that is alive");
	snprintf(m->id, sizeof(m->id), "%s", found);
	return 0;
}

/* Who cannot read records asks the daemon, which tells each user of the user's own. */
static int find_by_daemon(const struct kill_options *o, const char *what, struct manifest *m,
			  int *ret_socket, struct fault *f)
{
	cleanup(place) struct place place;
	cleanup(json) json_t *answer = NULL;
	cleanup(close_fd) int socket = -1;

	place_read(&place);
	const char *path = o->socket ? o->socket : place.socket;
	int r = connection_connect(path, &socket);

	if (r < 0)
		return fault_set(f, r, "no_daemon", "no vitrined at %s: %s", path, strerror(-r));
	r = ask(socket, json_pack("{s:s}", "request", "session.list"), &answer, f);
	if (r == 0)
		r = find_listed(json_object_get(answer, "sessions"), what, m, f);
	if (r == 0)
		*ret_socket = take_fd(socket);
	return r;
}

static int find(const struct kill_options *o, const char *what, struct manifest *m, int *ret_socket,
		struct fault *f)
{
	cleanup(json) json_t *info = NULL;
	cleanup(close_fd) int socket = -1;
	cleanup(place) struct place place;
	int r = 0;

	place_read(&place);
	const char *state = o->state ? o->state : place.state;

	if (geteuid() != 0)
		return find_by_daemon(o, what, m, ret_socket, f);
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
		r = connect_owner(m, place.socket, &socket, f);
	if (r < 0)
		return r;
	*ret_socket = take_fd(socket);
	return 0;
}

/* ---- the end of it ---- */

static bool is_listed(const json_t *answer, const char *id)
{
	const json_t *session;
	size_t i;

	json_array_foreach (json_object_get(answer, "sessions"), i, session) {
		const char *other = json_string_value(json_object_get(session, "id"));

		if (other && !strcmp(other, id))
			return true;
	}
	return false;
}

/* Until its daemon does not know it any more; a private one is gone then. */
static int wait_for_end(int socket, const char *id, struct fault *f)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	time_t end = time(NULL) + END_TIMEOUT_S;

	while (time(NULL) < end) {
		cleanup(json) json_t *answer = NULL;
		int r = ask(socket, json_pack("{s:s}", "request", "session.list"), &answer, f);

		if (r == -EPIPE || r == -ECONNRESET || (r == 0 && !is_listed(answer, id)))
			return 0;
		if (r < 0)
			return r;
		nanosleep(&pause, NULL);
	}
	return fault_set(f, -ETIMEDOUT, "slow", "session %s is dead, but its record is not closed",
			 id);
}

static int end_or_signal(const struct kill_options *o, int socket, const char *id, struct fault *f)
{
	cleanup(json) json_t *answer = NULL;

	if (o->signal)
		return ask(socket,
			   json_pack("{s:s, s:s, s:i}", "request", "session.signal", "session", id,
				     "signal", o->signal),
			   &answer, f);
	int r = ask(socket, json_pack("{s:s, s:s}", "request", "session.kill", "session", id),
		    &answer, f);
	return r < 0 ? r : wait_for_end(socket, id, f);
}

static int kill_run(const void *values, int argument_count, char **arguments)
{
	const struct kill_options *o = values;
	cleanup(close_fd) int socket = -1;
	struct manifest m = {0};
	struct fault f = {0};

	(void)argument_count;
	signal(SIGPIPE, SIG_IGN);
	int r = find(o, arguments[0], &m, &socket, &f);
	if (r == 0)
		r = end_or_signal(o, socket, m.id, &f);
	if (r < 0) {
		struct fault escaped;

		fault_say(&escaped, NULL, "%s", f.text);
		fprintf(stderr, CALLED ": %s\n", escaped.text);
	}
	manifest_free(&m);
	return r < 0 ? KILL_STATUS_FAILED : 0;
}

/* clang-format off */
#define AT(field) offsetof(struct kill_options, field)
const struct command command_kill = {
	.name = "kill",
	.summary = "end a session, or send its command a signal",
	.positional = "SESSION",
	.positional_min = 1,
	.positional_max = 1,
	.options = (const struct command_option[]){
		{"signal", 0, "SIGNAL", "send this signal to the command's first process instead", OPTION_PARSED, AT(signal),
		 .parse = parse_signal, .allowed = "the name or number of a signal, as TERM, SIGTERM or 15"},
		{"state", 0, "DIR", "state directory", OPTION_TEXT, AT(state)},
		{"socket", 0, "PATH", "control socket of the vitrined to ask", OPTION_TEXT, AT(socket)},
		{0},
	},
	.values_size = sizeof(struct kill_options),
	.description =
		"Kills every process of SESSION, whatever they have done to outlive it, and waits until its record is closed; its "
		"reason is then killed, by user. SESSION is an id, a unique prefix of one, a name, or last.\n\n"
		"With --signal only the first process of the command gets the signal, and the session goes on. If that ends the "
		"command, the verdict says by whom.\n\n"
		"Users other than root can end sessions of their own alone.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS", "0, or 1 when there is no such session, or it has ended already."},
		{0},
	},
	.run = kill_run,
};
/* clang-format on */
