/*
 * A DNS message (RFC 1035 and what grew on it) as the session's programs and their servers made it:
 * hostile, of any shape. What can be read is, and what is wrong with the rest is said.
 */
#pragma once

#include "../record/event.h"
#include "dns_reader.h"

#define DNS_ADDRESSES_MAX 64
#define DNS_WHY_MAX 96

struct dns_address {
	uint8_t bytes[16];
	uint8_t size; /* 4 or 16 */
};

struct dns_message {
	bool has_head;
	uint16_t id;
	bool is_answer;
	bool is_truncated; /* it says so itself (TC) */
	uint16_t rcode;	   /* with the upper bits of EDNS */

	bool has_question; /* the first one, if there are more */
	char name[DNS_NAME_TEXT_MAX];
	size_t name_length;
	uint16_t type;

	struct bytes answers;  /* "TYPE value", each closed by a NUL; as many as found room */
	uint64_t answers_size; /* of all of them */
	bool is_cut;	       /* the rest of the message is not here */

	struct dns_address addresses[DNS_ADDRESSES_MAX]; /* of the answers, for what was asked */
	size_t address_count;

	char malformed[DNS_WHY_MAX]; /* empty: nothing is wrong */
};

/*
 * Read @size bytes at @data, the beginning of a message of @full_size bytes. Answers are written to
 * @room. All of @ret_message is set. Returns 0, or -EBADMSG when `malformed` says something.
 */
int dns_parse(const void *data, size_t size, size_t full_size, char *room, size_t room_size,
	      struct dns_message *ret_message);
