/*
 * vitrine note: what people who look into a session want to keep in mind, beside its record.
 */
#include "commands.h"
#include "document.h"
#include "line.h"
#include "notes.h"
#include "units.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/command.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define CALLED "vitrine note"

struct note_options {
	const char *state, *file;
	uint64_t withdraw;
	bool json;
};

static int parse_number(const char *text, void *ret_number)
{
	uint64_t number = 0;

	for (const char *at = text; *at; at++) {
		if (*at < '0' || *at > '9' || number > UINT64_MAX / 16)
			return -EINVAL;
		number = number * 10 + (uint64_t)(*at - '0');
	}
	if (!number)
		return -EINVAL;
	*(uint64_t *)ret_number = number;
	return 0;
}

static int say(const char *path, int error)
{
	struct printable printable = printable_for(stderr, 200);

	fputs(CALLED ": ", stderr);
	printable_word(stderr, &printable, bytes_of(path));
	if (error == -EILSEQ)
		fputs(": the text is not UTF-8\n", stderr);
	else if (error == -EMSGSIZE)
		fprintf(stderr, ": the text is longer than %d bytes\n", NOTE_TEXT_MAX);
	else if (error == -EACCES || error == -EROFS)
		fprintf(stderr, ": %s; --notes FILE takes another place\n", strerror(-error));
	else
		fprintf(stderr, ": %s\n", strerror(-error));
	return 1;
}

static int write_json(const struct notes *notes, const char *session)
{
	struct document d = {0};

	document_open(&d, NULL, '[');
	for (size_t i = 0; i < notes->count; i++) {
		const struct remark *note = &notes->list[i];

		if (note->is_withdrawn)
			continue;
		document_open(&d, NULL, '{');
		document_u64(&d, "number", note->number);
		document_string(&d, "session", session);
		document_u64(&d, "seq", note->seq);
		document_time(&d, "time", note->time_ns);
		document_string(&d, "author", note->author);
		document_u64(&d, "uid", note->uid);
		document_string(&d, "note", note->text);
		document_close(&d, '{');
	}
	document_close(&d, '[');
	return document_finish(&d, stdout) < 0;
}

static int write_list(const struct notes *notes)
{
	struct printable printable = printable_for(stdout, 0);

	for (size_t i = 0; i < notes->count; i++) {
		const struct remark *note = &notes->list[i];

		if (note->is_withdrawn)
			continue;
		printf("%4" PRIu64 "  record %-8" PRIu64 "  ", note->number, note->seq);
		write_wall_clock(stdout, note->time_ns, 0);
		fputs("  ", stdout);
		printable_word(stdout, &printable, bytes_of(note->author));
		fputs("  ", stdout);
		if (note->text)
			printable_text(stdout, &printable, bytes_of(note->text));
		else
			fputs("(bookmark)", stdout);
		fputc('\n', stdout);
	}
	if (notes->bad_lines)
		fprintf(stderr, CALLED ": %" PRIu64 " lines could not be read\n", notes->bad_lines);
	return notes->bad_lines > 0;
}

/* The words of the command line as one text. */
static char *join(int count, char **words)
{
	size_t size = 1, at = 0;
	char *text;

	for (int i = 0; i < count; i++)
		size += strlen(words[i]) + 1;
	text = malloc(size);
	for (int i = 0; text && i < count; i++)
		at += (size_t)snprintf(text + at, size - at, "%s%s", i ? " " : "", words[i]);
	return text;
}

static int add(struct notes *notes, const struct session *session, int count, char **arguments)
{
	cleanup(free) char *text = count > 2 ? join(count - 2, arguments + 2) : NULL;
	struct event e;
	uint64_t seq;
	int r;

	if (parse_number(arguments[1], &seq) < 0) {
		fputs(CALLED ": the number of a record is needed behind SESSION, from 1 on\n",
		      stderr);
		return COMMAND_STATUS_USAGE;
	}
	if (reader_seek(session->reader, seq) < 0 ||
	    reader_next(session->reader, &e) != READER_RECORD || e.seq != seq) {
		fprintf(stderr, CALLED ": session %s has no record %" PRIu64 "\n",
			session->manifest.id, seq);
		return 1;
	}
	if (count > 2 && !text)
		return say(notes->path, -ENOMEM);
	r = notes_add(notes, session->manifest.id, seq, text);
	return r < 0 ? say(notes->path, r) : 0;
}

static int note_run(const void *values, int argument_count, char **arguments)
{
	const struct note_options *options = values;
	cleanup(session) struct session session = SESSION_NONE;
	cleanup(notes) struct notes notes = {0};
	cleanup(free) char *path = NULL;
	int r;

	if (session_open(options->state, arguments[0], CALLED, stderr, &session) < 0)
		return 1;
	path = notes_path(options->state, arguments[0], session.manifest.id, options->file);
	r = path ? notes_open(path, &notes) : -ENOMEM;
	if (r < 0)
		return say(path ? path : "", r);
	if (options->withdraw) {
		r = notes_withdraw(&notes, session.manifest.id, options->withdraw);
		if (r == -ENOENT)
			fprintf(stderr, CALLED ": there is no note %" PRIu64 "\n",
				options->withdraw);
		return r == -ENOENT ? 1 : r < 0 ? say(path, r) : 0;
	}
	if (argument_count > 1)
		return add(&notes, &session, argument_count, arguments);
	return options->json ? write_json(&notes, session.manifest.id) : write_list(&notes);
}

/* clang-format off */
#define OFFSET(member) offsetof(struct note_options, member)

const struct command command_note = {
	.name = "note",
	.summary = "keep notes about the records of a session",
	.positional = "SESSION [SEQ [TEXT...]]",
	.positional_min = 1,
	.positional_max = -1,
	.options = (const struct command_option[]){
		{"withdraw", 0, "NUMBER", "take back the note of this number", OPTION_PARSED, OFFSET(withdraw),
		 .parse = parse_number, .allowed = "the number of a note, as 'vitrine note SESSION' lists them"},
		{"json", 'j', NULL, "list them as one JSON array", OPTION_FLAG, OFFSET(json)},
		{"notes", 0, "FILE", "where the notes stand", OPTION_TEXT, OFFSET(file)},
		{"state", 0, "DIR", "state directory (" STORE_DEFAULT_STATE ")", OPTION_TEXT, OFFSET(state)},
		{0},
	},
	.values_size = sizeof(struct note_options),
	.defaults = &(const struct note_options){.state = STORE_DEFAULT_STATE},
	.description =
		"Without SEQ, lists the notes and bookmarks about a session: number, record, when, who, what. With SEQ, the number "
		"of a record, adds a note about it, or without TEXT a bookmark. The full-screen mode of vitrine-replay(1) shows "
		"and makes them too.\n\n"
		"Notes are never part of the evidence: they stand in a file of their own, DIR/notes/ID.jsonl, beside a bundle "
		"FILE.tar in FILE.tar.notes, and carry the name and uid of who wrote them and the time. Lines are only added "
		"to it; what is withdrawn stays in the file and is not shown.\n\n"
		"SESSION is an id, a unique beginning of one (4 digits or more), a name (the newest of that name), 'last', or "
		"the path of a bundle (FILE.tar) or of a session's directory.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS", "0; 1 if there is no such session, record or note, or the file cannot be written or has lines that "
		 "cannot be read; 2 for a bad command line."},
		{"EXAMPLES", "  vitrine note last 217 \"this is where the key was read\""},
		{0},
	},
	.reads = COMMAND_READS_UNTOLD,
	.run = note_run,
};
/* clang-format on */
