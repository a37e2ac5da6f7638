/*
 * What the terminals of a session showed, as asciicast v3 or v2 (docs.asciinema.org), for its
 * players. It is the record's text, so what was redacted is redacted here too.
 *
 * Programs that were run, and every hole in the record, are markers. The output of a command
 * without a terminal has line feeds alone; here they get their carriage return.
 */
#include "../message.h"
#include "../units.h"
#include "formats.h"

#include "../../supervisor/record/json_put.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 80
#define ROWS 24
#define STREAMS 4
#define TAIL_MAX 3  /* bytes of a character that goes on in the next record */
#define COMMANDS 64 /* whose streams are told apart at once */

struct cast {
	FILE *out;
	bool is_v2, has_head;
	struct json_buffer line;
	struct message message;
	uint64_t columns, rows, time_ns;
	char title[256];
	uint64_t last_us; /* of the event written before */
	uint64_t now_us;
	bool has_status;
	uint64_t status;
	bool has_size;	 /* some command has a terminal */
	bool is_chosen;	 /* the filter wants some commands */
	bool has_others; /* there was a command before */
	struct tail {
		uint64_t exec;
		char bytes[TAIL_MAX];
		size_t size;
	} tails[COMMANDS * STREAMS];
};

static void cast_free(void *state)
{
	struct cast *c = state;

	if (!c)
		return;
	message_close(&c->message);
	json_buffer_free(&c->line);
	free(c);
}

static int cast_open(const struct view_options *options, bool is_v2, void **ret_state)
{
	struct cast *c = calloc(1, sizeof(*c));

	if (!c || message_open(&c->message) < 0) {
		cast_free(c);
		return -ENOMEM;
	}
	c->out = options->out;
	c->is_v2 = is_v2;
	c->columns = COLUMNS;
	c->rows = ROWS;
	snprintf(c->title, sizeof(c->title), "vitrine session %s", options->session);
	*ret_state = c;
	return 0;
}

static int cast_begin(const struct view_options *options, void **ret_state)
{
	return cast_open(options, false, ret_state);
}

static int cast_begin_v2(const struct view_options *options, void **ret_state)
{
	return cast_open(options, true, ret_state);
}

static int write_line(struct cast *c)
{
	int r = json_done(&c->line, 0);

	if (!r && fwrite(c->line.text, 1, c->line.length, c->out) != c->line.length)
		r = errno ? -errno : -EIO;
	return r;
}

/* The head can only be written when the terminal's size is known: before the first event. */
static int write_head(struct cast *c)
{
	struct json_buffer *b = &c->line;

	if (c->has_head)
		return 0;
	c->has_head = true;
	b->length = 0;
	if (c->is_v2)
		json_put_literal(b, "{\"version\":2,\"width\":");
	else
		json_put_literal(b, "{\"version\":3,\"term\":{\"cols\":");
	json_put_u64(b, c->columns);
	json_put(b, c->is_v2 ? ",\"height\":" : ",\"rows\":", c->is_v2 ? 10 : 8);
	json_put_u64(b, c->rows);
	if (!c->is_v2)
		json_put_literal(b, "}");
	json_put_literal(b, ",\"timestamp\":");
	json_put_u64(b, c->time_ns / NS_PER_S);
	json_put_literal(b, ",\"title\":");
	json_put_string(b, bytes_of(c->title));
	json_put_literal(b, "}\n");
	return write_line(c);
}

/* [0.123456,"o", */
static int begin_event(struct cast *c, const char *code)
{
	struct json_buffer *b = &c->line;
	uint64_t from = c->is_v2 ? 0 : c->last_us, us;
	char text[64];
	int r = write_head(c);

	/* Records of several processors may come out of order; what was shown cannot go back. */
	if (c->now_us < c->last_us)
		c->now_us = c->last_us;
	us = c->now_us - from;
	c->last_us = c->now_us;
	b->length = 0;
	snprintf(text, sizeof(text), "[%" PRIu64 ".%06u,\"%s\",", us / 1000000,
		 (unsigned int)(us % 1000000), code);
	json_put(b, text, strlen(text));
	return r;
}

static int put_event(struct cast *c, const char *code, struct bytes text)
{
	int r = begin_event(c, code);

	json_put_string(&c->line, text);
	json_put_literal(&c->line, "]\n");
	return r ? r : write_line(c);
}

/* ---- streams ---- */

static size_t stream_of(const struct event *e)
{
	static const char *const names[STREAMS] = {"stdout", "stderr", "tty", "stdin"};
	struct bytes stream = event_bytes(e, FIELD_stream);

	for (size_t i = 0; i < STREAMS; i++)
		if (stream.size == strlen(names[i]) && !memcmp(stream.data, names[i], stream.size))
			return i;
	return STREAMS - 1;
}

/* What the command's stream left open. One whose place another command takes stays as it was. */
static struct tail *tail_of(struct cast *c, const struct event *e)
{
	uint64_t exec = event_u64(e, FIELD_exec, 0);
	struct tail *tail = &c->tails[exec % COMMANDS * STREAMS + stream_of(e)];

	if (tail->exec != exec)
		*tail = (struct tail){.exec = exec};
	return tail;
}

/* How many bytes at the end of @text begin a character that is not whole yet. */
static size_t open_tail(struct bytes text)
{
	const unsigned char *data = text.data;

	for (size_t back = 1; back <= TAIL_MAX && back <= text.size; back++) {
		unsigned char c = data[text.size - back];
		size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

		if (c >= 0x80 && c < 0xc0)
			continue;
		return length > back ? back : 0;
	}
	return 0;
}

static int put_data(struct cast *c, const struct event *e)
{
	struct bytes data = event_bytes(e, FIELD_data);
	size_t tail = open_tail(data);
	struct tail *open = tail_of(c, e);
	bool is_terminal = stream_of(e) == 2 || e->kind == EVENT_input;

	rewind(c->message.pen.out);
	fwrite(open->bytes, 1, open->size, c->message.pen.out);
	for (size_t i = 0; i + tail < data.size; i++) {
		char byte = ((const char *)data.data)[i];

		if (byte == '\n' && !is_terminal)
			fputc('\r', c->message.pen.out);
		fputc(byte, c->message.pen.out);
	}
	fflush(c->message.pen.out);
	memcpy(open->bytes, (const char *)data.data + data.size - tail, tail);
	open->size = tail;
	return put_event(c, e->kind == EVENT_input ? "i" : "o",
			 (struct bytes){c->message.text, (size_t)ftello(c->message.pen.out)});
}

static int put_size(struct cast *c, const struct event *e)
{
	char text[48];

	snprintf(text, sizeof(text), "%" PRIu64 "x%" PRIu64, event_u64(e, FIELD_columns, 0),
		 event_u64(e, FIELD_rows, 0));
	return put_event(c, "r", bytes_of(text));
}

/* A terminal's new size is recorded as an input without data. */
static int take_stream(struct cast *c, const struct event *e)
{
	if (event_get(e, FIELD_columns) && event_get(e, FIELD_rows))
		return put_size(c, e);
	return event_bytes(e, FIELD_data).size ? put_data(c, e) : 0;
}

static int put_marker(struct cast *c, const struct event *e)
{
	struct bytes line = message_of(&c->message, e);

	return put_event(c, "m", line);
}

static void take_start(struct cast *c, const struct event *e)
{
	struct bytes name = event_bytes(e, FIELD_name), text;

	if (!name.data)
		return;
	text = message_text(&c->message, name);
	snprintf(c->title + strlen(c->title), sizeof(c->title) - strlen(c->title), " %.*s",
		 (int)text.size, (const char *)text.data);
}

/* The head has the size of the first terminal that is wanted; a later command is a marker, and its
 * terminal a new size. */
static int take_command(struct cast *c, const struct event *e, bool wanted)
{
	bool has_size = event_u64(e, FIELD_columns, 0) && event_u64(e, FIELD_rows, 0);
	bool is_later = c->has_others;
	int r = 0;

	c->has_others = true;
	c->is_chosen |= wanted;
	if (has_size && !c->has_head && (wanted || !c->has_size)) {
		c->columns = event_u64(e, FIELD_columns, 0);
		c->rows = event_u64(e, FIELD_rows, 0);
		c->has_size = true;
		return 0;
	}
	if (wanted && is_later)
		r = put_marker(c, e);
	return r == 0 && wanted && has_size && c->has_head ? put_size(c, e) : r;
}

static int cast_event(void *state, const struct event *e, const struct origin *origin, bool wanted)
{
	struct cast *c = state;

	c->now_us = origin_elapsed(origin, e) / 1000;
	c->time_ns = origin->time_ns;
	switch (e->kind) {
	case EVENT_session_start:
		take_start(c, e);
		return 0;
	case EVENT_exec_start:
		return take_command(c, e, wanted);
	case EVENT_output:
	case EVENT_input:
		return wanted ? take_stream(c, e) : 0;
	case EVENT_process_exec:
		return wanted ? put_marker(c, e) : 0;
	case EVENT_gap:
		return put_marker(c, e);
	case EVENT_exec_end:
		if (!wanted && c->is_chosen)
			return 0;
		c->has_status = true;
		c->status = event_get(e, FIELD_signal) ? 128 + event_u64(e, FIELD_signal, 0)
						       : event_u64(e, FIELD_exit_code, 0);
		return 0;
	default:
		return 0;
	}
}

static void cast_damage(void *state, const struct reader_damage *damage)
{
	struct cast *c = state;
	char text[256];

	snprintf(text, sizeof(text), "the record is damaged after record %" PRIu64 ": %s",
		 damage->after_seq, damage->why);
	put_event(c, "m", bytes_of(text));
}

static int cast_end(void *state, enum view_end how)
{
	const char *text = view_end_text(how);
	struct cast *c = state;
	char status[24];
	int r = write_head(c);

	if (!r && text)
		r = put_event(c, "m", bytes_of(text));
	snprintf(status, sizeof(status), "%" PRIu64, c->status);
	if (!r && c->has_status && !c->is_v2)
		r = put_event(c, "x", bytes_of(status));
	return r;
}

const struct view view_asciicast = {
	.begin = cast_begin,
	.event = cast_event,
	.damage = cast_damage,
	.end = cast_end,
	.free = cast_free,
};

const struct view view_asciicast_v2 = {
	.begin = cast_begin_v2,
	.event = cast_event,
	.damage = cast_damage,
	.end = cast_end,
	.free = cast_free,
};
