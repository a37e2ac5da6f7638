/* TCP streams of DNS, put together by sequence number. */
#include "dns_stream.h"

#include "capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TCP_FIN 1
#define TCP_SYN 2
#define TCP_RST 4

#define LENGTH_SIZE 2
#define MESSAGE_ROOM (LENGTH_SIZE + 65535)
#define FIRST_ROOM 1024
#define WHY_MAX 96

struct held {
	uint8_t *data;
	uint32_t sequence, size;
};

struct dns_stream {
	uint64_t cookie;
	bool is_egress;
	bool is_placed; /* `next` is known */
	bool is_lost;	/* where a message begins is not known */
	bool has_end;	/* a FIN came, at `end` */
	uint64_t used;
	uint32_t next; /* sequence number of the byte that comes next */
	uint32_t end;

	uint8_t *buffer; /* a message that is not whole */
	size_t length, room;
	struct held held[DNS_STREAM_HELD_MAX];
	size_t held_count;

	struct wire_dns_packet last; /* its tails are not here */
};

struct dns_streams {
	struct dns_stream *streams[DNS_STREAMS_MAX];
	size_t count;
	size_t bytes; /* of all buffers and held pieces */
	uint64_t clock;
	dns_stream_found *found;
	void *context;
};

int dns_streams_new(struct dns_streams **ret)
{
	struct dns_streams *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;

	*ret = s;
	return 0;
}

/* ---- memory ---- */

static void drop_held(struct dns_streams *s, struct dns_stream *t, size_t i)
{
	s->bytes -= t->held[i].size;
	free(t->held[i].data);
	t->held[i] = t->held[--t->held_count];
}

static void free_stream(struct dns_streams *s, struct dns_stream *t)
{
	while (t->held_count > 0)
		drop_held(s, t, 0);
	s->bytes -= t->room;
	free(t->buffer);
	free(t);
}

static void remove_stream(struct dns_streams *s, struct dns_stream *t)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->streams[i] == t) {
			s->streams[i] = s->streams[--s->count];
			break;
		}
	}
	free_stream(s, t);
}

void dns_streams_free(struct dns_streams *s)
{
	if (!s)
		return;
	while (s->count > 0)
		free_stream(s, s->streams[--s->count]);
	free(s);
}

static int reserve(struct dns_streams *s, struct dns_stream *t, size_t size)
{
	size_t room = t->room ? t->room : FIRST_ROOM;

	while (room < size)
		room *= 2;
	if (room > MESSAGE_ROOM)
		room = MESSAGE_ROOM;
	if (room <= t->room)
		return 0;
	uint8_t *buffer = realloc(t->buffer, room);
	if (!buffer)
		return -ENOMEM;
	s->bytes += room - t->room;
	t->buffer = buffer;
	t->room = room;
	return 0;
}

/* ---- messages ---- */

static size_t message_size(const uint8_t *data)
{
	return (size_t)data[0] << 8 | data[1];
}

static int tell(struct dns_streams *s, struct dns_stream *t, const char *why)
{
	return s->found(s->context, &t->last, NULL, 0, why);
}

/* What is begun cannot be finished any more. */
static int tell_unfinished(struct dns_streams *s, struct dns_stream *t)
{
	char why[WHY_MAX];
	size_t have = t->length;

	if (have == 0)
		return 0;
	t->length = 0;
	if (have < LENGTH_SIZE)
		snprintf(why, sizeof(why), "ends in the middle of a message's length");
	else
		snprintf(why, sizeof(why), "ends after %zu of %zu bytes of a message",
			 have - LENGTH_SIZE, message_size(t->buffer));
	return tell(s, t, why);
}

static int lose(struct dns_streams *s, struct dns_stream *t, uint32_t missing)
{
	char why[WHY_MAX];

	t->length = 0;
	t->next += missing;
	if (t->is_lost)
		return 0;
	t->is_lost = true;
	snprintf(why, sizeof(why), "%u bytes are missing", missing);
	return tell(s, t, why);
}

/* Take as much of @data as belongs to the message in the buffer, or all that is whole in it. */
static int feed_some(struct dns_streams *s, struct dns_stream *t, const uint8_t *data, size_t size,
		     size_t *ret_taken)
{
	size_t whole = size >= LENGTH_SIZE ? LENGTH_SIZE + message_size(data) : SIZE_MAX;

	if (t->length == 0 && whole <= size) {
		*ret_taken = whole;
		return s->found(s->context, &t->last, data + LENGTH_SIZE, whole - LENGTH_SIZE,
				NULL);
	}
	size_t need = t->length < LENGTH_SIZE ? LENGTH_SIZE : LENGTH_SIZE + message_size(t->buffer);
	size_t taken = need - t->length < size ? need - t->length : size;
	int r = reserve(s, t, t->length + taken);
	if (r < 0)
		return r;
	memcpy(t->buffer + t->length, data, taken);
	t->length += taken;
	*ret_taken = taken;
	if (t->length < LENGTH_SIZE || t->length < LENGTH_SIZE + message_size(t->buffer))
		return 0;
	size = t->length - LENGTH_SIZE;
	t->length = 0;
	return s->found(s->context, &t->last, t->buffer + LENGTH_SIZE, size, NULL);
}

/* The next bytes of the stream. A stream that lost its place finds it at a piece that is a message,
 * no more and no less. */
static int feed(struct dns_streams *s, struct dns_stream *t, const uint8_t *data, size_t size)
{
	t->next += (uint32_t)size;
	if (t->is_lost && (size < LENGTH_SIZE || message_size(data) + LENGTH_SIZE != size))
		return 0;
	t->is_lost = false;
	while (size > 0) {
		size_t taken = 0;
		int r = feed_some(s, t, data, size, &taken);
		if (r < 0)
			return r;
		data += taken;
		size -= taken;
	}
	return 0;
}

/* ---- pieces ---- */

static int hold(struct dns_streams *s, struct dns_stream *t, uint32_t sequence, const void *data,
		size_t size)
{
	for (size_t i = 0; i < t->held_count; i++)
		if (t->held[i].sequence == sequence && t->held[i].size >= size)
			return 0; /* again */
	uint8_t *copy = malloc(size);
	if (!copy)
		return -ENOMEM;

	memcpy(copy, data, size);
	t->held[t->held_count++] = (struct held){copy, sequence, (uint32_t)size};
	s->bytes += size;
	return 0;
}

/* Feed what begins at or before the next byte; what is behind it already is dropped. */
static int place(struct dns_streams *s, struct dns_stream *t, uint32_t sequence,
		 const uint8_t *data, size_t size)
{
	uint32_t behind = t->next - sequence;

	return behind < size ? feed(s, t, data + behind, size - behind) : 0;
}

/* Index of the held piece that comes first; held_count must not be 0. */
static size_t first_held(const struct dns_stream *t)
{
	size_t first = 0;

	for (size_t i = 1; i < t->held_count; i++)
		if ((int32_t)(t->held[i].sequence - t->held[first].sequence) < 0)
			first = i;
	return first;
}

/* Feed held pieces that are next now; with @give_up also those in front of which bytes miss. */
static int release_held(struct dns_streams *s, struct dns_stream *t, bool give_up)
{
	while (t->held_count > 0) {
		size_t i = first_held(t);
		struct held *h = &t->held[i];
		int32_t missing = (int32_t)(h->sequence - t->next);
		int r = 0;

		if (missing > 0 && !give_up)
			break;
		if (missing > 0)
			r = lose(s, t, (uint32_t)missing);
		if (r == 0)
			r = place(s, t, h->sequence, h->data, h->size);
		drop_held(s, t, i);
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_data(struct dns_streams *s, struct dns_stream *t, uint32_t sequence,
		     const uint8_t *data, size_t size)
{
	int r = 0;

	if ((int32_t)(sequence - t->next) > 0) {
		if (t->held_count == DNS_STREAM_HELD_MAX || s->bytes > DNS_STREAMS_BYTES_MAX)
			r = release_held(s, t, true);
		if (r == 0 && (int32_t)(sequence - t->next) > 0)
			return hold(s, t, sequence, data, size);
	}
	if (r == 0)
		r = place(s, t, sequence, data, size);
	return r < 0 ? r : release_held(s, t, false);
}

/* ---- streams ---- */

static int end_stream(struct dns_streams *s, struct dns_stream *t)
{
	int r = release_held(s, t, true);
	if (r == 0)
		r = tell_unfinished(s, t);
	remove_stream(s, t);
	return r;
}

static int make_room(struct dns_streams *s)
{
	struct dns_stream *oldest = s->streams[0];

	for (size_t i = 1; i < s->count; i++)
		if (s->streams[i]->used < oldest->used)
			oldest = s->streams[i];
	return end_stream(s, oldest);
}

static struct dns_stream *find_stream(struct dns_streams *s, const struct wire_dns_packet *packet)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->streams[i]->cookie == packet->cookie &&
		    s->streams[i]->is_egress == (packet->egress != 0))
			return s->streams[i];
	return NULL;
}

static int add_stream(struct dns_streams *s, const struct wire_dns_packet *packet,
		      struct dns_stream **ret_stream)
{
	while (s->count == DNS_STREAMS_MAX || (s->count > 0 && s->bytes > DNS_STREAMS_BYTES_MAX)) {
		int r = make_room(s);
		if (r < 0)
			return r;
	}
	struct dns_stream *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->cookie = packet->cookie;
	t->is_egress = packet->egress != 0;
	s->streams[s->count++] = t;
	*ret_stream = t;
	return 0;
}

/* A SYN says where a stream begins; a socket that is connected again begins another one. */
static int begin(struct dns_streams *s, struct dns_stream *t, const struct wire_dns_packet *packet)
{
	if (!(packet->tcp_flags & TCP_SYN)) {
		if (!t->is_placed)
			t->next = packet->tcp_sequence;
		t->is_placed = true;
		return 0;
	}
	if (t->is_placed && t->next == packet->tcp_sequence + 1)
		return 0; /* again */
	int r = release_held(s, t, true);
	if (r == 0)
		r = tell_unfinished(s, t);
	t->next = packet->tcp_sequence + 1;
	t->is_placed = true;
	t->is_lost = t->has_end = false;
	return r;
}

static int take_piece(struct dns_streams *s, struct dns_stream *t,
		      const struct wire_dns_packet *packet, const void *data, size_t size)
{
	uint32_t sequence = packet->tcp_sequence + (packet->tcp_flags & TCP_SYN ? 1 : 0);
	uint32_t end = sequence + packet->full_length;
	int r = begin(s, t, packet);
	if (r == 0 && size > 0)
		r = take_data(s, t, sequence, data, size);
	if (r == 0 && size < packet->full_length && (int32_t)(end - t->next) > 0)
		r = lose(s, t, end - t->next);
	if (r < 0)
		return r;

	if (packet->tcp_flags & TCP_FIN) {
		t->has_end = true;
		t->end = end;
	}
	if ((packet->tcp_flags & TCP_RST) || (t->has_end && t->next == t->end))
		return end_stream(s, t);
	return 0;
}

int dns_streams_add(struct dns_streams *s, const struct wire_dns_packet *packet, const void *data,
		    size_t size, dns_stream_found *found, void *context)
{
	struct dns_stream *t = find_stream(s, packet);
	int r = 0;

	s->found = found;
	s->context = context;
	/* Nothing of the stream is known and nothing comes: the tail of an end. */
	if (!t && size == 0 && !(packet->tcp_flags & TCP_SYN))
		return 0;
	if (!t)
		r = add_stream(s, packet, &t);
	if (r < 0)
		return r;
	t->used = ++s->clock;
	t->last = *packet;
	r = take_piece(s, t, packet, data, size);
	while (r == 0 && s->bytes > DNS_STREAMS_BYTES_MAX)
		r = make_room(s);
	return r;
}

int dns_streams_end(struct dns_streams *s, dns_stream_found *found, void *context)
{
	int r = 0;

	s->found = found;
	s->context = context;
	while (r == 0 && s->count > 0)
		r = end_stream(s, s->streams[s->count - 1]);
	return r;
}
