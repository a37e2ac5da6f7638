/*
 * vitrine run: the client of one session. It hands its standard streams to the daemon, passes
 * signals and sizes of the terminal on, and ends as the command ended.
 */
#include "connection.h"
#include "control.h"
#include "record/cleanup.h"
#include "record/core_dump.h"
#include "record/jansson_cleanup.h"
#include "run_request.h"
#include "terminal.h"
#include "verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#define STATUS_CAPACITY 75 /* EX_TEMPFAIL: come again */

struct run {
	const struct run_options *options;
	struct connection connection;
	struct terminal terminal;
	int signals; /* a signalfd */
	bool tty;
	bool is_stopping; /* one signal to end was passed on already */
	char session[32];
};

static void complain(const char *text)
{
	struct fault escaped;

	fault_say(&escaped, NULL, "%s", text);
	fprintf(stderr, "vitrine run: %s\n", escaped.text);
}

/* ---- before the session ---- */

/* Descriptors 0 to 2 exist from here on, so that none of ours can be taken for one of them. */
static void open_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

static int catch_signals(int *ret_fd)
{
	static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		sigaddset(&set, caught[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	*ret_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return *ret_fd < 0 ? -errno : 0;
}

/*
 * A job in the background may not read its terminal. The recorder reads in its place and nothing
 * would stop it, so a command without a terminal of its own gets nothing to read there, and one
 * with waits to be brought to the foreground.
 */
static int standard_input(const struct run *r)
{
	if (!isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) == getpgrp())
		return STDIN_FILENO;
	if (!r->tty)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	raise(SIGTTIN);
	return STDIN_FILENO;
}

static int send_request(struct run *r, json_t *message)
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

static void send_about_session(struct run *r, json_t *message)
{
	cleanup(json) json_t *owned = message;

	if (!owned || !r->session[0])
		return;
	json_object_set_new(owned, "session", json_string(r->session));
	control_send(r->connection.socket, owned, NULL, 0); /* a daemon that is gone is noticed by
							       the loop */
}

/* Signals that end things go to the command; the second one ends the session. */
static void pass_signal(struct run *r, int signal)
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

static void take_signals(struct run *r)
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

static void started(struct run *r, const json_t *body)
{
	snprintf(r->session, sizeof(r->session), "%s", text_of(body, "session"));
	if (!r->options->quiet)
		fprintf(stderr, "session %s\n", r->session);
	fflush(stderr);
	if (r->tty)
		terminal_make_raw(STDIN_FILENO, &r->terminal);
	if (r->tty)
		pass_signal(r, SIGWINCH); /* the size may have changed meanwhile */
}

/* The closing words: what went wrong, if anything did, and as the last line the verdict, or where
 * there was no session why. */
static void tell_end(const struct run *r, const json_t *body, const char *error)
{
	const json_t *verdict = json_object_get(body, "verdict");
	cleanup(json) json_t *refusal =
		json_pack("{s:O?}", "error", json_object_get(body, "error"));

	if (*error)
		complain(error);
	if (!r->options->json)
		return;
	json_dumpf(json_is_object(verdict) ? verdict : refusal, stderr,
		   JSON_COMPACT | JSON_ENSURE_ASCII);
	fputc('\n', stderr);
}

static int ended(struct run *r, const json_t *body)
{
	terminal_restore(&r->terminal);
	tell_end(r, body, text_of(body, "error"));
	return (int)json_integer_value(json_object_get(body, "status"));
}

/* One message of the daemon. True when that was the end, with the exit status. */
static bool take_message(struct run *r, const json_t *body, int *ret_status)
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
								 : STATUS_CAPACITY;
	return true;
}

static int follow(struct run *r)
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
			complain(r->session[0]
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

/* ---- the command ---- */

/* A ring is a power of two. */
static uint64_t round_up(uint64_t bytes)
{
	uint64_t rounded = bytes ? 4096 : 0;

	while (rounded < bytes)
		rounded *= 2;
	return rounded;
}

static int open_session(struct run *r, int argument_count, char **command, struct fault *f)
{
	const struct run_options *o = r->options;
	cleanup(json) json_t *message = NULL;
	uint64_t ring_bytes = 0;
	int e = run_request_make(o, argument_count, command, r->tty, &message, &ring_bytes, f);
	if (e < 0)
		return e;

	struct connection_options where = {
		.socket = o->socket,
		.state = json_string_value(json_object_get(message, "state")),
		.ring_bytes = round_up(ring_bytes),
	};
	e = connection_open(&where, &r->connection, f);
	if (e < 0)
		return e;
	e = catch_signals(&r->signals);
	if (e == 0)
		e = send_request(r, message);
	/* A daemon that could not start has gone, but its answer says why. */
	return e < 0 && e != -EPIPE
		       ? fault_set(f, e, "send", "the request cannot be sent: %s", strerror(-e))
		       : 0;
}

static int run_run(const void *values, int argument_count, char **arguments)
{
	const struct run_options *o = values;
	struct run r = {
		.options = o,
		.connection = CONNECTION_NONE,
		.terminal = TERMINAL_NONE,
		.signals = -1,
	};
	struct fault f = {0};
	int status = VERDICT_STATUS_FAILED;

	open_standard_streams();
	r.tty = o->tty < 0 ? isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) : o->tty;
	if (open_session(&r, argument_count, arguments, &f) < 0)
		complain(f.text);
	else
		status = follow(&r);
	connection_close(&r.connection);
	if (r.signals >= 0)
		close(r.signals);
	return status;
}

static const struct run_options run_defaults = {.net = -1, .on_loss = -1, .user = -1, .tty = -1};

/* clang-format off */
#define AT(field) offsetof(struct run_options, field)
const struct command command_run = {
	.name = "run",
	.summary = "run a command in a session of its own, and record what it does",
	.positional = "-- COMMAND [ARG...]",
	.positional_min = 1,
	.positional_max = -1,
	.stops_at_positional = true,
	.usage_status = VERDICT_STATUS_FAILED,
	.options = (const struct command_option[]){
		{"name", 0, "NAME", "name of the session", OPTION_TEXT, AT(name)},
		{"policy", 0, "FILE", "policy, a JSON file; options override its keys", OPTION_TEXT, AT(policy)},
		{"state", 0, "DIR", "state directory; without --socket, of a private vitrined", OPTION_TEXT, AT(state)},
		{"socket", 0, "PATH", "control socket of the vitrined to use", OPTION_TEXT, AT(socket)},
		{"workspace", 0, "DIR", "directory of the host that is writable as /workspace", OPTION_TEXT, AT(workspace)},
		{"rootfs", 0, "NAME|DIR", "root file system that the session starts from: a template, or a directory with a slash in its name",
		 OPTION_TEXT, AT(rootfs)},
		{"net", 0, "NET", "network of the session", OPTION_CHOICE, AT(net), .choices = run_nets},
		{"tenant", 0, "TENANT", "tenant that the session belongs to", OPTION_TEXT, AT(tenant)},
		{"label", 0, "KEY=VALUE", "a label of the session", OPTION_TEXTS, AT(labels)},
		{"on-loss", 0, "WHAT", "what happens before a record would be lost", OPTION_CHOICE, AT(on_loss),
		 .choices = run_losses},
		{"env", 0, "NAME=VALUE", "a variable of the command's environment", OPTION_TEXTS, AT(env)},
		{"secret", 0, "NAME=SOURCE[,KEY=VALUE...]", "a secret of the command that the record never holds, from env:VAR, "
		 "file:PATH or fd:N", OPTION_TEXTS, AT(secrets)},
		{"redact-output", 0, NULL, "print the command's output as the record has it, without secrets", OPTION_FLAG, AT(redact_output)},
		{"limit", 0, "KEY=VALUE[,KEY=VALUE...]", "what the session may use at most", OPTION_TEXTS, AT(limits)},
		{"tty", 0, NULL, "give the command a terminal", OPTION_SET, AT(tty), .value = 1},
		{"no-tty", 0, NULL, "give it none, even on a terminal", OPTION_SET, AT(tty), .value = 0},
		{"cwd", 0, "DIR", "working directory in the session", OPTION_TEXT, AT(cwd)},
		{"user", 0, "USER", "user of the command in the session", OPTION_CHOICE, AT(user), .choices = run_users},
		{"json", 0, NULL, "print the verdict as JSON, as the last line of standard error", OPTION_FLAG, AT(json)},
		{"quiet", 0, NULL, "do not print the session's id", OPTION_FLAG, AT(quiet)},
		{0},
	},
	.values_size = sizeof(struct run_options),
	.defaults = &run_defaults,
	.description =
		"vitrine run starts COMMAND in a sandbox: namespaces, a root file system of its own over the host's programs, "
		"no network, no privileges. What it does is recorded from outside, by the kernel and by vitrined, and can be "
		"read with vitrine replay, also while it runs.\n\n"
		"With --rootfs the session sees no file of the host's but starts from a template (vitrine template), or from a directory, which "
		"only root may give; what it changes is its own and ends with it. Its digest stands in the record.\n\n"
		"Standard input, output and error are the command's, byte by byte, and are recorded. With --redact-output what redaction "
		"cuts from the record is cut from what is printed too; what looks like the beginning of a secret is held back until it "
		"is clear what it is, one or two letters for 0.2 s and more for up to 10 s. Where input and output "
		"are terminals the command gets a terminal of its own. The command runs as user agent, in /workspace if "
		"there is one, with PATH, HOME, USER, LANG, TERM and what was given in its environment.\n\n"
		"SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on to the command; the second of them kills the session. When "
		"the command has ended, whatever it left running is killed.\n\n"
		"Where no vitrined listens and the user is root, a private one serves this run and ends with it. Members of group "
		"vitrine run sessions by a vitrined that listens, as far as its configuration lets them: see vitrined(8).",
	.sections = (const struct command_section[]){
		{"EXIT STATUS",
		 "The exit status of COMMAND; 128+N when it was ended by signal N, and 137 when the session was killed; 75 when "
		 "vitrined has as many sessions as it takes, of you or in all; 125 when vitrine could not run it, 126 when COMMAND could not be run, 127 when it was not found. The verdict of --json says which: "
		 "reason is exit, signal, timeout, oom, limit, killed, setup_failed or supervisor_lost, by is who sent the signal: client, user, vitrined, "
		 "process (one of the session's own; sender says which), outside (another process of the host) or kernel. Where there was no "
		 "session the line is {\"error\": {\"code\", \"message\"}}; code is capacity, forbidden, bad_request, bad_setting, ...\n\n"
		 "What memory, files or a file's size ends is reason oom or limit only where the kernel itself ended COMMAND for it."},
		{"LIMITS",
		 "Every limit that is given holds, or the session is refused with what is missing. Bytes may end in K, M, G or T. "
		 "A limit that was hit is a limit record, with how often.\n\n"
		 "  memory     bytes of memory, swap and files in memory included; what needs more is killed\n"
		 "  pids       processes and threads alive at once\n"
		 "  cpu        processors: 0.5 is half of one\n"
		 "  cpu_weight share of processors where others want them too: 1 to 10000, 100 is everybody's\n"
		 "  io         bytes a second from and to each disk; what is throttled is not counted as a hit\n"
		 "  wall       time of the command: seconds, or 500ms, 8s, 5m, 2h; then everything is killed\n"
		 "  disk       bytes of files outside of /workspace (2G if not given)\n"
		 "  workspace  bytes by which /workspace may grow on its disk, files that are deleted and open included; measured\n"
		 "             about once a second, then everything is killed\n"
		 "  inodes     files outside of /workspace (1000000 if not given)\n"
		 "  files      open files of each process\n"
		 "  file_size  bytes of each file; who writes past it gets SIGXFSZ\n"
		 "  output     bytes that the command writes to its streams; then everything is killed"},
		{"SECRETS",
		 "--secret NAME=SOURCE gives the command a secret, and cuts it from the record in whatever form it turns up. SOURCE is "
		 "env:VAR, file:PATH, or fd:N for a descriptor that the caller has opened; one newline at the end of a file is not part "
		 "of the secret. No value is ever an argument of a program of vitrine's. Values of less than 8 bytes are refused: they "
		 "would be found where they are not. Keys and values behind the source say how the command gets it:\n\n"
		 "  as=env     a variable NAME of its environment (if nothing is said)\n"
		 "  as=file    a file, in memory only; the variable NAME_FILE says where\n"
		 "  path=PATH  of the file, below /run/secrets (/run/secrets/NAME)\n"
		 "  mode=0400  permissions of the file\n"
		 "  owner=agent, or root: whose file it is\n"
		 "  only=PROG  the one program that may open the file, by its absolute path in the session\n"
		 "  ttl=10m    the file is overwritten and removed after that time\n\n"
		 "The last five are of files alone: an environment is inherited, and cannot be taken back. With only, each open asks "
		 "vitrined, which lets pass what the kernel says runs that very file, and records any other as an attempt; of a script "
		 "that is its interpreter. It keeps a secret from other programs. It cannot keep it from who makes that program "
		 "hand it on (a hook, a plug-in, a preloaded library), nor does it know what a process that has read it does then. "
		 "What has expired is still cut from the record: somebody may have read it in time. A secret, how it was given and when "
		 "it expired are records (secret.give, secret.expire), with names and never a value."},
		{"EXAMPLES",
		 "  vitrine run --workspace . -- make test\n"
		 "  vitrine run --limit memory=512M,pids=64,cpu=1.5,wall=10m -- ./agent\n"
		 "  vitrine run --secret TOKEN=env:TOKEN --json --quiet -- ./agent --task task.md\n"
		 "  vitrine run --secret DEPLOY_KEY=file:key.pem,as=file,only=/usr/bin/ssh,ttl=10m -- ./agent"},
		{0},
	},
	.run = run_run,
};
/* clang-format on */
