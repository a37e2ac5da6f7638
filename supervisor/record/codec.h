/*
 * The payload of a record in the journal: one event as bytes.
 *
 *   kind      varint
 *   seq       varint
 *   time_ns   64 bits, little-endian
 *   boot_ns   64 bits, little-endian
 *   values, to the end of the payload, each:
 *     varint  field << 1 | cut
 *     U64     varint
 *     I64     varint, zigzag
 *     BOOL    one byte, 0 or 1
 *     others  varint length, then the bytes
 *     if cut  varint full length, one byte: has a digest, then 32 bytes of digest if it has
 *
 * A varint has seven bits a byte, lowest first, the top bit set on all bytes but the last; the
 * shortest form is the only one. The numbers of kinds and fields are their rows in event.def.
 */
#pragma once

#include "event.h"

/* Room that codec_encode may need for @e. */
size_t codec_bound(const struct event *e);

/* Write @e, numbered @seq, to @ret_data of codec_bound(e) bytes. Returns the size of the payload.
 */
size_t codec_encode(const struct event *e, uint64_t seq, void *ret_data);

/*
 * Read a payload. The values point into it. Returns 0; -EBADMSG if it is malformed; -ENOTSUP if it
 * holds a kind or a field that this version does not know. *ret_why is then a static text and
 * *ret_event is undefined.
 */
int codec_decode(struct bytes payload, struct event *ret_event, const char **ret_why);
