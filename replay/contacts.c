/*
 * Gathers what the records of sockets and questions say of each peer.
 */
#include "contacts.h"

#include "keymap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SOCKETS_MAX (1 << 18) /* that are remembered, to know whose bytes a close tells of */
#define ANSWER_MAX 256

const char *const way_names[] = {
	[WAY_OUT] = "out", [WAY_IN] = "in", [WAY_BOUND] = "bound", [WAY_UNIX] = "unix"};

/* A key: this, the protocol closed by a NUL, and the address. */
struct key_head {
	uint8_t way, has_port, is_abstract, zero; /* no holes: it is compared as bytes */
	uint16_t port;
};

struct stored_name {
	struct contact_name facts;
	char answered[ANSWER_MAX];
	uint16_t answered_size;
};

struct contacts {
	struct keymap *keys, *name_keys, *sockets;
	struct contact *list;
	struct stored_name *names;
	uint32_t *socket_contacts;
	size_t room, name_room, socket_room;
	uint64_t left_out;
};

struct contacts *contacts_new(void)
{
	struct contacts *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->keys = keymap_new(CONTACTS_MAX);
	c->name_keys = keymap_new(CONTACTS_MAX);
	c->sockets = keymap_new(SOCKETS_MAX);
	if (!c->keys || !c->name_keys || !c->sockets) {
		contacts_free(c);
		return NULL;
	}
	return c;
}

void contacts_free(struct contacts *c)
{
	if (!c)
		return;
	keymap_free(c->keys);
	keymap_free(c->name_keys);
	keymap_free(c->sockets);
	free(c->list);
	free(c->names);
	free(c->socket_contacts);
	free(c);
}

/* The number of @key in @map; *array has an item for it, zeroed if it is new. 0, -ENOMEM or
 * -ENOSPC. */
static int item_of(struct keymap *map, struct bytes key, void *array, size_t *room, size_t size,
		   size_t *ret_number)
{
	size_t count = keymap_count(map);
	int r;

	if (count == *room) {
		size_t wanted = *room ? *room * 2 : 32;
		char *grown = realloc(*(void **)array, wanted * size);

		if (!grown)
			return -ENOMEM;
		memset(grown + *room * size, 0, (wanted - *room) * size);
		*(void **)array = grown;
		*room = wanted;
	}
	r = keymap_add(map, key, ret_number);
	return r;
}

static int contact_of(struct contacts *c, enum way way, const struct event *e,
		      enum event_field address, enum event_field port, size_t *ret_number)
{
	const struct event_value *number = event_get(e, port);
	struct bytes protocol = event_bytes(e, FIELD_protocol), text = event_bytes(e, address);
	struct key_head head = {
		.way = (uint8_t)way,
		.has_port = number != NULL,
		.is_abstract = address == FIELD_unix_abstract,
		.port = number ? (uint16_t)number->u64 : 0,
	};
	char key[512] = {0};
	size_t size = sizeof(head);

	memcpy(key, &head, sizeof(head));
	if (protocol.size > 64 || text.size > 400)
		return -ENOSPC;
	if (protocol.size)
		memcpy(key + size, protocol.data, protocol.size);
	size += protocol.size + 1;
	if (text.size)
		memcpy(key + size, text.data, text.size);
	size += text.size;
	return item_of(c->keys, (struct bytes){key, size}, &c->list, &c->room, sizeof(*c->list),
		       ret_number);
}

static int name_of(struct contacts *c, struct bytes name, size_t *ret_number)
{
	return item_of(c->name_keys, name, &c->names, &c->name_room, sizeof(*c->names), ret_number);
}

/* Remember with whom the socket of @e speaks. */
static int remember_socket(struct contacts *c, const struct event *e, size_t contact)
{
	const struct event_value *cookie = event_get(e, FIELD_socket);
	size_t number;
	int r;

	if (!cookie)
		return 0;
	r = item_of(c->sockets, (struct bytes){&cookie->u64, sizeof(cookie->u64)},
		    &c->socket_contacts, &c->socket_room, sizeof(*c->socket_contacts), &number);
	if (r == 0)
		c->socket_contacts[number] = (uint32_t)contact + 1;
	return r == -ENOSPC ? 0 : r;
}

static bool known_socket(const struct contacts *c, const struct event *e, size_t *ret_contact)
{
	const struct event_value *cookie = event_get(e, FIELD_socket);
	size_t number;

	if (!cookie ||
	    keymap_find(c->sockets, (struct bytes){&cookie->u64, sizeof(cookie->u64)}, &number) < 0)
		return false;
	*ret_contact = c->socket_contacts[number] - 1;
	return c->socket_contacts[number] != 0;
}

static void note_result(struct contact *contact, const struct event *e)
{
	const struct event_value *result = event_get(e, FIELD_result);

	if (!result || result->i64 >= 0 || result->i64 == -EINPROGRESS)
		return;
	contact->failed++;
	for (size_t i = 0; i < CONTACT_RESULTS_MAX; i++) {
		if (contact->results[i].count && contact->results[i].error != -result->i64)
			continue;
		contact->results[i].error = -result->i64;
		contact->results[i].count++;
		return;
	}
	contact->other_results++;
}

static bool is_text(struct bytes bytes, const char *text)
{
	return bytes.data && bytes.size == strlen(text) && !memcmp(bytes.data, text, bytes.size);
}

static void note_contact_name(struct contact *contact, size_t name)
{
	for (size_t i = 0; i < contact->name_count; i++) {
		if (contact->names[i] == name)
			return;
	}
	if (contact->name_count < CONTACT_NAMES_MAX)
		contact->names[contact->name_count++] = (uint32_t)name;
	else
		contact->more_names = true;
}

/* What @e says of a name; @contact: the end that goes by it, or SIZE_MAX. */
static int add_name(struct contacts *c, const struct actors *a, const struct event *e,
		    struct bytes text, size_t contact)
{
	struct contact_name *name;
	size_t number;
	int r;

	if (!text.size)
		return 0;
	r = name_of(c, text, &number);
	if (r < 0)
		return r;
	name = &c->names[number].facts;
	name->queries += e->kind == EVENT_dns_query;
	name->tries += e->kind == EVENT_net_connect || e->kind == EVENT_net_send;
	name->allowed += is_text(event_bytes(e, FIELD_verdict), "allow");
	name->denied += is_text(event_bytes(e, FIELD_verdict), "deny");
	actor_set_add(&name->by, a, e);
	if (contact != SIZE_MAX)
		note_contact_name(&c->list[contact], number);
	return 0;
}

static int add_answer(struct contacts *c, const struct event *e)
{
	struct bytes name = event_bytes(e, FIELD_name), packed = event_bytes(e, FIELD_answers);
	struct stored_name *stored;
	size_t number, cursor = 0;
	struct bytes item;
	int r;

	if (!name.size)
		return 0;
	r = name_of(c, name, &number);
	if (r < 0)
		return r;
	stored = &c->names[number];
	stored->facts.answers++;
	stored->facts.failures += !is_text(event_bytes(e, FIELD_rcode), "NOERROR");
	if (!packed.size)
		return 0;
	stored->answered_size = 0;
	while (bytes_next_item(packed, &cursor, &item) && cursor <= ANSWER_MAX)
		stored->answered_size = (uint16_t)(cursor < packed.size ? cursor : packed.size);
	memcpy(stored->answered, packed.data, stored->answered_size);
	return 0;
}

static int add_close(struct contacts *c, const struct event *e)
{
	struct contact *contact;
	size_t number;
	int r = 0;

	if (!known_socket(c, e, &number)) {
		bool has_peer = event_bytes(e, FIELD_dst_address).data;

		if (!has_peer && !event_u64(e, FIELD_bytes_sent, 0) &&
		    !event_u64(e, FIELD_bytes_received, 0))
			return 0;
		r = has_peer ? contact_of(c, WAY_OUT, e, FIELD_dst_address, FIELD_dst_port, &number)
			     : contact_of(c, WAY_BOUND, e, FIELD_src_address, FIELD_src_port,
					  &number);
	}
	if (r < 0)
		return r;
	contact = &c->list[number];
	contact->sent += event_u64(e, FIELD_bytes_sent, 0);
	contact->received += event_u64(e, FIELD_bytes_received, 0);
	return 0;
}

static int add_peer(struct contacts *c, const struct actors *a, const struct event *e)
{
	bool is_in = e->kind == EVENT_net_accept,
	     is_bound = e->kind == EVENT_net_listen || e->kind == EVENT_net_bind;
	enum way way = is_in ? WAY_IN : is_bound ? WAY_BOUND : WAY_OUT;
	struct contact *contact;
	size_t number;
	int r = contact_of(c, way, e, is_bound ? FIELD_src_address : FIELD_dst_address,
			   way == WAY_OUT ? FIELD_dst_port : FIELD_src_port, &number);

	if (r < 0)
		return r;
	contact = &c->list[number];
	contact->tries += e->kind != EVENT_net_send && e->kind != EVENT_egress_verdict &&
			  e->kind != EVENT_net_bind;
	contact->datagrams += e->kind == EVENT_net_send;
	contact->allowed += is_text(event_bytes(e, FIELD_verdict), "allow");
	contact->denied += is_text(event_bytes(e, FIELD_verdict), "deny");
	note_result(contact, e);
	actor_set_add(&contact->by, a, e);
	r = add_name(c, a, e, event_bytes(e, FIELD_name), number);
	if (r == 0 && e->kind != EVENT_net_send && !is_bound)
		r = remember_socket(c, e, number);
	return r;
}

static int add_unix(struct contacts *c, const struct actors *a, const struct event *e)
{
	bool is_abstract = event_get(e, FIELD_unix_abstract);
	size_t number;
	int r;

	if (is_text(event_bytes(e, FIELD_act), "pair"))
		return 0; /* with nobody else */
	r = contact_of(c, WAY_UNIX, e, is_abstract ? FIELD_unix_abstract : FIELD_unix_path,
		       FIELD_dst_port, &number);
	if (r < 0)
		return r;
	c->list[number].tries++;
	note_result(&c->list[number], e);
	actor_set_add(&c->list[number].by, a, e);
	return 0;
}

static int take(struct contacts *c, const struct actors *a, const struct event *e)
{
	size_t contact = SIZE_MAX;

	switch (e->kind) {
	case EVENT_net_connect:
	case EVENT_net_send:
	case EVENT_net_accept:
	case EVENT_net_bind:
	case EVENT_net_listen:
		return add_peer(c, a, e);
	case EVENT_egress_verdict:
		return event_get(e, FIELD_dst_address)
			       ? add_peer(c, a, e)
			       : add_name(c, a, e, event_bytes(e, FIELD_name), SIZE_MAX);
	case EVENT_net_close:
		return add_close(c, e);
	case EVENT_net_unix:
		return add_unix(c, a, e);
	case EVENT_dns_query:
		return add_name(c, a, e, event_bytes(e, FIELD_name), SIZE_MAX);
	case EVENT_dns_answer:
		return add_answer(c, e);
	case EVENT_tls_hello:
		known_socket(c, e, &contact);
		return add_name(c, a, e, event_bytes(e, FIELD_server_name), contact);
	default:
		return 0;
	}
}

int contacts_add(struct contacts *c, const struct actors *a, const struct event *e)
{
	int r = take(c, a, e);

	c->left_out += r == -ENOSPC;
	return r == -ENOSPC ? 0 : r;
}

size_t contacts_count(const struct contacts *c)
{
	return keymap_count(c->keys);
}

struct contact contacts_get(const struct contacts *c, size_t number)
{
	struct bytes key = keymap_key(c->keys, number);
	struct contact contact = c->list[number];
	const char *at = key.data, *end = at + key.size;
	struct key_head head;

	memcpy(&head, at, sizeof(head));
	at += sizeof(head);
	contact.way = head.way;
	contact.has_port = head.has_port;
	contact.is_abstract = head.is_abstract;
	contact.port = head.port;
	contact.protocol = (struct bytes){at, strlen(at)};
	at += contact.protocol.size + 1;
	contact.address = (struct bytes){at, (size_t)(end - at)};
	return contact;
}

size_t contacts_name_count(const struct contacts *c)
{
	return keymap_count(c->name_keys);
}

struct contact_name contacts_name(const struct contacts *c, size_t number)
{
	struct contact_name name = c->names[number].facts;

	name.name = keymap_key(c->name_keys, number);
	name.answered = (struct bytes){c->names[number].answered, c->names[number].answered_size};
	return name;
}

uint64_t contacts_left_out(const struct contacts *c)
{
	return c->left_out;
}
