/*
 * Writes the parts of a line.
 */
#include "line.h"

#include "counts.h"
#include "final_state.h"
#include "units.h"

#include "../supervisor/record/attack.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const color_choices[] = {
	[COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never", NULL};

static const char *const style_codes[STYLE_COUNT] = {
	[STYLE_PLAIN] = "0",	[STYLE_DIM] = "2",     [STYLE_BOLD] = "1",
	[STYLE_PROCESS] = "32", [STYLE_FILE] = "34",   [STYLE_NET] = "36",
	[STYLE_DNS] = "35",	[STYLE_POLICY] = "33", [STYLE_LOUD] = "1;31",
};

struct pen pen_for(FILE *out, enum color_choice color)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool fits = isatty(fileno(out)) && !(no_color && *no_color) && term &&
		    strcmp(term, "dumb") != 0;

	return (struct pen){
		.out = out,
		.color = color == COLOR_ALWAYS || (color == COLOR_AUTO && fits),
		.printable = printable_for(out, PEN_VALUE_MAX),
	};
}

void pen_style(const struct pen *pen, enum style style)
{
	if (pen->color)
		fprintf(pen->out, "\033[%sm", style_codes[style]);
}

enum style style_of_code(const char *code, size_t length)
{
	for (size_t i = 0; i < STYLE_COUNT; i++)
		if (strlen(style_codes[i]) == length && !memcmp(style_codes[i], code, length))
			return (enum style)i;
	return STYLE_PLAIN;
}

enum style kind_style(enum event_kind kind)
{
	static const enum style of_class[EVENT_CLASS_COUNT] = {
		[EVENT_CLASS_process] = STYLE_PROCESS, [EVENT_CLASS_file] = STYLE_FILE,
		[EVENT_CLASS_net] = STYLE_NET,	       [EVENT_CLASS_dns] = STYLE_DNS,
		[EVENT_CLASS_output] = STYLE_DIM,      [EVENT_CLASS_policy] = STYLE_POLICY,
		[EVENT_CLASS_session] = STYLE_BOLD,
	};

	if (line_rows[kind].style)
		return line_rows[kind].style;
	return of_class[kind_table[kind].class];
}

static void write_loud(const struct pen *pen, const char *text)
{
	pen_style(pen, STYLE_LOUD);
	fputs(text, pen->out);
	pen_style(pen, STYLE_PLAIN);
}

static void write_word(const struct pen *pen, struct bytes word)
{
	printable_word(pen->out, &pen->printable, word);
}

void line_write_words(const struct pen *pen, struct bytes packed)
{
	size_t cursor = 0, left = 0;
	struct bytes item;
	bool first = true;

	while (cursor < PEN_TEXTS_MAX && bytes_next_item(packed, &cursor, &item)) {
		if (!first)
			fputc_unlocked(' ', pen->out);
		first = false;
		write_word(pen, item);
	}
	while (bytes_next_item(packed, &cursor, &item))
		left++;
	if (left)
		fprintf(pen->out, " [+%zu more]", left);
}

static void write_map(const struct pen *pen, struct bytes packed)
{
	size_t cursor = 0;
	struct bytes key, value;
	const char *before = "";

	while (cursor < PEN_TEXTS_MAX && bytes_next_item(packed, &cursor, &key) &&
	       bytes_next_item(packed, &cursor, &value)) {
		fputs(before, pen->out);
		write_word(pen, key);
		fputc('=', pen->out);
		write_word(pen, value);
		before = " ";
	}
	if (cursor < packed.size)
		fputs(" [+more]", pen->out);
}

static void write_typed(const struct pen *pen, const struct event_value *value)
{
	switch (field_table[value->field].type) {
	case FIELD_TYPE_U64:
		fprintf(pen->out, "%" PRIu64, value->u64);
		break;
	case FIELD_TYPE_I64:
		fprintf(pen->out, "%" PRId64, value->i64);
		break;
	case FIELD_TYPE_BOOL:
		fputs(value->u64 ? "yes" : "no", pen->out);
		break;
	case FIELD_TYPE_TEXT:
		write_word(pen, value->bytes);
		break;
	case FIELD_TYPE_TEXTS:
		line_write_words(pen, value->bytes);
		break;
	case FIELD_TYPE_MAP:
		write_map(pen, value->bytes);
		break;
	case FIELD_TYPE_JSON:
		printable_text(pen->out, &pen->printable, value->bytes);
		break;
	}
}

/* A value that was cut says so, and how long it was. */
static void write_cut(const struct pen *pen, const struct event_value *value)
{
	char text[64];

	if (!value->is_cut)
		return;
	snprintf(text, sizeof(text), " [CUT: %zu of %" PRIu64 " bytes]", value->bytes.size,
		 value->cut.full_length);
	write_loud(pen, text);
}

static bool write_field(const struct pen *pen, const struct event *e, const char *before,
			enum event_field field)
{
	const struct event_value *value = event_get(e, field);

	if (!value)
		return false;
	fputs(before, pen->out);
	write_typed(pen, value);
	write_cut(pen, value);
	return true;
}

static bool field_is_true(const struct event *e, enum event_field field)
{
	return event_u64(e, field, 0) != 0;
}

static bool field_is(const struct event *e, enum event_field field, const char *text)
{
	struct bytes bytes = event_bytes(e, field);

	return bytes.data && bytes.size == strlen(text) && !memcmp(bytes.data, text, bytes.size);
}

/* ---- what looks at several fields ---- */

static void write_doubt(const struct pen *pen, const struct event *e)
{
	if (field_is(e, FIELD_path_source, "args"))
		fputs(" (as the call was given it)", pen->out);
}

static void write_file(const struct pen *pen, const struct event *e)
{
	if (!write_field(pen, e, "", FIELD_path)) {
		if (write_field(pen, e, "", FIELD_requested))
			fputs(" (as asked for; the file is unknown)", pen->out);
		else
			fputs("(name unknown)", pen->out);
	} else {
		write_doubt(pen, e);
	}
	if (field_is_true(e, FIELD_path_detached))
		fputs(" (below a mount out of reach)", pen->out);
	if (field_is_true(e, FIELD_deleted))
		fputs(" (deleted)", pen->out);
	if (event_get(e, FIELD_file_type) && !field_is(e, FIELD_file_type, "regular") &&
	    !field_is(e, FIELD_file_type, "directory")) {
		write_field(pen, e, " (", FIELD_file_type);
		fputc(')', pen->out);
	}
}

static bool write_end(const struct pen *pen, const struct event *e, const char *before,
		      enum event_field address, enum event_field port)
{
	struct bytes text = event_bytes(e, address);
	bool is_v6 = text.data && memchr(text.data, ':', text.size);

	if (!text.data && !event_get(e, port))
		return false;
	fputs(before, pen->out);
	fputs(is_v6 ? "[" : "", pen->out);
	if (text.data)
		write_word(pen, text);
	else
		fputc('*', pen->out);
	fputs(is_v6 ? "]" : "", pen->out);
	write_field(pen, e, ":", port);
	return true;
}

static void write_ends(const struct pen *pen, const struct event *e)
{
	bool known = write_field(pen, e, "", FIELD_protocol);
	const char *blank = known ? " " : "";

	if (event_get(e, FIELD_unix_path) || event_get(e, FIELD_unix_abstract)) {
		write_field(pen, e, blank, FIELD_unix_path);
		write_field(pen, e, known ? " @" : "@", FIELD_unix_abstract);
		write_doubt(pen, e);
		return;
	}
	known = write_end(pen, e, blank, FIELD_src_address, FIELD_src_port);
	write_end(pen, e,
		  known	   ? " -> "
		  : *blank ? " -> "
			   : "-> ",
		  FIELD_dst_address, FIELD_dst_port);
}

static bool first_item_is(struct bytes packed, struct bytes text)
{
	size_t cursor = 0;
	struct bytes item;

	return bytes_next_item(packed, &cursor, &item) && item.size == text.size &&
	       !memcmp(item.data, text.data, item.size);
}

static void write_program(const struct pen *pen, const struct event *e)
{
	struct bytes exe = event_bytes(e, FIELD_exe_path);

	if (exe.data && !first_item_is(event_bytes(e, FIELD_argv), exe))
		write_field(pen, e, "  exe ", FIELD_exe_path);
	write_field(pen, e, " by ", FIELD_interpreter);
	if (field_is_true(e, FIELD_exe_memfd))
		write_loud(pen, " (in memory only)");
	else if (field_is_true(e, FIELD_exe_deleted))
		write_loud(pen, " (deleted file)");
}

static void write_signal(const struct pen *pen, const struct event *e)
{
	uint64_t number = event_u64(e, FIELD_signal, 0);
	const char *name = number < 128 ? sigabbrev_np((int)number) : NULL;

	fprintf(pen->out, "signal %" PRIu64, number);
	if (name)
		fprintf(pen->out, " (%s)", name);
	if (field_is_true(e, FIELD_core_dumped))
		fputs(", core dumped", pen->out);
}

static void write_verdict(const struct pen *pen, const struct event *e)
{
	bool has_reason = event_get(e, FIELD_reason), has_code = event_get(e, FIELD_exit_code);

	if (has_reason && !field_is(e, FIELD_reason, "exit") &&
	    !field_is(e, FIELD_reason, "signal"))
		write_field(pen, e, "", FIELD_reason);
	else if (has_code)
		fprintf(pen->out, "exit %" PRIu64, event_u64(e, FIELD_exit_code, 0));
	else if (event_get(e, FIELD_signal))
		write_signal(pen, e);
	else if (!write_field(pen, e, "", FIELD_reason))
		fputs("how is unknown", pen->out);
	write_field(pen, e, " ", FIELD_limit);
	write_field(pen, e, " by ", FIELD_by);
	write_field(pen, e, " at step ", FIELD_step);
	if (event_get(e, FIELD_error)) {
		fputs(": ", pen->out);
		printable_text(pen->out, &pen->printable, event_bytes(e, FIELD_error));
	}
}

static void write_loss(const struct pen *pen, const struct event *e)
{
	const struct event_value *first = event_get(e, FIELD_first),
				 *last = event_get(e, FIELD_last);

	bool has_size = event_get(e, FIELD_size);

	if (has_size)
		fprintf(pen->out, "%" PRIu64 " bytes of", event_u64(e, FIELD_size, 0));
	else if (!write_field(pen, e, "", FIELD_count))
		fputs("an unknown number of", pen->out);
	write_field(pen, e, " ", FIELD_class);
	fputs(has_size ? " are missing here" : " records are missing here", pen->out);
	write_field(pen, e, ": ", FIELD_reason);
	write_field(pen, e, ", ", FIELD_sensor);
	if (first && last)
		fprintf(pen->out, ", numbers %" PRIu64 " to %" PRIu64, first->u64, last->u64);
	write_field(pen, e, " of cpu ", FIELD_cpu);
}

static void write_lost(const struct pen *pen, const struct event *e)
{
	struct counts counts;
	char text[64];

	if (!event_get(e, FIELD_counts))
		return;
	if (counts_parse(event_bytes(e, FIELD_counts), &counts) < 0) {
		write_loud(pen, ", its counts cannot be read");
	} else if (counts.lost) {
		snprintf(text, sizeof(text), ", %" PRIu64 " records lost", counts.lost);
		write_loud(pen, text);
	} else {
		fputs(", nothing lost", pen->out);
	}
}

static void write_unexplained(const struct pen *pen, const struct event *e)
{
	uint64_t count = 0, by_loss = 0;
	char text[96];

	if (!final_unexplained_of(e, &count, &by_loss))
		return;
	if (by_loss)
		fprintf(pen->out, ", %" PRIu64 " changes explained by losses alone", by_loss);
	if (!count)
		return;
	snprintf(text, sizeof(text), ", %" PRIu64 " changes that no record explains", count);
	write_loud(pen, text);
}

static void write_command(const struct pen *pen, const struct event *e)
{
	if (event_get(e, FIELD_command))
		write_field(pen, e, "", FIELD_command);
	else
		fputs("no command of its own", pen->out);
}

/* True if @how was one of those. */
static bool write_composite(const struct pen *pen, const struct event *e, enum show how)
{
	static void (*const writers[])(const struct pen *pen, const struct event *e) = {
		[SHOW_FILE] = write_file,
		[SHOW_ENDS] = write_ends,
		[SHOW_PROGRAM] = write_program,
		[SHOW_VERDICT] = write_verdict,
		[SHOW_LOSS] = write_loss,
		[SHOW_LOST] = write_lost,
		[SHOW_UNEXPLAINED] = write_unexplained,
		[SHOW_COMMAND] = write_command,
	};

	if (how < SHOW_FILE)
		return false;
	writers[how](pen, e);
	return true;
}

/* ---- one part, one line ---- */

static bool is_worth_it(const struct event *e, const struct part *part,
			const struct event_value *value)
{
	switch (part->how) {
	case SHOW_FLAG:
		return value->u64 != 0;
	case SHOW_RESULT:
		return value->i64 < 0 && !event_get(e, FIELD_error);
	case SHOW_WHEN_MANY:
		return value->u64 > 1;
	default:
		return true;
	}
}

static size_t count_items(struct bytes packed)
{
	size_t cursor = 0, count = 0;
	struct bytes item;

	while (bytes_next_item(packed, &cursor, &item))
		count++;
	return count;
}

static void write_value(const struct pen *pen, const struct event_value *value, enum show how)
{
	const char *name;

	switch (how) {
	case SHOW_PROSE:
		printable_text(pen->out, &pen->printable, value->bytes);
		write_cut(pen, value);
		break;
	case SHOW_HOW_MANY:
		fprintf(pen->out, "%zu", count_items(value->bytes));
		break;
	case SHOW_SIZE:
		write_size(pen->out, value->u64);
		break;
	case SHOW_DURATION:
		if (field_table[value->field].type == FIELD_TYPE_I64 && value->i64 < 0)
			fputc('-', pen->out);
		write_duration(pen->out, field_table[value->field].type == FIELD_TYPE_I64
						 ? (uint64_t)llabs(value->i64)
						 : value->u64);
		break;
	case SHOW_OCTAL:
		fprintf(pen->out, "%04" PRIo64, value->u64);
		break;
	case SHOW_HEX:
		fprintf(pen->out, "%" PRIx64, value->u64);
		break;
	case SHOW_FLAG:
		break;
	case SHOW_RESULT:
		name = value->i64 > -4096 ? strerrorname_np((int)-value->i64) : NULL;
		if (name)
			fputs(name, pen->out);
		else
			fprintf(pen->out, "%" PRId64, value->i64);
		break;
	default:
		write_typed(pen, value);
		write_cut(pen, value);
		break;
	}
}

void line_write_part(const struct pen *pen, const struct event *e, const struct part *part)
{
	const struct event_value *value;

	if (write_composite(pen, e, part->how))
		return;
	value = event_get(e, part->field);
	if (!value || !is_worth_it(e, part, value))
		return;
	fputs(part->before, pen->out);
	write_value(pen, value, part->how);
	if (part->after)
		fputs(part->after, pen->out);
}

/* " [REDACTED: argv by token, path by token]": what the redaction stage cut from this record. */
static void write_redacted(const struct pen *pen, const struct event *e)
{
	struct bytes text = event_bytes(e, FIELD_redacted);
	json_t *cuts = text.data ? json_loadb(text.data, text.size, 0, NULL) : NULL;
	const char *before = " [REDACTED: ";
	size_t i;
	json_t *cut;

	if (!text.data)
		return;
	pen_style(pen, STYLE_LOUD);
	json_array_foreach (cuts, i, cut) {
		const char *field = json_string_value(json_object_get(cut, "field"));
		const char *rule = json_string_value(json_object_get(cut, "rule"));

		fputs(before, pen->out);
		write_word(pen, bytes_of(field ? field : "?"));
		fputs(" by ", pen->out);
		write_word(pen, bytes_of(rule ? rule : "?"));
		before = ", ";
	}
	fputs(json_array_size(cuts) ? "]" : " [REDACTED]", pen->out);
	pen_style(pen, STYLE_PLAIN);
	json_decref(cuts);
}

/* " [T1059.004 Unix Shell]": a hint, so it stays quiet. */
static void write_attack(const struct pen *pen, const struct event *e)
{
	const struct attack_tag *tags[ATTACK_TAGS_MAX];
	size_t count = attack_tags(e, tags);

	if (!count)
		return;
	pen_style(pen, STYLE_DIM);
	for (size_t i = 0; i < count; i++)
		fprintf(pen->out, "%s%s %s", i ? ", " : " [", tags[i]->technique, tags[i]->name);
	fputc(']', pen->out);
	pen_style(pen, STYLE_PLAIN);
}

void line_write(const struct pen *pen, const struct event *e)
{
	if (e->kind == EVENT_KIND_NONE || e->kind >= EVENT_KIND_COUNT) {
		fprintf(pen->out, "a kind of record that this vitrine does not know (%u)", e->kind);
		return;
	}
	for (const struct part *part = line_rows[e->kind].parts; part && part->before; part++)
		line_write_part(pen, e, part);
	write_redacted(pen, e);
	write_attack(pen, e);
}
