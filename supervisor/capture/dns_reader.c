/* Pieces of a DNS message, read with every length checked. */
#include "dns_reader.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_WIRE 255
#define LABEL_MAX 63
#define JUMPS_MAX 127 /* as many as a name can have labels */

static int refuse(struct dns_reader *r, const char *why)
{
	r->why = why;
	return -EBADMSG;
}

int dns_read_bytes(struct dns_reader *r, size_t size, const uint8_t **ret_bytes)
{
	if (size > r->end - r->at)
		return refuse(r, "runs past the end");
	*ret_bytes = r->message + r->at;
	r->at += size;
	return 0;
}

int dns_read_u8(struct dns_reader *r, uint8_t *ret_value)
{
	const uint8_t *b;
	int e = dns_read_bytes(r, 1, &b);
	if (e < 0)
		return e;

	*ret_value = b[0];
	return 0;
}

int dns_read_u16(struct dns_reader *r, uint16_t *ret_value)
{
	const uint8_t *b;
	int e = dns_read_bytes(r, 2, &b);
	if (e < 0)
		return e;

	*ret_value = (uint16_t)(b[0] << 8 | b[1]);
	return 0;
}

int dns_read_u32(struct dns_reader *r, uint32_t *ret_value)
{
	const uint8_t *b;
	int e = dns_read_bytes(r, 4, &b);
	if (e < 0)
		return e;

	*ret_value = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
	return 0;
}

/* ---- text ---- */

static void put_char(struct dns_text *text, char c)
{
	if (text->length < text->room)
		text->data[text->length] = c;
	text->length++;
}

void dns_put(struct dns_text *text, const char *string)
{
	while (*string)
		put_char(text, *string++);
}

void dns_put_number(struct dns_text *text, uint32_t value)
{
	char digits[16];

	snprintf(digits, sizeof(digits), "%u", value);
	dns_put(text, digits);
}

void dns_put_hex(struct dns_text *text, const uint8_t *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size; i++) {
		put_char(text, digits[bytes[i] >> 4]);
		put_char(text, digits[bytes[i] & 15]);
	}
}

static void put_escaped(struct dns_text *text, uint8_t byte, const char *special)
{
	if (byte < ' ' || byte > '~' || (byte == ' ' && !strchr(special, '"'))) {
		put_char(text, '\\');
		put_char(text, (char)('0' + byte / 100));
		put_char(text, (char)('0' + byte / 10 % 10));
		put_char(text, (char)('0' + byte % 10));
		return;
	}
	if (strchr(special, byte))
		put_char(text, '\\');
	put_char(text, (char)byte);
}

void dns_put_quoted(struct dns_text *text, const uint8_t *bytes, size_t size)
{
	put_char(text, '"');
	for (size_t i = 0; i < size; i++)
		put_escaped(text, bytes[i], "\"\\");
	put_char(text, '"');
}

void dns_put_address(struct dns_text *text, const uint8_t *address, size_t size)
{
	char shown[INET6_ADDRSTRLEN];

	if (inet_ntop(size == 4 ? AF_INET : AF_INET6, address, shown, sizeof(shown)))
		dns_put(text, shown);
}

int dns_read_string(struct dns_reader *r, struct dns_text *text)
{
	const uint8_t *bytes;
	uint8_t size;
	int e = dns_read_u8(r, &size);
	if (e == 0)
		e = dns_read_bytes(r, size, &bytes);
	if (e < 0)
		return e;

	dns_put_quoted(text, bytes, size);
	return 0;
}

/* ---- names ---- */

/* A name on its way: it may jump, `r` goes on behind its first pointer. */
struct name_walk {
	size_t at, end;
	size_t lowest; /* the next pointer has to lead below */
	size_t wire_size;
	unsigned int jumps;
};

static int follow_pointer(struct dns_reader *r, struct name_walk *w, uint8_t high)
{
	if (w->at + 2 > w->end)
		return refuse(r, "name runs past the end");
	size_t target = (size_t)(high & LABEL_MAX) << 8 | r->message[w->at + 1];
	if (target >= w->lowest)
		return refuse(r, "name's pointer does not lead back");
	if (w->jumps == JUMPS_MAX)
		return refuse(r, "name has too many pointers");
	if (w->jumps++ == 0)
		r->at = w->at + 2;
	w->at = w->lowest = target;
	w->end = r->size;
	return 0;
}

static int take_label(struct dns_reader *r, struct name_walk *w, uint8_t length,
		      struct dns_text *text)
{
	if (w->at + 1 + length > w->end)
		return refuse(r, "name runs past the end");
	w->wire_size += 1 + (size_t)length;
	if (w->wire_size > NAME_MAX_WIRE)
		return refuse(r, "name is longer than 255 bytes");
	if (w->wire_size > 1 + (size_t)length && length > 0)
		put_char(text, '.');
	for (size_t i = 0; i < length; i++)
		put_escaped(text, r->message[w->at + 1 + i], ".\\");
	w->at += 1 + (size_t)length;
	return 0;
}

int dns_read_name(struct dns_reader *r, struct dns_text *text)
{
	struct name_walk w = {.at = r->at, .end = r->end, .lowest = r->at};

	for (;;) {
		if (w.at >= w.end)
			return refuse(r, "name runs past the end");
		uint8_t length = r->message[w.at];
		int e;

		if (length > LABEL_MAX && (length & 0xc0) != 0xc0)
			return refuse(r, "name has a label of unknown kind");
		if (length > LABEL_MAX)
			e = follow_pointer(r, &w, length);
		else
			e = take_label(r, &w, length, text);
		if (e < 0)
			return e;
		if (length == 0)
			break;
	}
	if (w.wire_size == 1)
		put_char(text, '.');
	if (w.jumps == 0)
		r->at = w.at;
	return 0;
}
