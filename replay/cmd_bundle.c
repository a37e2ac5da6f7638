/*
 * vitrine bundle and vitrine import: a session as one file, and back.
 */
#include "commands.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/printable.h"
#include "../supervisor/record/store.h"
#include "bundle.h"
#include "evidence.h"
#include "player.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct bundle_arguments {
	const char *state, *key, *out;
	bool sign, anyway, no_report;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int verify(const struct evidence *e, struct verify_result *ret_result)
{
	return verify_session(e->dir_fd,
			      &(struct verify_options){
				      .keys = &e->keys,
				      .book = e->has_book ? &e->book : NULL,
				      .is_own = e->is_own,
				      .session = e->session[0] ? e->session : NULL,
				      .now_ns = now_ns(),
			      },
			      ret_result);
}

static int fail(const char *called, const char *what, int r)
{
	struct printable printable = printable_for(stderr, 200);

	fprintf(stderr, "%s: ", called);
	printable_word(stderr, &printable, bytes_of(what));
	fprintf(stderr, ": %s\n", strerror(-r));
	return 1;
}

static void warn(const char *called, const struct verify_result *result)
{
	if (result->verdict != VERIFY_INTACT)
		fprintf(stderr, "%s: the record is %s: %s\n", called,
			verdict_names[result->verdict], result->why);
}

/* ---- bundle ---- */

#define BUNDLE "vitrine bundle"

/* Whole under its name or not there. */
static int write_bundle(const struct bundle_options *options, const char *file)
{
	cleanup(free) char *temporary = NULL;
	FILE *out = NULL;
	int fd, r;

	if (!strcmp(file, "-"))
		return bundle_make(options, stdout);
	if (asprintf(&temporary, "%s.tmp", file) < 0)
		return -ENOMEM;
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		return -errno;
	r = bundle_make(options, out);
	if (!r && fsync(fd))
		r = -errno;
	if (fclose(out) && !r)
		r = -errno;
	if (!r && rename(temporary, file))
		r = -errno;
	if (r)
		unlink(temporary);
	return r;
}

/* The report, as 'vitrine report' writes it. */
static int make_report(const struct evidence *e, const struct verify_result *verified,
		       char **ret_text, size_t *ret_size)
{
	cleanup(session) struct session s = SESSION_NONE;
	cleanup(fclose) FILE *out = NULL;
	struct filter all = {0};
	struct report_request request = {
		.dir_fd = e->dir_fd,
		.events_max = REPORT_EVENTS_MAX,
		.verified = verified,
		.write = report_write_html,
	};
	int r = manifest_read(e->dir_fd, &s.manifest);

	if (!r) {
		s.dir_fd = fcntl(e->dir_fd, F_DUPFD_CLOEXEC, 0);
		r = s.dir_fd < 0 ? -errno : reader_open(e->dir_fd, &s.reader);
	}
	if (r)
		return r;
	out = open_memstream(ret_text, ret_size);
	if (!out)
		return -ENOMEM;
	/* Of a record that is not whole the report says so itself. */
	player_play(&(struct player){.called = BUNDLE,
				     .view = &view_report,
				     .filter = &all,
				     .options = {.out = out, .errors = stderr, .asked = &request}},
		    &s);
	return fclose(take(out)) ? -ENOMEM : 0;
}

static int bundle_run(const void *values, int argument_count, char **arguments)
{
	const struct bundle_arguments *a = values;
	cleanup(evidence) struct evidence evidence = EVIDENCE_NONE;
	cleanup(close_fd) int state_fd = open(a->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup(free) char *policy = NULL, *report = NULL;
	size_t policy_size = 0, report_size = 0;
	struct verify_result result;
	int r;

	(void)argument_count;
	if (!a->out) {
		fprintf(stderr, BUNDLE ": --output says where to\n");
		return COMMAND_STATUS_USAGE;
	}
	if (evidence_open(arguments[0], a->state, a->key, BUNDLE, stderr, &evidence))
		return 1;
	r = verify(&evidence, &result);
	if (!r)
		r = bundle_policy(evidence.dir_fd, &policy, &policy_size);
	r = r == -ENOENT ? 0 : r;
	if (!r && !a->no_report)
		r = make_report(&evidence, &result, &report, &report_size);
	if (!r)
		r = write_bundle(
			&(struct bundle_options){
				.dir_fd = evidence.dir_fd,
				.state_fd = state_fd,
				.state = a->state,
				.is_signed = a->sign,
				.result = &result,
				.policy = {policy, policy_size},
				.report = {report, report_size},
			},
			a->out);
	if (r)
		return fail(BUNDLE, a->out, r);
	warn(BUNDLE, &result);
	return 0;
}

/* clang-format off */
#define OFFSET(member) offsetof(struct bundle_arguments, member)

const struct command command_bundle = {
	.name = "bundle",
	.summary = "make one file of a session, as evidence",
	.positional = "SESSION",
	.positional_min = 1,
	.positional_max = 1,
	.options = (const struct command_option[]){
		{"output", 'o', "FILE", "where to; - is standard output", OPTION_TEXT, OFFSET(out)},
		{"sign", 0, NULL, "have the host's key sign the statement (root)", OPTION_FLAG, OFFSET(sign)},
		{"no-report", 0, NULL, "leave the report out", OPTION_FLAG, OFFSET(no_report)},
		{"key", 'k', "FILE", "public keys to trust", OPTION_TEXT, OFFSET(key)},
		{"state", 0, "DIR", "state directory (" STORE_DEFAULT_STATE ")", OPTION_TEXT, OFFSET(state)},
		{0},
	},
	.values_size = sizeof(struct bundle_arguments),
	.defaults = &(const struct bundle_arguments){.state = STORE_DEFAULT_STATE},
	.description =
		"Writes a tar archive with all that it takes to verify and read a session elsewhere: the journal, the "
		"checkpoints, the host's ledger up to the end of the session, public keys, the manifest, the "
		"policy that was in force, the page of vitrine-report(1), and an in-toto statement with the hashes of these files, "
		"those of the policy and of the rules of redaction, and what a verifier found.\n\n"
		"The same session makes the same bytes. With --sign the statement goes in once more, in a DSSE envelope "
		"that the host's key signed, and the ledger notes that it did.\n\n"
		"'vitrine verify FILE' verifies it as it is, 'vitrine import' makes a session of it again. The keys in a "
		"bundle are there for information; what is trusted has to come another way. The policy is held against the signed record; "
		"the report is vouched for by the statement alone, so where it matters make one anew: 'vitrine report FILE'.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS", "0; 1 if there is no such session or it cannot be written; 2 for a bad command line."},
		{0},
	},
	.reads = COMMAND_READS_ONE,
	.run = bundle_run,
};
/* clang-format on */

/* ---- import ---- */

#define IMPORT "vitrine import"

/* Unpack under a name that is no session's, then give it its own. */
static int place(const char *bundle, const char *state, const char *id)
{
	cleanup(free) char *sessions = NULL, *temporary = NULL, *final = NULL;
	cleanup(fclose) FILE *in = fopen(bundle, "re");
	int r;

	if (asprintf(&sessions, "%s/sessions", state) < 0 ||
	    asprintf(&temporary, "%s/.import-%s", sessions, id) < 0 ||
	    asprintf(&final, "%s/%s", sessions, id) < 0)
		return -ENOMEM;
	if ((mkdir(state, 0711) && errno != EEXIST) || (mkdir(sessions, 0711) && errno != EEXIST))
		return -errno;
	if (!in || mkdir(temporary, 0700))
		return -errno;
	cleanup(close_fd) int fd = open(temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = fd < 0 ? -errno : bundle_unpack(in, fd);
	if (!r && renameat2(AT_FDCWD, temporary, AT_FDCWD, final, RENAME_NOREPLACE))
		r = -errno;
	if (r)
		scratch_remove(temporary);
	return r;
}

static int import_run(const void *values, int argument_count, char **arguments)
{
	const struct bundle_arguments *a = values;
	cleanup(evidence) struct evidence evidence = EVIDENCE_NONE;
	struct verify_result result;
	struct manifest manifest;
	int r;

	(void)argument_count;
	if (evidence_open(arguments[0], a->state, a->key, IMPORT, stderr, &evidence))
		return 1;
	r = evidence.is_bundle ? verify(&evidence, &result) : -EINVAL;
	if (!r)
		r = evidence_check_bundle(&evidence, &result);
	if (!r)
		r = manifest_read(evidence.dir_fd, &manifest);
	if (r)
		return fail(IMPORT, arguments[0], r);
	warn(IMPORT, &result);
	if (result.verdict == VERIFY_TAMPERED && !a->anyway) {
		manifest_free(&manifest);
		return 1;
	}
	r = place(arguments[0], a->state, manifest.id);
	if (!r)
		printf("%s\n", manifest.id);
	manifest_free(&manifest);
	return r ? fail(IMPORT, a->state, r) : 0;
}

/* clang-format off */
const struct command command_import = {
	.name = "import",
	.summary = "make a session of a bundle, to read it here",
	.positional = "BUNDLE",
	.positional_min = 1,
	.positional_max = 1,
	.options = (const struct command_option[]){
		{"key", 'k', "FILE", "public keys to trust", OPTION_TEXT, OFFSET(key)},
		{"anyway", 0, NULL, "also if it was tampered with", OPTION_FLAG, OFFSET(anyway)},
		{"state", 0, "DIR", "state directory (" STORE_DEFAULT_STATE ")", OPTION_TEXT, OFFSET(state)},
		{0},
	},
	.values_size = sizeof(struct bundle_arguments),
	.defaults = &(const struct bundle_arguments){.state = STORE_DEFAULT_STATE},
	.description =
		"Verifies a bundle and puts its session into a state directory, which is made if it is not there; its id "
		"is printed. All commands that read records read it there, without a daemon and without root if the "
		"directory is one's own.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS",
		 "0; 1 if the bundle was tampered with, the session is there already or cannot be written; 2 for a bad "
		 "command line."},
		{0},
	},
	.run = import_run,
};
/* clang-format on */
