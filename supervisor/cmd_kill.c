/* vitrine kill: end a session or a command of it, or send a command a signal. */
#include "reach.h"
#include "record/cleanup.h"
#include "record/command.h"
#include "record/jansson_cleanup.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define CALLED "vitrine kill"
#define LOOK_NS 20000000 /* between two looks whether it has ended */
#define END_TIMEOUT_S 60 /* for its record to be closed */
#define KILL_STATUS_FAILED 1

struct kill_options {
	struct reach_options reach;
	int signal;    /* 0: end it */
	uint32_t exec; /* 0: the session, or its first command */
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

static int parse_exec(const char *text, void *ret_value)
{
	size_t digits = strspn(text, "0123456789");
	uint32_t number = 0;

	for (size_t i = 0; digits <= 9 && !text[digits] && i < digits; i++)
		number = 10 * number + (uint32_t)(text[i] - '0');
	if (number < 1)
		return -EINVAL;
	*(uint32_t *)ret_value = number;
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
		int r = reach_ask(socket, json_pack("{s:s}", "request", "session.list"), &answer,
				  f);

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
	json_t *message = json_pack("{s:s, s:s}", "request",
				    o->signal ? "session.signal" : "session.kill", "session", id);

	if (message && o->signal)
		json_object_set_new(message, "signal", json_integer(o->signal));
	if (message && o->exec)
		json_object_set_new(message, "exec", json_integer(o->exec));
	int r = reach_ask(socket, message, &answer, f);
	return r < 0 || o->signal || o->exec ? r : wait_for_end(socket, id, f);
}

static int kill_run(const void *values, int argument_count, char **arguments)
{
	const struct kill_options *o = values;
	char id[SESSION_ID_LENGTH + 1] = "";
	cleanup(close_fd) int socket = -1;
	struct fault f = {0};

	(void)argument_count;
	signal(SIGPIPE, SIG_IGN);
	int r = reach_session(&o->reach, arguments[0], id, &socket, &f);
	if (r == 0)
		r = end_or_signal(o, socket, id, &f);
	if (r < 0) {
		struct fault escaped;

		fault_say(&escaped, NULL, "%s", f.text);
		fprintf(stderr, CALLED ": %s\n", escaped.text);
	}
	return r < 0 ? KILL_STATUS_FAILED : 0;
}

/* clang-format off */
#define AT(field) offsetof(struct kill_options, field)
const struct command command_kill = {
	.name = "kill",
	.summary = "end a session or a command of it, or send a command a signal",
	.positional = "SESSION",
	.positional_min = 1,
	.positional_max = 1,
	.options = (const struct command_option[]){
		{"signal", 0, "SIGNAL", "send this signal to the command's first process instead", OPTION_PARSED, AT(signal),
		 .parse = parse_signal, .allowed = "the name or number of a signal, as TERM, SIGTERM or 15"},
		{"exec", 0, "N", "end or signal this command of the session alone", OPTION_PARSED, AT(exec),
		 .parse = parse_exec, .allowed = "the number of a command, from 1"},
		{"state", 0, "DIR", "state directory", OPTION_TEXT, AT(reach.state)},
		{"socket", 0, "PATH", "control socket of the vitrined to ask", OPTION_TEXT, AT(reach.socket)},
		{0},
	},
	.values_size = sizeof(struct kill_options),
	.description =
		"Kills every process of SESSION, whatever they have done to outlive it, and waits until its record is closed; its "
		"reason is then killed, by user. SESSION is an id, a unique prefix of one, a name, or last.\n\n"
		"With --exec that command of the session is killed, with all that it started, and the session goes on, unless it lives "
		"for that command.\n\n"
		"With --signal only the first process of the command gets the signal, of the first command if --exec names no other, and "
		"the session goes on. If that ends the command, the verdict says by whom.\n\n"
		"Users other than root can end sessions of their own alone.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS", "0, or 1 when there is no such session or command, or it has ended already."},
		{0},
	},
	.run = kill_run,
};
/* clang-format on */
