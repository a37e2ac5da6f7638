/*
 * vitrined: launches sessions and ends them, loads the sensors, owns the control socket. It never
 * parses what a session made.
 */
#include "config.h"
#include "control.h"
#include "log.h"
#include "record/cleanup.h"
#include "record/command.h"
#include "record/core_dump.h"
#include "record/jansson_cleanup.h"
#include "sensors_check.h"
#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PRIVATE_FD 3
#define LINGER_MS 5000

struct vitrined_options {
	const char *state, *socket, *config, *log_level;
	uint64_t ring_bytes, pool;
	bool private, detached, check;
};

static json_t *overrides(const struct vitrined_options *o)
{
	json_t *values = json_object();

	if (o->state)
		json_object_set_new(values, "state", json_string(o->state));
	if (o->socket)
		json_object_set_new(values, "socket", json_string(o->socket));
	if (o->log_level)
		json_object_set_new(values, "log_level", json_string(o->log_level));
	if (o->ring_bytes)
		json_object_set_new(values, "ring_bytes", json_integer((json_int_t)o->ring_bytes));
	if (o->pool)
		json_object_set_new(values, "pool", json_integer((json_int_t)o->pool));
	if (o->private)
		json_object_set_new(values, "rings", json_integer(1));
	return values;
}

/* A private daemon is its client's alone: of the host's configuration it takes what its state
 * directory keeps. */
static const char *config_file(const struct vitrined_options *o)
{
	if (o->config || access(CONFIG_FILE, F_OK) < 0)
		return o->config;
	return CONFIG_FILE;
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

static int load(const struct vitrined_options *o, struct config *ret_config, struct log *log,
		struct fault *f)
{
	cleanup(json) json_t *given = overrides(o);
	int r = o->private ? config_load_kept(given, ret_config, f)
			   : config_load(config_file(o), given, ret_config, f);

	if (r == 0 && ret_config->is_debugged)
		log->least = LOG_LEVEL_DEBUG;
	return r;
}

/* Who reads what our client writes shall not wait for us. */
static void leave_errors(void)
{
	cleanup(close_fd) int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null >= 0)
		dup2(null, STDERR_FILENO);
}

static int vitrined_run(const void *values, int argument_count, char **arguments)
{
	const struct vitrined_options *o = values;
	struct supervisor *s = NULL;
	struct config config = {0};
	struct fault f = {0};
	struct log log;
	int private_fd = -1;

	(void)argument_count, (void)arguments;
	if (o->detached)
		leave_errors();
	log_init(&log, "vitrined", o->private ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE);
	if (o->check)
		return check(&log);
	if (o->private) {
		private_fd = fcntl(PRIVATE_FD, F_DUPFD_CLOEXEC, 4);
		fcntl(PRIVATE_FD, F_SETFD, FD_CLOEXEC);
		fcntl(PRIVATE_FD, F_SETFL, O_NONBLOCK);
	}
	if (core_dump_forbid() < 0)
		fault_say(&f, "core_dump", "core dumps cannot be forbidden");
	else if (geteuid() != 0)
		fault_say(&f, "not_root", "vitrined has to be run by root");
	else if (o->private && private_fd < 0)
		fault_say(&f, "private", "descriptor 3 is no socket of a client");
	else if (load(o, &config, &log, &f) == 0 &&
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
		{"config", 0, "FILE", "configuration, a JSON file; /etc/vitrine/vitrined.json where that is there", OPTION_TEXT, offsetof(struct vitrined_options, config)},
		{"ring-bytes", 0, "BYTES", "size of each session's ring, a power of two", OPTION_PARSED,
		 offsetof(struct vitrined_options, ring_bytes), .parse = parse_bytes, .allowed = "a number of bytes"},
		{"pool", 0, "N", "sandboxes that are made ahead, for sessions to start at once", OPTION_PARSED,
		 offsetof(struct vitrined_options, pool), .parse = parse_bytes, .allowed = "a number"},
		{"log-level", 0, "LEVEL", "notice, or debug: also how long each step of a session took", OPTION_TEXT,
		 offsetof(struct vitrined_options, log_level)},
		{"check", 0, NULL, "load the sensors, tell the client at descriptor 3 what came of it, and end", OPTION_FLAG,
		 offsetof(struct vitrined_options, check)},
		{"private", 0, NULL, "serve the client at descriptor 3, and end with its last session", OPTION_FLAG,
		 offsetof(struct vitrined_options, private)},
		{"detached", 0, NULL, "with --private: stay for sessions that outlive the client, and log nothing", OPTION_FLAG,
		 offsetof(struct vitrined_options, detached)},
		{0},
	},
	.values_size = sizeof(struct vitrined_options),
	.description =
		"vitrined stays in the foreground and serves clients at its control socket. It has to be run by root. "
		"SIGTERM kills all sessions, completes their records, and ends it; at its next start vitrined finishes "
		"what a killed one left.\n\n"
		"vitrine run and vitrine start start a private vitrined by themselves where none listens and the user is root.",
	.sections = (const struct command_section[]){
		{"FILES",
		 "/var/lib/vitrine: the state directory, with the records.\n\n"
		 "/var/lib/vitrine.key: the deployment key, made at the first start; beside the state directory, whatever "
		 "that is called. Digests and tags in records can be compared only under the same key.\n\n"
		 "/var/lib/vitrine.sign, /var/lib/vitrine.pub: the key that signs records, root's alone, and what verifies "
		 "them; see vitrine-keys(1).\n\n"
		 "/var/lib/vitrine.lock, /var/lib/vitrine.acts.lock: held while the ledger or the acts are written.\n\n"
		 "/run/vitrine/control.sock: where clients connect; root's and group vitrine's, if the host has that.\n\n"
		 "/etc/vitrine/vitrined.json: the configuration, where there is one and --config names no other."},
		{"CONFIGURATION",
		 "A JSON object; an option overrides its key.\n\n"
		 "  state, socket   as the options\n"
		 "  key_file        the deployment key\n"
		 "  metrics         where metrics are served, see vitrine-metrics(8); nowhere by default\n"
		 "  readers_group   group that may read records, if the host has it: vitrine-export\n"
		 "  recorder_user   user that the recorder runs as\n"
		 "  retention_bytes the oldest records are removed until all are no larger\n"
		 "  retention_days  records of sessions that ended longer ago are removed\n"
		 "  ring_bytes      size of each session's ring between kernel and recorder\n"
		 "  rings           rings that are made ahead\n"
		 "  sessions_max    sessions that may live at once\n"
		 "  group           members of this group may connect (vitrine)\n"
		 "  users           what users other than root may ask for\n"
		 "  pool            as the option\n"
		 "  log_level       as the option"},
		{"USERS",
		 "Root may ask for everything. What others may is in users: an object of rows, named NAME (a user), @GROUP or * "
		 "(everybody who can connect). The first row that a user belongs to counts; who has none is refused. Without users it "
		 "is {\"@vitrine\": {}}. A row has\n\n"
		 "  sessions   alive at once; 8 if not given. One too many is refused with code capacity, at once\n"
		 "  limits     the most of each limit; one that a session does not set itself is set to that\n"
		 "  tenant     the tenant of all its sessions\n"
		 "  allow      an array of what is allowed beside; [\"workspace\", \"root\"] if not given:\n"
		 "               workspace  a directory as /workspace. It has to belong to the user, and to a group of the user's\n"
		 "               root       --user root, the session's root\n"
		 "               net_host   --net host\n"
		 "               seccomp    seccomp_allow\n"
		 "               record     policies that record otherwise: on_loss, output, output_cap, redact_off, redact_rules,\n"
		 "                          watch_reads, disk_wait_s, ring_bytes, final, final_bytes, final_files, final_s\n\n"
		 "A user sees, signals and ends sessions of the user's own alone. Records are root's to read.\n\n"
		 "  {\"users\": {\"ci\": {\"sessions\": 32, \"allow\": []},\n"
		 "             \"@vitrine\": {\"sessions\": 4, \"limits\": {\"memory\": \"2G\", \"pids\": 512, \"cpu\": 2, \"wall\": \"1h\"}}}}"},
		{0},
	},
	.run = vitrined_run,
};
/* clang-format on */

/*
 * Secrets of sessions go through here, and are to be gone with them: so libraries bind what they
 * call when they are loaded. Bound at the first call, the registers, with what was copied last,
 * would be left on the stack. Where it cannot execute itself again it goes on.
 */
static void bind_libraries_now(char **argv)
{
	char self[PATH_MAX];
	ssize_t n = getenv("LD_BIND_NOW") ? -1 : readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0 || setenv("LD_BIND_NOW", "1", true) < 0)
		return;
	self[n] = 0;
	execv(self, argv);
}

int main(int argc, char **argv)
{
	bind_libraries_now(argv);
	return command_main("vitrined", &vitrined, argc, argv);
}
