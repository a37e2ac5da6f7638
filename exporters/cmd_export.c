/*
 * vitrine export: one session's record, as others' systems read it.
 */
#include "commands.h"
#include "project/hide.h"
#include "source.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#define CALLED "vitrine export"
#define FLUSH_BYTES (256 * 1024)

struct export_options {
	const char *state, *output, *key;
	int format;
	bool include_output;
};

struct export
{
	const struct projection *projection;
	const struct export_options *options;
	struct hide_key key;
	char session[SESSION_ID_LENGTH + 1];
	struct source *source;
	struct json_buffer lines, scratch;
	FILE *out;
};

static void say(const char *what, const char *name, int error)
{
	struct printable printable = printable_for(stderr, 200);

	fprintf(stderr, CALLED ": %s ", what);
	printable_word(stderr, &printable, bytes_of(name));
	fprintf(stderr, ": %s\n", strerror(-error));
}

/* Find and open the session; on failure one line says why. */
static int open_session(struct export *x, const char *what)
{
	cleanup(close_fd) int state_fd =
		open(x->options->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup(close_fd) int dir_fd = -1;
	struct manifest manifest;
	bool was_ahead;
	int r;

	if (state_fd < 0) {
		r = -errno;
		say("cannot open the state directory", x->options->state, r);
		return r;
	}
	r = store_find(state_fd, what, &manifest, &dir_fd);
	if (r == -ENOTUNIQ)
		fprintf(stderr,
			CALLED ": more than one session is called that; give more of its id\n");
	else if (r < 0)
		say("there is no session", what, r);
	if (r < 0)
		return r;

	memcpy(x->session, manifest.id, sizeof(x->session));
	manifest_free(&manifest);
	r = source_open(dir_fd, 1, &x->source, &was_ahead);
	if (r < 0)
		say("cannot read the journal of session", x->session, r);
	return r;
}

static int write_lines(struct export *x)
{
	size_t length = x->lines.length;

	x->lines.length = 0;
	return !length || fwrite(x->lines.text, 1, length, x->out) == length ? 0 : -EIO;
}

static int take_record(struct export *x, struct event *e)
{
	struct projected p = {x->session, source_facts(x->source), e, &x->scratch};
	int r;

	if (!x->options->include_output)
		hide_data(e, &x->key);
	r = x->projection->write(&x->lines, &p);
	if (r == 0 && x->lines.length >= FLUSH_BYTES)
		r = write_lines(x);
	return r;
}

static int write_all(struct export *x)
{
	struct event *e;
	int r = 0;

	while (r == 0 && source_next(x->source, &e) == SOURCE_RECORD)
		r = take_record(x, e);
	if (r == 0)
		r = write_lines(x);
	if (r == 0 && fflush(x->out))
		r = -errno;
	return r;
}

/* The key of the deployment stands beside the state directory. Without it, no digests. */
static int read_key(struct export *x)
{
	char beside[4096];
	size_t length = strlen(x->options->state);
	int r;

	if (x->options->key) {
		r = hide_key_read(x->options->key, &x->key);
		if (r < 0)
			say("cannot read the key", x->options->key, r);
		return r;
	}
	while (length > 1 && x->options->state[length - 1] == '/')
		length--;
	snprintf(beside, sizeof(beside), "%.*s.key", (int)length, x->options->state);
	if (hide_key_read(beside, &x->key) < 0)
		x->key.size = 0;
	return 0;
}

static void export_close(struct export *x)
{
	source_free(x->source);
	json_buffer_free(&x->lines);
	json_buffer_free(&x->scratch);
}

/* 0, or 1 where the record is not whole. */
static int say_state(const struct export *x)
{
	const struct reader_damage *damage = source_damage(x->source);

	if (!damage)
		return 0;
	fprintf(stderr,
		CALLED ": the record is damaged: segment %s, byte %" PRIu64
		       ", after record %" PRIu64 ": %s\n",
		damage->segment, damage->offset, damage->after_seq, damage->why);
	return 1;
}

static int export_to(struct export *x)
{
	const char *path = x->options->output;
	cleanup(fclose) FILE *file = NULL;
	int r;

	x->out = stdout;
	if (path && strcmp(path, "-")) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);

		file = fd < 0 ? NULL : fdopen(fd, "we");
		if (!file) {
			r = -errno;
			say("cannot write", path, r);
			return 1;
		}
		x->out = file;
	}
	r = write_all(x);
	if (r < 0) {
		say("cannot write", path ? path : "standard output", r);
		return 1;
	}
	return say_state(x);
}

static int export_run(const void *values, int argument_count, char **arguments)
{
	const struct export_options *options = values;
	struct export x = {.options = options, .projection = projections[options->format]};
	int status = 1;

	(void)argument_count;
	if (open_session(&x, arguments[0]) == 0 && read_key(&x) == 0)
		status = export_to(&x);
	export_close(&x);
	return status;
}

/* clang-format off */
#define OFFSET(member) offsetof(struct export_options, member)

const struct command command_export = {
	.name = "export",
	.summary = "write a session's record in a form that other systems read",
	.positional = "SESSION",
	.positional_min = 1,
	.positional_max = 1,
	.options = (const struct command_option[]){
		{"format", 0, "FORMAT", "form of the lines (jsonl)", OPTION_CHOICE, OFFSET(format),
		 .choices = projection_names},
		{"output", 'o', "FILE", "where to; by itself to standard output", OPTION_TEXT, OFFSET(output)},
		{"include-output", 0, NULL, "the data of output and input too, not only length and digest", OPTION_FLAG,
		 OFFSET(include_output)},
		{"key", 0, "FILE", "key of the digests (the deployment key beside the state directory)", OPTION_TEXT,
		 OFFSET(key)},
		{"state", 0, "DIR", "state directory (" STORE_DEFAULT_STATE ")", OPTION_TEXT, OFFSET(state)},
		{0},
	},
	.values_size = sizeof(struct export_options),
	.defaults = &(const struct export_options){.state = STORE_DEFAULT_STATE},
	.description =
		"Writes the record of one session, one line a record, in the order of the record. No daemon is needed, "
		"only leave to read the files.\n\n"
		"  jsonl   the canonical JSON, as vitrine schema describes it\n"
		"  ocsf    OCSF 1.8\n"
		"  ecs     Elastic Common Schema 9\n"
		"  otlp    OpenTelemetry logs, one OTLP request in JSON a line\n"
		"  cef     Common Event Format\n\n"
		"Every form carries the whole record: what its schema has no place for goes out in canonical form, in "
		"unmapped (ocsf), vitrine (ecs), the body (otlp) or cs6 (cef). Each line holds an id made of the session "
		"and the number of the record, by which a receiver finds duplicates.\n\n"
		"Of output and input only the length goes out and, where the deployment key can be read, a digest under "
		"it. Records that the journal does not hold any more are told by a gap in their place.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS",
		 "0, or 1 if the session cannot be found or read, is damaged, or cannot be written, or 2 for a bad "
		 "command line."},
		{"EXAMPLES",
		 "  vitrine export last --format ocsf -o last.ocsf.jsonl"},
		{0},
	},
	.reads = COMMAND_READS_ONE,
	.run = export_run,
};
/* clang-format on */
