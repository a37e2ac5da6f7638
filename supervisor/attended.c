/*
 * A command that its client attends: it hands its standard streams to the daemon, passes signals
 * and sizes of the terminal on, and ends as the command ended.
 */
#include "attended.h"

#include "control.h"
#include "record/cleanup.h"
#include "record/jansson_cleanup.h"
#include "verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

void attended_complain(const struct attended *r, const char *text)
{
	struct fault escaped;

	fault_say(&escaped, NULL, "%s", text);
	fprintf(stderr, "%s: %s\n", r->called, escaped.text);
}

/* ---- before the session ---- */

/* Descriptors 0 to 2 exist from here on, so that none of ours can be taken for one of them. */
void attended_open_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

struct attended attended_begin(const char *called, const struct run_options *o)
{
	attended_open_streams();
	return (struct attended){
		.called = called,
		.json = o->json,
		.quiet = o->quiet,
		.tty = run_wants_terminal(o),
		.connection = CONNECTION_NONE,
		.terminal = TERMINAL_NONE,
		.signals = -1,
	};
}

static int catch_signals(struct attended *r)
{
	static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		sigaddset(&set, caught[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signals < 0 ? -errno : 0;
}

/*
 * A job in the background may not read its terminal. The recorder reads in its place and nothing
 * would stop it, so a command without a terminal of its own gets nothing to read there, and one
 * with waits to be brought to the foreground.
 */
static int standard_input(const struct attended *r)
{
	if (!isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) == getpgrp())
		return STDIN_FILENO;
	if (!r->tty)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	raise(SIGTTIN);
	return STDIN_FILENO;
}

static int send_request(struct attended *r, json_t *message)
{
	int real[3], fds[4];
	uint16_t columns, rows;
	int input = standard_input(r);
	const char *path = json_string_value(json_object_get(message, "workspace"));
	cleanup(close_fd) int workspace = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	if (path && workspace < 0)
		return -errno;

	if (r->tty && (terminal_size(0, &columns, &rows) || terminal_size(1, &columns, &rows))) {
		json_object_set_new(message, "columns", json_integer(columns));
		json_object_set_new(message, "rows", json_integer(rows));
	}
	for (int i = 0; i < 3; i++) {
		real[i] = terminal_real(i);
		fds[i] = real[i] >= 0 ? real[i] : i;
	}
	if (input != STDIN_FILENO)
		fds[0] = input;
	fds[3] = workspace;
	int e = control_send(r->connection.socket, message, fds, workspace < 0 ? 3 : 4);
	for (int i = 0; i < 3; i++)
		if (real[i] >= 0)
			close(real[i]);
	if (input > STDIN_FILENO)
		close(input);
	return e;
}

/* ---- while it runs ---- */

static void send_about_session(struct attended *r, json_t *message)
{
	cleanup(json) json_t *owned = message;

	if (!owned || !r->session[0])
		return;
	json_object_set_new(owned, "session", json_string(r->session));
	if (r->exec)
		json_object_set_new(owned, "exec", json_integer(r->exec));
	control_send(r->connection.socket, owned, NULL, 0); /* a daemon that is gone is noticed by
							       the loop */
}

/* Signals that end things go to the command; the second one ends it, or the session that lives for
 * it. */
static void pass_signal(struct attended *r, int signal)
{
	uint16_t columns, rows;

	if (signal == SIGWINCH) {
		if (r->tty &&
		    terminal_size(r->terminal.fd < 0 ? 1 : r->terminal.fd, &columns, &rows))
			send_about_session(r, json_pack("{s:s, s:i, s:i}", "request", "exec.resize",
							"columns", columns, "rows", rows));
		return;
	}
	if (r->is_stopping)
		send_about_session(r, json_pack("{s:s}", "request", "session.kill"));
	else
		send_about_session(
			r, json_pack("{s:s, s:i}", "request", "session.signal", "signal", signal));
	r->is_stopping = true;
}

static void take_signals(struct attended *r)
{
	struct signalfd_siginfo info;

	while (read(r->signals, &info, sizeof(info)) == sizeof(info))
		pass_signal(r, (int)info.ssi_signo);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static void started(struct attended *r, const json_t *body)
{
	snprintf(r->session, sizeof(r->session), "%s", text_of(body, "session"));
	r->exec = (uint32_t)json_integer_value(json_object_get(body, "exec"));
	if (!r->quiet && r->exec)
		fprintf(stderr, "command %u of session %s\n", r->exec, r->session);
	else if (!r->quiet)
		fprintf(stderr, "session %s\n", r->session);
	fflush(stderr);
	if (r->tty)
		terminal_make_raw(STDIN_FILENO, &r->terminal);
	if (r->tty)
		pass_signal(r, SIGWINCH); /* the size may have changed meanwhile */
}

/* The closing words: what went wrong, if anything did, and as the last line the verdict, or where
 * there was no session why. */
static void tell_end(const struct attended *r, const json_t *body, const char *error)
{
	const json_t *verdict = json_object_get(body, "verdict");
	cleanup(json) json_t *refusal =
		json_pack("{s:O?}", "error", json_object_get(body, "error"));

	if (*error)
		attended_complain(r, error);
	if (!r->json)
		return;
	json_dumpf(json_is_object(verdict) ? verdict : refusal, stderr,
		   JSON_COMPACT | JSON_ENSURE_ASCII);
	fputc('\n', stderr);
}

static int ended(struct attended *r, const json_t *body)
{
	terminal_restore(&r->terminal);
	tell_end(r, body, text_of(body, "error"));
	return (int)json_integer_value(json_object_get(body, "status"));
}

/* One message of the daemon. True when that was the end, with the exit status. */
static bool take_message(struct attended *r, const json_t *body, int *ret_status)
{
	const json_t *ok = json_object_get(body, "ok");

	if (!strcmp(text_of(body, "notice"), "ended")) {
		*ret_status = ended(r, body);
		return true;
	}
	if (!ok || r->session[0]) /* answers to signals and sizes say nothing new */
		return false;
	if (json_is_true(ok)) {
		started(r, body);
		return false;
	}
	const json_t *error = json_object_get(body, "error");
	tell_end(r, body, text_of(error, "message"));
	*ret_status = strcmp(text_of(error, "code"), "capacity") ? VERDICT_STATUS_FAILED
								 : ATTENDED_STATUS_CAPACITY;
	return true;
}

static int follow(struct attended *r)
{
	struct pollfd ready[] = {{.fd = r->connection.socket, .events = POLLIN},
				 {.fd = r->signals, .events = POLLIN}};
	bool is_over = false;
	int status = VERDICT_STATUS_FAILED;

	while (!is_over) {
		struct control_message m;

		if (poll(ready, 2, -1) < 0 && errno != EINTR)
			break;
		if (ready[1].revents)
			take_signals(r);
		if (!ready[0].revents)
			continue;
		int e = control_receive(r->connection.socket, &m);
		if (e < 0) {
			terminal_restore(&r->terminal);
			attended_complain(
				r, r->session[0]
					   ? "vitrined ended, and the session with it; the next "
					     "vitrined finishes its record"
					   : "vitrined ended");
			break;
		}
		is_over = take_message(r, m.body, &status);
		control_message_free(&m);
	}
	terminal_restore(&r->terminal);
	return status;
}

int attended_run(struct attended *r, json_t *message)
{
	char text[128];
	int e = catch_signals(r);

	if (e == 0)
		e = send_request(r, message);
	/* A daemon that could not start has gone, but its answer says why. */
	if (e < 0 && e != -EPIPE) {
		snprintf(text, sizeof(text), "the request cannot be sent: %s", strerror(-e));
		attended_complain(r, text);
		return VERDICT_STATUS_FAILED;
	}
	return follow(r);
}

void attended_close(struct attended *r)
{
	connection_close(&r->connection);
	if (r->signals >= 0)
		close(r->signals);
}
