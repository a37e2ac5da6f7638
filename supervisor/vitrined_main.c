/*
 * vitrined: launches sessions and ends them, loads the sensors, owns the control socket. It never
 * parses what a session made.
 */
#include "config.h"
#include "control.h"
#include "jansson_cleanup.h"
#include "log.h"
#include "record/command.h"
#include "sensors_check.h"
#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define PRIVATE_FD 3
#define LINGER_MS 5000

struct vitrined_options {
	const char *state, *socket, *config;
	uint64_t ring_bytes;
	bool private, check;
};

static json_t *overrides(const struct vitrined_options *o)
{
	json_t *values = json_object();

	if (o->state)
		json_object_set_new(values, "state", json_string(o->state));
	if (o->socket)
		json_object_set_new(values, "socket", json_string(o->socket));
	if (o->ring_bytes)
		json_object_set_new(values, "ring_bytes", json_integer((json_int_t)o->ring_bytes));
	if (o->private)
		json_object_set_new(values, "rings", json_integer(1));
	return values;
}

static int parse_bytes(const char *text, void *ret_value)
{
	char *end;
	unsigned long long bytes = strtoull(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || bytes > INT64_MAX)
		return -EINVAL;
	*(uint64_t *)ret_value = bytes;
	return 0;
}

/* Why it does not start: to the one client of a private daemon, else to the log. */
static int fail(const struct log *log, bool private, const struct fault *f)
{
	cleanup(json) json_t *told = json_pack("{s:b, s:{s:s, s:s}}", "ok", 0, "error", "code",
					       f->code, "message", f->text);

	if (!private || !told || control_send(PRIVATE_FD, told, NULL, 0) < 0)
		log_write(log, LOG_LEVEL_ERROR, "%s", f->text);
	else
		control_linger(PRIVATE_FD, LINGER_MS);
	return 1;
}

/* What the sensors say to this kernel, to who started us with a socket as descriptor 3. */
static int check(const struct log *log)
{
	cleanup(json) json_t *answer = sensors_check();
	int r = answer ? control_send(PRIVATE_FD, answer, NULL, 0) : -ENOMEM;

	if (r < 0)
		log_write(log, LOG_LEVEL_ERROR, "check: %s", strerror(-r));
	return r < 0;
}

static int vitrined_run(const void *values, int argument_count, char **arguments)
{
	const struct vitrined_options *o = values;
	cleanup(json) json_t *given = overrides(o);
	struct supervisor *s = NULL;
	struct config config = {0};
	struct fault f = {0};
	struct log log;
	int private_fd = -1;

	(void)argument_count, (void)arguments;
	log_init(&log, "vitrined", o->private ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE);
	if (o->check)
		return check(&log);
	if (o->private) {
		private_fd = fcntl(PRIVATE_FD, F_DUPFD_CLOEXEC, 4);
		fcntl(PRIVATE_FD, F_SETFD, FD_CLOEXEC);
		fcntl(PRIVATE_FD, F_SETFL, O_NONBLOCK);
	}
	if (geteuid() != 0)
		fault_say(&f, "not_root", "vitrined has to be run by root");
	else if (o->private && private_fd < 0)
		fault_say(&f, "private", "descriptor 3 is no socket of a client");
	else if (config_load(o->config, given, &config, &f) == 0 &&
		 supervisor_new(&config, &log, private_fd, &s, &f) == 0) {
		int status = supervisor_run(s);

		supervisor_free(s);
		config_free(&config);
		return status;
	}
	config_free(&config);
	return fail(&log, o->private, &f);
}

/* clang-format off */
static const struct command vitrined = {
	.summary = "launch sandboxed sessions and record what they do",
	.options = (const struct command_option[]){
		{"state", 0, "DIR", "where records are kept", OPTION_TEXT, offsetof(struct vitrined_options, state)},
		{"socket", 0, "PATH", "where clients connect", OPTION_TEXT, offsetof(struct vitrined_options, socket)},
		{"config", 0, "FILE", "configuration, a JSON file", OPTION_TEXT, offsetof(struct vitrined_options, config)},
		{"ring-bytes", 0, "BYTES", "size of each session's ring, a power of two", OPTION_PARSED,
		 offsetof(struct vitrined_options, ring_bytes), .parse = parse_bytes, .allowed = "a number of bytes"},
		{"check", 0, NULL, "load the sensors, tell the client at descriptor 3 what came of it, and end", OPTION_FLAG,
		 offsetof(struct vitrined_options, check)},
		{"private", 0, NULL, "serve the one client at descriptor 3, and end with it", OPTION_FLAG,
		 offsetof(struct vitrined_options, private)},
		{0},
	},
	.values_size = sizeof(struct vitrined_options),
	.description =
		"vitrined stays in the foreground and serves clients at its control socket. It has to be run by root. "
		"SIGTERM kills all sessions, completes their records, and ends it; at its next start vitrined finishes "
		"what a killed one left.\n\n"
		"vitrine run starts a private vitrined by itself where none listens and the user is root.",
	.sections = (const struct command_section[]){
		{"FILES",
		 "/var/lib/vitrine: the state directory, with the records.\n\n"
		 "/var/lib/vitrine.key: the deployment key, made at the first start; beside the state directory, whatever "
		 "that is called. Digests and tags in records can be compared only under the same key.\n\n"
		 "/var/lib/vitrine.sign, /var/lib/vitrine.pub: the key that signs records, root's alone, and what verifies "
		 "them; see vitrine-keys(1).\n\n"
		 "/var/lib/vitrine.lock, /var/lib/vitrine.acts.lock: held while the ledger or the acts are written.\n\n"
		 "/run/vitrine/control.sock: where clients connect."},
		{"CONFIGURATION",
		 "A JSON object; an option overrides its key.\n\n"
		 "  state, socket   as the options\n"
		 "  key_file        the deployment key\n"
		 "  readers_group   group that may read records, if the host has it: vitrine-export\n"
		 "  recorder_user   user that the recorder runs as\n"
		 "  retention_bytes the oldest records are removed until all are no larger\n"
		 "  retention_days  records of sessions that ended longer ago are removed\n"
		 "  ring_bytes      size of each session's ring between kernel and recorder\n"
		 "  rings           rings that are made ahead\n"
		 "  sessions_max    sessions that may live at once"},
		{0},
	},
	.run = vitrined_run,
};
/* clang-format on */

int main(int argc, char **argv)
{
	return command_main("vitrined", &vitrined, argc, argv);
}
