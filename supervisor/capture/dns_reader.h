/*
 * Reading pieces of a DNS message that nobody vouches for, and writing what was read as text.
 *
 * No read goes past `end`, no name past the message; what fails says why, and what it wrote until
 * then is of no use.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dns_reader {
	const uint8_t *message;
	size_t size; /* of the message, as far as it is here */
	size_t at, end;
	const char *why; /* static: why the last read failed */
};

/* Text of bounded room: what does not fit is counted, not written. Never NUL-terminated. */
struct dns_text {
	char *data;
	size_t room;
	size_t length; /* that it has, or would have */
};

#define DNS_NAME_TEXT_MAX 1024 /* longest name, every byte escaped */

/* 0 or -EBADMSG. Integers are in network order. */
int dns_read_u8(struct dns_reader *r, uint8_t *ret_value);
int dns_read_u16(struct dns_reader *r, uint16_t *ret_value);
int dns_read_u32(struct dns_reader *r, uint32_t *ret_value);
int dns_read_bytes(struct dns_reader *r, size_t size, const uint8_t **ret_bytes);

/*
 * A name, compressed or not (RFC 1035, 4.1.4), as text: labels with dots between them, "." for the
 * root, `\.` and `\\` for those characters inside a label, `\DDD` for what is not printable ASCII
 * or is a space. Pointers lead back only, each further than the one before, so there is no loop.
 */
int dns_read_name(struct dns_reader *r, struct dns_text *text);

/* A string of one length byte, in double quotes and escaped. */
int dns_read_string(struct dns_reader *r, struct dns_text *text);

void dns_put(struct dns_text *text, const char *string);
void dns_put_number(struct dns_text *text, uint32_t value);
void dns_put_hex(struct dns_text *text, const uint8_t *bytes, size_t size);
/* Bytes in double quotes; quotes and backslashes escaped, the rest as in a name. */
void dns_put_quoted(struct dns_text *text, const uint8_t *bytes, size_t size);
/* @size is 4 or 16. */
void dns_put_address(struct dns_text *text, const uint8_t *address, size_t size);
