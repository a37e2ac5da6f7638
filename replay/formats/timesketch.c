/*
 * Timelines for Timesketch: one object or one row an event, with the three columns that it wants
 * (message, datetime, timestamp_desc), the moment in microseconds, the tags, and the record's own
 * values in columns of their own.
 *
 * A spreadsheet takes a cell that begins with = + - @ for a formula. In the CSV such a text has an
 * apostrophe before it; and no text holds an end of line or what else is not printable.
 */
#include "../message.h"
#include "formats.h"

#include "../../supervisor/record/attack.h"
#include "../../supervisor/record/json_put.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct sketch {
	FILE *out;
	const char *session;
	struct json_buffer line, record;
	struct message message;
};

/* Columns of the CSV behind the fixed ones; the JSON lines have every field. */
static const uint16_t columns[] = {
	FIELD_exec,	   FIELD_proc,		 FIELD_pid,
	FIELD_host_pid,	   FIELD_argv,		 FIELD_exe_path,
	FIELD_cwd,	   FIELD_path,		 FIELD_new_path,
	FIELD_path_source, FIELD_src_address,	 FIELD_src_port,
	FIELD_dst_address, FIELD_dst_port,	 FIELD_name,
	FIELD_dns_type,	   FIELD_answers,	 FIELD_server_name,
	FIELD_verdict,	   FIELD_rule,		 FIELD_bytes_written,
	FIELD_bytes_sent,  FIELD_bytes_received, FIELD_size,
	FIELD_syscall,	   FIELD_reason,	 FIELD_exit_code,
	FIELD_signal,	   FIELD_result,	 FIELD_error,
	FIELD_stream,	   FIELD_data,
};

#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

static void sketch_free(void *state)
{
	struct sketch *s = state;

	if (!s)
		return;
	message_close(&s->message);
	json_buffer_free(&s->line);
	json_buffer_free(&s->record);
	free(s);
}

static int sketch_begin(const struct view_options *options, void **ret_state)
{
	struct sketch *s = calloc(1, sizeof(*s));

	if (!s || message_open(&s->message) < 0) {
		sketch_free(s);
		return -ENOMEM;
	}
	s->out = options->out;
	s->session = options->session;
	*ret_state = s;
	return 0;
}

static int sketch_end(void *state, enum view_end how)
{
	(void)state;
	(void)how;
	return 0;
}

static int write_line(struct sketch *s, int r)
{
	if (r < 0)
		return r;
	if (fwrite(s->line.text, 1, s->line.length, s->out) != s->line.length)
		return errno ? -errno : -EIO;
	return 0;
}

static const char *kind_name(const struct event *e)
{
	bool known = e->kind != EVENT_KIND_NONE && e->kind < EVENT_KIND_COUNT;

	return known ? kind_table[e->kind].name : "unknown";
}

static const char *kind_doc(const struct event *e)
{
	bool known = e->kind != EVENT_KIND_NONE && e->kind < EVENT_KIND_COUNT;

	return known ? kind_table[e->kind].doc : "a kind of record that is not known";
}

/* "process.exec: sh -c make" */
static void put_message(struct sketch *s, void (*put)(struct sketch *s, struct bytes text),
			const struct event *e)
{
	struct bytes line;

	rewind(s->message.pen.out);
	fprintf(s->message.pen.out, "%s: ", kind_name(e));
	line_write(&s->message.pen, e);
	fflush(s->message.pen.out);
	line = (struct bytes){s->message.text, (size_t)ftello(s->message.pen.out)};
	put(s, line);
}

/* ---- JSON lines ---- */

static void put_json_text(struct sketch *s, struct bytes text)
{
	json_put_string(&s->line, text);
}

static void put_name(struct json_buffer *b, const char *name)
{
	json_put_literal(b, ",\"");
	for (; *name; name++) /* a dot would make an object of it */
		json_put(b, *name == '.' ? "_" : name, 1);
	json_put_literal(b, "\":");
}

static void put_items(struct json_buffer *b, struct bytes packed)
{
	struct bytes item;
	size_t cursor = 0;
	bool any = false;

	json_put_literal(b, "[");
	while (bytes_next_item(packed, &cursor, &item)) {
		if (any)
			json_put_literal(b, ",");
		json_put_string(b, item);
		any = true;
	}
	json_put_literal(b, "]");
}

static void put_value(struct sketch *s, const struct event_value *value)
{
	struct json_buffer *b = &s->line;

	put_name(b, field_table[value->field].name);
	switch (field_table[value->field].type) {
	case FIELD_TYPE_U64:
		/* What a database cannot hold as a number is a text. */
		if (value->u64 > INT64_MAX)
			json_put_literal(b, "\"");
		json_put_u64(b, value->u64);
		if (value->u64 > INT64_MAX)
			json_put_literal(b, "\"");
		break;
	case FIELD_TYPE_I64:
		json_put_i64(b, value->i64);
		break;
	case FIELD_TYPE_BOOL:
		json_put(b, value->u64 ? "true" : "false", value->u64 ? 4 : 5);
		break;
	case FIELD_TYPE_TEXTS:
	case FIELD_TYPE_MAP:
		put_items(b, value->bytes);
		break;
	case FIELD_TYPE_TEXT:
	case FIELD_TYPE_JSON:
		json_put_string(b, value->bytes);
		break;
	}
	if (value->is_cut) {
		char name[80];

		snprintf(name, sizeof(name), "%s_length", field_table[value->field].name);
		put_name(b, name);
		json_put_u64(b, value->cut.full_length);
	}
}

static void put_tags(struct json_buffer *b, const struct event *e)
{
	const struct attack_tag *tags[ATTACK_TAGS_MAX];
	size_t count = attack_tags(e, tags);

	if (!count)
		return;
	json_put_literal(b, ",\"tag\":[");
	for (size_t i = 0; i < count; i++) {
		if (i)
			json_put_literal(b, ",");
		json_put_string(b, bytes_of(tags[i]->technique));
	}
	json_put_literal(b, "],\"attack_reason\":[");
	for (size_t i = 0; i < count; i++) {
		if (i)
			json_put_literal(b, ",");
		json_put_string(b, bytes_of(tags[i]->reason));
	}
	json_put_literal(b, "]");
}

static int json_event(void *state, const struct event *e, const struct origin *origin, bool wanted)
{
	struct sketch *s = state;
	struct json_buffer *b = &s->line;

	(void)origin;
	if (!wanted)
		return 0;
	b->length = 0;
	json_put_literal(b, "{\"message\":");
	put_message(s, put_json_text, e);
	json_put_literal(b, ",\"datetime\":");
	json_put_time(b, e->time_ns);
	json_put_literal(b, ",\"timestamp\":");
	json_put_u64(b, e->time_ns / 1000);
	json_put_literal(b, ",\"timestamp_desc\":");
	json_put_string(b, bytes_of(kind_doc(e)));
	json_put_literal(b, ",\"data_type\":\"vitrine:record\",\"session\":");
	json_put_string(b, bytes_of(s->session));
	json_put_literal(b, ",\"seq\":");
	json_put_u64(b, e->seq);
	json_put_literal(b, ",\"kind\":");
	json_put_string(b, bytes_of(kind_name(e)));
	put_tags(b, e);
	for (size_t i = 0; i < e->count; i++)
		put_value(s, &e->values[i]);
	json_put_literal(b, "}\n");
	return write_line(s, json_done(b, 0));
}

/* ---- CSV ---- */

static bool is_formula(struct bytes text)
{
	static const char wide[][4] = {"\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d",
				       "\xef\xbc\xa0"};

	if (!text.size)
		return false;
	if (memchr("=+-@|%\t\r\n", *(const char *)text.data, 9))
		return true;
	for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
		if (text.size >= 3 && !memcmp(text.data, wide[i], 3))
			return true;
	return false;
}

static void put_cell(struct sketch *s, struct bytes text)
{
	const char *data = text.data;

	json_put_literal(&s->line, "\"");
	if (is_formula(text))
		json_put_literal(&s->line, "'");
	for (size_t i = 0; i < text.size; i++) {
		json_put(&s->line, data + i, 1);
		if (data[i] == '"')
			json_put_literal(&s->line, "\"");
	}
	json_put_literal(&s->line, "\"");
}

static void put_column(struct sketch *s, const struct event *e, enum event_field field)
{
	const struct event_value *value = event_get(e, field);

	json_put_literal(&s->line, ",");
	if (!value)
		return;
	switch (field_table[field].type) {
	case FIELD_TYPE_U64:
	case FIELD_TYPE_BOOL:
		json_put_u64(&s->line, value->u64);
		break;
	case FIELD_TYPE_I64:
		json_put_i64(&s->line, value->i64);
		break;
	case FIELD_TYPE_TEXTS:
	case FIELD_TYPE_MAP:
		put_cell(s, message_words(&s->message, value->bytes));
		break;
	case FIELD_TYPE_TEXT:
	case FIELD_TYPE_JSON:
		put_cell(s, message_text(&s->message, value->bytes));
		break;
	}
}

static void put_tag_cell(struct sketch *s, const struct event *e)
{
	const struct attack_tag *tags[ATTACK_TAGS_MAX];
	size_t count = attack_tags(e, tags);

	json_put_literal(&s->line, ",");
	for (size_t i = 0; i < count; i++) {
		json_put(&s->line, " ", i ? 1 : 0);
		json_put(&s->line, tags[i]->technique, strlen(tags[i]->technique));
	}
}

static int csv_begin(const struct view_options *options, void **ret_state)
{
	int r = sketch_begin(options, ret_state);

	if (r < 0)
		return r;
	fputs("message,datetime,timestamp_desc,timestamp,session,seq,kind,attack", options->out);
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		fprintf(options->out, ",%s", field_table[columns[i]].name);
	fputs(",record\r\n", options->out);
	return 0;
}

static int csv_event(void *state, const struct event *e, const struct origin *origin, bool wanted)
{
	struct sketch *s = state;
	struct json_buffer *b = &s->line;
	int r;

	(void)origin;
	if (!wanted)
		return 0;
	s->record.length = b->length = 0;
	r = json_write_event(&s->record, s->session, e);
	if (r < 0)
		return r;
	put_message(s, put_cell, e);
	json_put_literal(b, ",");
	json_put_time(b, e->time_ns);
	json_put_literal(b, ",");
	put_cell(s, bytes_of(kind_doc(e)));
	json_put_literal(b, ",");
	json_put_u64(b, e->time_ns / 1000);
	json_put_literal(b, ",");
	json_put(b, s->session, strlen(s->session));
	json_put_literal(b, ",");
	json_put_u64(b, e->seq);
	json_put_literal(b, ",");
	json_put(b, kind_name(e), strlen(kind_name(e)));
	put_tag_cell(s, e);
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		put_column(s, e, columns[i]);
	json_put_literal(b, ",");
	put_cell(s, (struct bytes){s->record.text,
				   s->record.length - 1}); /* without its end of line */
	json_put_literal(b, "\r\n");
	return write_line(s, json_done(b, 0));
}

const struct view view_timesketch = {
	.begin = sketch_begin,
	.event = json_event,
	.end = sketch_end,
	.free = sketch_free,
};

const struct view view_timesketch_csv = {
	.begin = csv_begin,
	.event = csv_event,
	.end = sketch_end,
	.free = sketch_free,
};
