/*
 * Follows a file or a process through a session.
 */
#include "lineage.h"

#include "../supervisor/record/json.h"
#include "../supervisor/record/text_stream.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

const char *const section_names[SECTION_COUNT] = {
	[SECTION_WROTE] = "wrote",
	[SECTION_MOVED] = "moved",
	[SECTION_READ] = "read",
	[SECTION_RAN] = "ran",
	[SECTION_WROTE_AFTER] = "wrote_after",
	[SECTION_SENT_AFTER] = "network_after",
	[SECTION_LEFT] = "left",
};

void lineage_free(struct lineage *l)
{
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		for (size_t n = 0; n < l->sections[i].count; n++)
			free(l->sections[i].lines[n]);
		free(l->sections[i].lines);
	}
	free(l->has_since);
	answer_free(&l->answer);
}

/* ---- lines ---- */

static char *text_of(const struct lineage *l, const struct event *e, const struct origin *origin)
{
	const struct event_value *pid = event_get(e, FIELD_pid);
	uint64_t elapsed_ns = origin_elapsed(origin, e);
	struct pen pen = l->answer.pen;
	struct text_stream stream;

	if (text_stream_begin(&stream) < 0)
		return NULL;
	pen.out = stream.out;
	fprintf(pen.out, "%6" PRIu64 ".%06u", elapsed_ns / NS_PER_S,
		(unsigned int)(elapsed_ns % NS_PER_S / 1000));
	if (pid)
		fprintf(pen.out, " %7" PRIu64 "  ", pid->u64);
	else
		fprintf(pen.out, " %7s  ", "?");
	pen_style(&pen, kind_style(e->kind));
	fprintf(pen.out, "%-14s ", kind_table[e->kind].name);
	pen_style(&pen, STYLE_PLAIN);
	line_write(&pen, e);
	return text_stream_end(&stream) < 0 ? NULL : stream.text;
}

static char *json_of(const struct lineage *l, const struct event *e)
{
	struct json_buffer buffer = {0};
	char *text = NULL;

	if (json_write_event(&buffer, l->answer.session, e) == 0)
		text = strndup(buffer.text, buffer.length - 1);
	json_buffer_free(&buffer);
	return text;
}

static int keep(struct lineage *l, enum section section, const struct event *e,
		const struct origin *origin)
{
	struct section_lines *lines = &l->sections[section];
	char *text;

	if (lines->count >= LINEAGE_SHOWN_MAX || l->bytes >= LINEAGE_BYTES_MAX) {
		lines->left_out++;
		return 0;
	}
	if (!lines->lines)
		lines->lines = calloc(LINEAGE_SHOWN_MAX, sizeof(*lines->lines));
	if (!lines->lines)
		return -ENOMEM;
	text = l->answer.asked->options->json ? json_of(l, e) : text_of(l, e, origin);
	if (!text)
		return -ENOMEM;
	lines->lines[lines->count++] = text;
	l->bytes += strlen(text);
	return 0;
}

/* ---- who has it ---- */

static int make_room(struct lineage *l)
{
	size_t count = actors_count(l->answer.actors), room = l->room ? l->room : 64;
	uint64_t *grown;

	if (count <= l->room)
		return 0;
	while (room < count)
		room *= 2;
	grown = realloc(l->has_since, room * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + l->room, 0, (room - l->room) * sizeof(*grown));
	l->has_since = grown;
	l->room = room;
	return 0;
}

/* The place of the process that @field names, or NULL. */
static uint64_t *place_of(struct lineage *l, const struct event *e, enum event_field field)
{
	struct bytes key = event_bytes(e, field);
	size_t number;

	if (!key.data || actors_find(l->answer.actors, key, &number) < 0)
		return NULL;
	return &l->has_since[number];
}

static bool is_subject(const struct lineage *l, struct bytes key, const struct event_value *pid)
{
	char text[24];

	if (strchr(l->proc, '-'))
		return key.size == strlen(l->proc) && !memcmp(key.data, l->proc, key.size);
	if (!pid)
		return false;
	snprintf(text, sizeof(text), "%" PRIu64, pid->u64);
	return !strcmp(text, l->proc);
}

static void begin_having(uint64_t *place, const struct event *e)
{
	if (place && !*place)
		*place = e->seq + 1;
}

static void note_subject(struct lineage *l, const struct event *e, enum event_field key,
			 enum event_field pid)
{
	uint64_t *place = place_of(l, e, key);

	if (!place || *place || !is_subject(l, event_bytes(e, key), event_get(e, pid)))
		return;
	l->subjects++;
	begin_having(place, e);
}

/* ---- what the acts are ---- */

static bool is_ours(const struct lineage *l, const struct event *e)
{
	static const uint16_t fields[] = {FIELD_path, FIELD_new_path, FIELD_requested,
					  FIELD_new_requested, FIELD_exe_path};
	size_t cursor = 0;
	struct bytes item;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		if (aliases_have(l->aliases, event_bytes(e, fields[i])))
			return true;
	}
	/* A script runs as an argument of its interpreter. */
	for (size_t i = 0; i < 4 && bytes_next_item(event_bytes(e, FIELD_argv), &cursor, &item);
	     i++) {
		if (aliases_have(l->aliases, item))
			return true;
	}
	return false;
}

/* SECTION_COUNT for what is no act on a file, or of no interest. */
static enum section section_of(const struct event *e)
{
	switch (e->kind) {
	case EVENT_file_create:
	case EVENT_file_modify:
	case EVENT_file_truncate:
	case EVENT_file_mmap:
	case EVENT_file_attr:
	case EVENT_file_mkdir:
	case EVENT_file_symlink:
		return SECTION_WROTE;
	case EVENT_file_final:
		return SECTION_LEFT;
	case EVENT_file_rename:
	case EVENT_file_link:
	case EVENT_file_delete:
	case EVENT_file_rmdir:
		return SECTION_MOVED;
	case EVENT_file_read:
		return SECTION_READ;
	case EVENT_process_exec:
	case EVENT_process_exec_failed:
		return SECTION_RAN;
	default:
		return SECTION_COUNT;
	}
}

/* What may carry data out of the session. */
static bool is_sending(const struct event *e)
{
	switch (e->kind) {
	case EVENT_net_connect:
	case EVENT_net_send:
	case EVENT_dns_query:
	case EVENT_tls_hello:
	case EVENT_egress_verdict:
		return true;
	case EVENT_net_close:
		return event_u64(e, FIELD_bytes_sent, 0) > 0;
	default:
		return false;
	}
}

/* An act on the file itself. */
static int add_to_file(struct lineage *l, const struct event *e, const struct origin *origin,
		       uint64_t *place)
{
	enum section section = section_of(e);
	int r = 0;

	if (section == SECTION_COUNT)
		return 0;
	r = keep(l, section, e, origin);
	if (section == SECTION_READ || e->kind == EVENT_process_exec)
		begin_having(place, e);
	return r;
}

/* An act of a process that has it. */
static int add_of_holder(struct lineage *l, const struct event *e, const struct origin *origin)
{
	enum section section = section_of(e);

	if (is_sending(e))
		return keep(l, SECTION_SENT_AFTER, e, origin);
	if (section == SECTION_COUNT)
		return 0;
	if (!l->aliases)
		return keep(l, section, e, origin);
	return section == SECTION_WROTE ? keep(l, SECTION_WROTE_AFTER, e, origin) : 0;
}

int lineage_add(struct lineage *l, const struct event *e, const struct origin *origin)
{
	uint64_t *place;
	int r = make_room(l);

	if (r < 0 || e->kind >= EVENT_KIND_COUNT)
		return r;
	if (!l->aliases) {
		note_subject(l, e, FIELD_proc, FIELD_pid);
		note_subject(l, e, FIELD_child_proc, FIELD_child_pid);
	}
	place = place_of(l, e, FIELD_proc);
	if (l->aliases && is_ours(l, e))
		return add_to_file(l, e, origin, place);
	if (!place || !*place)
		return 0;
	if (e->kind == EVENT_process_fork)
		begin_having(place_of(l, e, FIELD_child_proc), e);
	return add_of_holder(l, e, origin);
}
