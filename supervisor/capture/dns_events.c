/*
 * DNS that passed the session's sockets, as events: one for each message, whichever way it came.
 * What answers say about addresses is kept, so that a connection carries the name that was asked
 * for.
 */
#include "capture.h"
#include "dns.h"
#include "dns_stream.h"
#include "dns_value.h"
#include "sockets.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#define ANSWERS_ROOM (128 * 1024)
#define TYPE_ROOM 16
#define DNS_PORT 53

enum { TAIL_PAYLOAD };

/* One message on its way to an event. */
struct passing {
	const struct wire_dns_packet *packet;
	const char *transport;
	const void *data;
	size_t size, full_size;
	const char *why; /* instead of data: what did not come */
};

static void put_packet_ends(struct capture *c, const struct passing *p)
{
	const struct wire_dns_packet *packet = p->packet;
	struct socket_ends ends = {
		.cookie = packet->cookie,
		.family = packet->family,
		.protocol = packet->protocol,
		.has_src = true,
		.has_dst = true,
		.src_port = (uint16_t)packet->src_port,
		.dst_port = (uint16_t)packet->dst_port,
	};

	memcpy(ends.src, &packet->src_high, sizeof(ends.src));
	memcpy(ends.dst, &packet->dst_high, sizeof(ends.dst));
	sockets_put_ends(c, &ends);
	event_put_text(&c->event, FIELD_transport, p->transport);
}

static void put_question(struct capture *c, const struct dns_message *m)
{
	char *type = capture_room(c, TYPE_ROOM);
	struct dns_text text = {.data = type, .room = TYPE_ROOM};

	if (m->has_head)
		event_put_u64(&c->event, FIELD_dns_id, m->id);
	if (m->name_length > 0)
		event_put_bytes(&c->event, FIELD_name, m->name, m->name_length);
	if (!m->has_question || !type)
		return;
	dns_put_type(&text, m->type);
	event_put_bytes(&c->event, FIELD_dns_type, type, text.length);
}

static void put_answer(struct capture *c, const struct dns_message *m)
{
	char *rcode = capture_room(c, TYPE_ROOM);
	struct dns_text text = {.data = rcode, .room = TYPE_ROOM};

	if (!m->has_head)
		return;
	if (rcode) {
		dns_put_rcode(&text, m->rcode);
		event_put_bytes(&c->event, FIELD_rcode, rcode, text.length);
	}
	event_put_bytes(&c->event, FIELD_answers, m->answers.data, m->answers.size);
	if (m->answers_size > m->answers.size)
		event_mark_cut(&c->event, FIELD_answers, m->answers_size, NULL);
	if (m->is_truncated)
		event_put_bool(&c->event, FIELD_dns_truncated, true);
}

static void put_malformed(struct capture *c, const struct dns_message *m, bool is_egress)
{
	if (m->has_head && m->is_answer == is_egress)
		event_put_text(&c->event, FIELD_malformed,
			       is_egress ? "an answer where a question belongs"
					 : "a question where an answer belongs");
	else if (m->is_cut)
		event_put_text(&c->event, FIELD_malformed,
			       "longer than what is kept of a datagram");
	if (m->malformed[0])
		event_put_text(&c->event, FIELD_malformed, m->malformed);
}

static void learn(struct capture *c, const struct dns_message *m)
{
	struct bytes name = {m->name, m->name_length};

	for (size_t i = 0; i < m->address_count; i++)
		sockets_learn_name(c->sockets, m->addresses[i].bytes, m->addresses[i].size, name);
}

/* Where both ends have the port of DNS, only what the message is tells client from server. */
static bool is_servers_side(const struct wire_dns_packet *packet, const struct dns_message *m)
{
	return packet->src_port == DNS_PORT && packet->dst_port == DNS_PORT && m->has_head &&
	       m->is_answer == (packet->egress != 0);
}

static int emit_message(struct capture *c, const struct passing *p)
{
	struct wire_record record = {.head = &p->packet->head};
	bool is_egress = p->packet->egress != 0;
	struct dns_message m;

	capture_begin(c, &record, is_egress ? EVENT_dns_query : EVENT_dns_answer);
	char *room = capture_room(c, ANSWERS_ROOM);
	dns_parse(p->data, p->size, p->full_size, room, room ? ANSWERS_ROOM : 0, &m);
	if (is_servers_side(p->packet, &m)) {
		if (p->packet->protocol == IPPROTO_UDP)
			c->filtered[WIRE_CLASS_dns]++;
		return 0;
	}
	put_question(c, &m);
	if (!is_egress)
		put_answer(c, &m);
	put_packet_ends(c, p);
	put_malformed(c, &m, is_egress);
	if (!is_egress && m.is_answer)
		learn(c, &m);
	return capture_send(c);
}

static int emit_missing(struct capture *c, const struct passing *p)
{
	struct wire_record record = {.head = &p->packet->head};

	capture_begin(c, &record, p->packet->egress ? EVENT_dns_query : EVENT_dns_answer);
	put_packet_ends(c, p);
	event_put_text(&c->event, FIELD_malformed, capture_text(c, "%s", p->why));
	return capture_send(c);
}

static int found_in_stream(void *context, const struct wire_dns_packet *packet, const void *message,
			   size_t size, const char *why)
{
	struct passing p = {
		.packet = packet,
		.transport = "tcp",
		.data = message,
		.size = size,
		.full_size = size,
		.why = why,
	};

	return why ? emit_missing(context, &p) : emit_message(context, &p);
}

int translate_dns_packet(struct capture *c, const struct wire_record *record)
{
	const struct wire_dns_packet *packet = (const void *)record->head;
	struct bytes payload = record->tails[TAIL_PAYLOAD];

	if (packet->full_length < payload.size)
		return -EBADMSG;
	if (packet->protocol == IPPROTO_UDP) {
		struct passing p = {
			.packet = packet,
			.transport = "udp",
			.data = payload.data,
			.size = payload.size,
			.full_size = packet->full_length,
		};
		return emit_message(c, &p);
	}
	if (packet->protocol != IPPROTO_TCP)
		return -EBADMSG;
	if (packet->full_length == 0)
		c->filtered[WIRE_CLASS_dns]++; /* the beginning or the end of a connection */
	return dns_streams_add(c->dns, packet, payload.data, payload.size, found_in_stream, c);
}

int dns_streams_finish(struct capture *c)
{
	return dns_streams_end(c->dns, found_in_stream, c);
}
