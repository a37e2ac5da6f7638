/*
 * What a record says that another supervisor began: whether it has its end, and which commands have
 * none. Nobody saw how those ended, and that is what their end says.
 */
#include "../record/reader.h"
#include "recording_internal.h"

#include <string.h>

/* A journal that was closed properly has session.end as its last record. */
static bool has_end(struct recording *r, struct reader *reader)
{
	bool is_ended = false;
	struct event e;

	if (reader_seek(reader, journal_next_seq(r->journal) - 1) < 0)
		return false;
	while (reader_next(reader, &e) == READER_RECORD) {
		is_ended = e.kind == EVENT_session_end;
		if (is_ended)
			recording_keep_verdict(r, &e);
	}
	return is_ended;
}

static void note_start(struct recording *r, uint32_t exec)
{
	if (r->left_count < RECORDING_EXECS)
		r->left[r->left_count++] = exec;
}

static void note_end(struct recording *r, uint32_t exec)
{
	for (size_t i = 0; i < r->left_count; i++)
		if (r->left[i] == exec) {
			memmove(r->left + i, r->left + i + 1,
				(--r->left_count - i) * sizeof(r->left[0]));
			return;
		}
}

static void note_commands(struct recording *r, struct reader *reader)
{
	struct event e;

	if (reader_seek(reader, 1) < 0)
		return;
	while (reader_next(reader, &e) == READER_RECORD) {
		uint32_t exec = (uint32_t)event_u64(&e, FIELD_exec, 0);

		if (e.kind == EVENT_exec_start)
			note_start(r, exec);
		else if (e.kind == EVENT_exec_end)
			note_end(r, exec);
	}
}

void recording_look_back(struct recording *r)
{
	struct reader *reader = NULL;

	if (journal_next_seq(r->journal) <= 1 || reader_open(r->ground.journal_fd, &reader) < 0)
		return;
	r->is_ended = has_end(r, reader);
	if (!r->is_ended)
		note_commands(r, reader);
	reader_free(reader);
}

int recording_end_left(struct recording *r)
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < r->left_count; i++) {
		struct event *e = recording_begin(r, EVENT_exec_end);

		event_put_u64(e, FIELD_exec, r->left[i]);
		event_put_text(e, FIELD_reason, "supervisor_lost");
		error = recording_emit(r, e);
	}
	r->left_count = 0;
	return error;
}
