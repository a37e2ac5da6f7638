/*
 * DNS over TCP: from pieces of segments, in the order in which they passed the socket, to messages.
 *
 * A stream is one direction of one socket. Pieces may come twice, overlap, come out of order or not
 * at all (their record was lost); what is held for want of an earlier piece is bounded, and so is
 * what all streams of a session hold together. Where bytes are missing for good it is said, once,
 * and the stream takes up again at the next piece that is a whole message.
 */
#pragma once

#include "../../bpf/wire.h"

#include <stddef.h>
#include <stdint.h>

#define DNS_STREAMS_MAX 128			/* at once; the one unused longest makes room */
#define DNS_STREAM_HELD_MAX 64			/* pieces that wait for an earlier one */
#define DNS_STREAMS_BYTES_MAX (2 * 1024 * 1024) /* that all streams hold */

struct dns_streams;

/*
 * A message is whole: @size bytes at @message. Or @message is NULL and @why says what did not come.
 * @packet has the head and the ends of the piece that it came with last. Everything is valid during
 * the call. A result below 0 stops and is passed on.
 */
typedef int dns_stream_found(void *context, const struct wire_dns_packet *packet,
			     const void *message, size_t size, const char *why);

/* One piece; @packet->full_length may be more than @size, then the rest is missing. 0, -ENOMEM or
 * the result of @found. */
int dns_streams_add(struct dns_streams *s, const struct wire_dns_packet *packet, const void *data,
		    size_t size, dns_stream_found *found, void *context);

/* No more comes: tell what is unfinished. */
int dns_streams_end(struct dns_streams *s, dns_stream_found *found, void *context);
