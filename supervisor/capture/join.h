/*
 * Joins the chunks of a value that did not fit one wire record to the record that they continue.
 *
 * A record with WIRE_FLAG_CONTINUED is held until its last chunk (one without that flag) is there,
 * or until it cannot come any more: another record of the same class and CPU with a later number
 * came, or a second went by. Then it is passed on with what there is, and `missing` says what is
 * not. Bytes behind a lost chunk are dropped: a value is kept up to its first hole.
 *
 * A chunk says with `offset` where in the whole value it belongs. One whose record is not there is
 * dropped: the gap of that record stands for it.
 *
 * Held records are copies; the room of the ring must all the same not be given back before they
 * are in the journal: see join_oldest.
 */
#pragma once

#include "wire_record.h"

#include <stdint.h>

#define JOIN_VALUE_MAX (4 * 1024 * 1024)
#define JOIN_SESSION_MAX (16 * 1024 * 1024)

struct join;

/* Gets each record when it is whole; valid during the call. 0, or an error that is handed through.
 */
typedef int join_emit(void *context, const struct wire_record *record);

struct join_options {
	join_emit *emit;
	void *context;
};

int join_new(const struct join_options *options, struct join **ret_join);
void join_free(struct join *j);

/* Pass one record, which begins at @position in the ring. 0 or -errno. */
int join_record(struct join *j, const struct wire_record *record, uint64_t position);

/*
 * The end of a drain, at @boot_ns: what has waited too long is passed on. That is for time to say
 * and not for drains: who writes the rest may be held up by interrupts, or its processor by the
 * host, while several drains go by.
 */
int join_settle(struct join *j, uint64_t boot_ns);

/* Pass on all that is held. */
int join_flush(struct join *j);

/* The position in the ring of the oldest held record; @otherwise if none is held. */
uint64_t join_oldest(const struct join *j, uint64_t otherwise);
