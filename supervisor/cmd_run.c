/*
 * vitrine run: a session for one command, which its client attends.
 */
#include "attended.h"
#include "record/jansson_cleanup.h"
#include "run_options.h"
#include "verdict.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int run_run(const void *values, int argument_count, char **arguments)
{
	const struct run_options *o = values;
	struct attended a = attended_begin("vitrine run", o);
	cleanup(json) json_t *message = NULL;
	struct fault f = {0};
	int status = VERDICT_STATUS_FAILED;

	if (run_request_make(o, argument_count, arguments, a.tty, &message, &f) < 0 ||
	    run_connect(o, message, false, &a.connection, &f) < 0)
		attended_complain(&a, f.text);
	else
		status = attended_run(&a, message);
	attended_close(&a);
	return status;
}

static const struct run_options run_defaults = RUN_DEFAULTS;

/* clang-format off */
const struct command command_run = {
	.name = "run",
	.summary = "run a command in a session of its own, and record what it does",
	.positional = "-- COMMAND [ARG...]",
	.positional_min = 1,
	.positional_max = -1,
	.stops_at_positional = true,
	.usage_status = VERDICT_STATUS_FAILED,
	.options = (const struct command_option[]){
		SESSION_OPTIONS,
		PLACE_OPTIONS,
		GIVEN_OPTIONS,
		COMMAND_OPTIONS,
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
		 "reason is exit, signal, timeout, oom, limit, killed, setup_failed or supervisor_lost, by is who sent the signal or killed it: client, user, vitrined, "
		 "session (that ended), process (one of the session's own; sender says which), outside (another process of the host) or kernel. Where there was no "
		 "session the line is {\"error\": {\"code\", \"message\"}}; code is capacity, forbidden, bad_request, bad_setting, ...\n\n"
		 "What memory, files or a file's size ends is reason oom or limit only where the kernel itself ended COMMAND for it."},
		{"LIMITS",
		 "Every limit that is given holds, or the session is refused with what is missing. Bytes may end in K, M, G or T. "
		 "A limit that was hit is a limit record, with how often and whose it was (scope). Those given here are of all commands of the session together; vitrine exec --limit and command_limits of a policy give one command limits of its own.\n\n"
		 "  memory     bytes of memory, swap and files in memory included; what needs more is killed\n"
		 "  pids       processes and threads alive at once\n"
		 "  cpu        processors: 0.5 is half of one\n"
		 "  cpu_weight share of processors where others want them too: 1 to 10000, 100 is everybody's\n"
		 "  io         bytes a second from and to each disk; what is throttled is not counted as a hit\n"
		 "  wall       time of the session from its command on: seconds, or 500ms, 8s, 5m, 2h; then everything is killed\n"
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
