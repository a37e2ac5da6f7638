/* A DNS message: head, question, answers; the other sections are only checked. */
#include "dns.h"

#include "dns_value.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FLAG_ANSWER 0x8000
#define FLAG_TRUNCATED 0x0200
#define RCODE_MASK 0x000f
#define CLASS_IN 1

struct section {
	const char *name;
	uint16_t count;
};

struct parse {
	struct dns_reader reader;
	struct dns_message *message;
	struct dns_text answers;
	bool answers_full;
	bool is_cut; /* there is more of the message than is here */
};

/* Say what is wrong, unless something is already, or is only missing. */
static int __attribute__((format(printf, 2, 3))) refuse(struct parse *p, const char *format, ...)
{
	va_list arguments;

	if (p->message->malformed[0] == 0) {
		va_start(arguments, format);
		vsnprintf(p->message->malformed, DNS_WHY_MAX, format, arguments);
		va_end(arguments);
	}
	return -EBADMSG;
}

/* A read failed. Where the end of the message is not here, or the server itself cut it, that is no
 * fault. */
static int refuse_read(struct parse *p, const char *what, unsigned int number)
{
	if (p->is_cut) {
		p->message->is_cut = true;
		return -EBADMSG;
	}
	if (p->message->is_truncated && p->message->is_answer)
		return -EBADMSG;
	return refuse(p, "%s %u: %s", what, number, p->reader.why);
}

/* ---- question ---- */

static int read_question(struct parse *p, unsigned int number)
{
	struct dns_message *m = p->message;
	struct dns_text name = {.data = m->name, .room = sizeof(m->name)};
	struct dns_text other = {.room = 0};
	uint16_t type = 0, class = 0;
	int e = dns_read_name(&p->reader, number == 1 ? &name : &other);
	if (e == 0 && number == 1)
		m->name_length = name.length;
	if (e == 0)
		e = dns_read_u16(&p->reader, &type);
	if (e == 0)
		e = dns_read_u16(&p->reader, &class);
	if (e < 0)
		return refuse_read(p, "question", number);

	if (number == 1) {
		m->has_question = true;
		m->type = type;
	}
	return 0;
}

static int read_questions(struct parse *p, uint16_t count)
{
	int e = 0;

	for (unsigned int i = 1; e == 0 && i <= count; i++)
		e = read_question(p, i);
	if (e == 0 && count > 1)
		refuse(p, "%u questions", count);
	if (e == 0 && count == 0 && !p->message->is_answer)
		refuse(p, "no question");
	return e;
}

/* ---- records ---- */

struct record {
	uint16_t type, class;
	uint32_t ttl;
	struct dns_reader value;
};

static int read_record(struct parse *p, struct record *ret_record)
{
	struct dns_text owner = {.room = 0};
	struct dns_reader *r = &p->reader;
	const uint8_t *value;
	uint16_t size = 0;

	int e = dns_read_name(r, &owner);
	if (e == 0)
		e = dns_read_u16(r, &ret_record->type);
	if (e == 0)
		e = dns_read_u16(r, &ret_record->class);
	if (e == 0)
		e = dns_read_u32(r, &ret_record->ttl);
	if (e == 0)
		e = dns_read_u16(r, &size);
	if (e == 0)
		e = dns_read_bytes(r, size, &value);
	if (e < 0)
		return e;
	ret_record->value = *r;
	ret_record->value.at = r->at - size;
	ret_record->value.end = r->at;
	return 0;
}

static void keep_address(struct dns_message *m, const struct record *record)
{
	size_t size = record->value.end - record->value.at;

	if (record->class != CLASS_IN || m->address_count == DNS_ADDRESSES_MAX)
		return;
	if (!(record->type == DNS_TYPE_A && size == 4) &&
	    !(record->type == DNS_TYPE_AAAA && size == 16))
		return;
	struct dns_address *address = &m->addresses[m->address_count++];
	memcpy(address->bytes, record->value.message + record->value.at, size);
	address->size = (uint8_t)size;
}

/* An answer that does not fit is left out whole, and with it all that follow. */
static void write_answer(struct parse *p, struct record *record, unsigned int number)
{
	struct dns_text *text = &p->answers;
	size_t before = text->length;

	keep_address(p->message, record);
	dns_put_type(text, record->type);
	dns_put(text, " ");
	if (dns_put_value(&record->value, record->type, text) < 0)
		refuse(p, "answer %u: its value is not what its type says", number);
	if (text->length < text->room)
		text->data[text->length] = 0;
	text->length++;
	if (text->length > text->room)
		p->answers_full = true;
	if (!p->answers_full)
		p->message->answers.size = text->length;
	p->message->answers_size += text->length - before;
}

static int read_section(struct parse *p, const struct section *section, bool is_answers)
{
	struct record record = {0};

	for (unsigned int i = 1; i <= section->count; i++) {
		if (read_record(p, &record) < 0)
			return refuse_read(p, section->name, i);
		if (is_answers)
			write_answer(p, &record, i);
		else if (record.type == DNS_TYPE_OPT)
			p->message->rcode |= (uint16_t)(record.ttl >> 24) << 4;
	}
	return 0;
}

/* ---- the whole ---- */

static int read_head(struct parse *p, uint16_t *ret_questions, struct section sections[3])
{
	struct dns_reader *r = &p->reader;
	uint16_t flags = 0;
	int e = dns_read_u16(r, &p->message->id);
	if (e == 0)
		e = dns_read_u16(r, &flags);
	if (e == 0)
		e = dns_read_u16(r, ret_questions);
	for (int i = 0; e == 0 && i < 3; i++)
		e = dns_read_u16(r, &sections[i].count);
	if (e < 0)
		return refuse(p, "%zu bytes, shorter than a head", r->size);

	p->message->has_head = true;
	p->message->is_answer = flags & FLAG_ANSWER;
	p->message->is_truncated = flags & FLAG_TRUNCATED;
	p->message->rcode = flags & RCODE_MASK;
	return 0;
}

static int read_all(struct parse *p, size_t full_size)
{
	struct section sections[3] = {{"answer", 0}, {"authority", 0}, {"additional", 0}};
	struct dns_reader *r = &p->reader;
	uint16_t questions = 0;

	int e = read_head(p, &questions, sections);
	if (e == 0)
		e = read_questions(p, questions);
	for (int i = 0; e == 0 && i < 3; i++)
		e = read_section(p, &sections[i], i == 0);
	if (e < 0)
		return e;
	if (r->at < full_size)
		refuse(p, "%zu bytes behind its end", full_size - r->at);
	return 0;
}

int dns_parse(const void *data, size_t size, size_t full_size, char *room, size_t room_size,
	      struct dns_message *ret_message)
{
	struct parse p = {
		.reader = {.message = data, .size = size, .end = size, .why = ""},
		.message = ret_message,
		.answers = {.data = room, .room = room_size},
		.is_cut = size < full_size,
	};

	memset(ret_message, 0, sizeof(*ret_message));
	ret_message->answers.data = room;
	read_all(&p, full_size);
	return ret_message->malformed[0] ? -EBADMSG : 0;
}
