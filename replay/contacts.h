/*
 * Whom a session spoke with: ends of connections, and names. Bounded: what finds no room is
 * counted.
 */
#pragma once

#include "actors.h"

#define CONTACTS_MAX (1 << 16)
#define CONTACT_RESULTS_MAX 4
#define CONTACT_NAMES_MAX 4

enum way {
	WAY_OUT,   /* the session asked for it */
	WAY_IN,	   /* it came to a socket of the session */
	WAY_BOUND, /* an address of the session's own */
	WAY_UNIX,
};

extern const char *const way_names[];

struct contact {
	enum way way;
	struct bytes protocol, address; /* as the record has them; address may be empty */
	bool has_port, is_abstract;
	uint64_t port; /* of the peer; of what came in, the port of the session's own socket */
	uint64_t tries, failed, datagrams, allowed, denied;
	uint64_t sent, received; /* of the sockets that were closed */
	struct {
		int64_t error; /* positive */
		uint64_t count;
	} results[CONTACT_RESULTS_MAX];
	uint64_t other_results;
	uint32_t names[CONTACT_NAMES_MAX]; /* numbers of contact_name */
	uint8_t name_count;
	bool more_names;
	struct actor_set by;
};

/* A name that was asked for, connected to or greeted. */
struct contact_name {
	struct bytes name;
	uint64_t queries, answers, failures, tries, allowed, denied;
	struct bytes answered; /* the last answer's items, packed; cut to what a copy may hold */
	struct actor_set by;
};

struct contacts;

struct contacts *contacts_new(void); /* NULL: out of memory */
void contacts_free(struct contacts *c);

/* Take in @e, after @a has. 0 or -ENOMEM. */
int contacts_add(struct contacts *c, const struct actors *a, const struct event *e);

size_t contacts_count(const struct contacts *c);
struct contact contacts_get(const struct contacts *c, size_t number);
size_t contacts_name_count(const struct contacts *c);
struct contact_name contacts_name(const struct contacts *c, size_t number);
/* Acts with whom is not kept for want of room. */
uint64_t contacts_left_out(const struct contacts *c);
