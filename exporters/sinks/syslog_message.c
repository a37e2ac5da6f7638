/*
 * <PRI>1 TIME HOST vitrine - KIND [vitrine session seq] LINE
 */
#include "syslog_message.h"

#include "../project/trait.h"

#include "../../supervisor/record/hash.h"
#include "../../supervisor/record/json_put.h"
#include "../../supervisor/record/printable.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#define HOST_MAX 255

/* The header allows printable ASCII without blanks only. */
static void put_host(struct json_buffer *out, const char *host)
{
	size_t length = 0;

	for (; *host && length < HOST_MAX; host++, length++) {
		char c = *host > 0x20 && *host < 0x7f ? *host : '_';

		json_put(out, &c, 1);
	}
	if (!length)
		json_put_literal(out, "-");
}

static unsigned priority_of(const struct syslog_form *form, const struct event *e)
{
	static const unsigned levels[SEVERITY_COUNT] = {6, 5, 4, 3};

	return form->facility * 8 + levels[trait_severity(e)];
}

static void put_time(struct json_buffer *out, uint64_t time_ns, bool is_old)
{
	static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
					   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	time_t seconds = (time_t)(time_ns / 1000000000);
	char text[40];
	struct tm tm;
	int length;

	gmtime_r(&seconds, &tm);
	if (is_old)
		length = snprintf(text, sizeof(text), "%s %2d %02d:%02d:%02d", months[tm.tm_mon],
				  tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
	else
		length = snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%06uZ",
				  tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
				  tm.tm_min, tm.tm_sec, (unsigned)(time_ns % 1000000000 / 1000));
	json_put(out, text, (size_t)length);
}

static void put_head(const struct syslog_form *form, const struct projected *p,
		     struct json_buffer *out)
{
	char text[160];
	int length = snprintf(text, sizeof(text), form->is_old ? "<%u>" : "<%u>1 ",
			      priority_of(form, p->event));

	json_put(out, text, (size_t)length);
	put_time(out, p->event->time_ns, form->is_old);
	json_put_literal(out, " ");
	put_host(out, p->facts->host);
	if (form->is_old)
		length = snprintf(text, sizeof(text), " vitrine: ");
	else
		length = snprintf(text, sizeof(text),
				  " vitrine - %.32s [vitrine@32473 session=\"%.32s\" seq=\"%" PRIu64
				  "\"] ",
				  kind_table[p->event->kind].name, p->session, p->event->seq);
	json_put(out, text, (size_t)length);
}

/* The record is named, and what is missing of it told. Always shorter than 480 bytes less a head.
 */
static void put_cut(const struct syslog_form *form, const struct projected *p, struct bytes line,
		    struct json_buffer *out)
{
	uint8_t digest[EVENT_DIGEST_SIZE];

	json_put_literal(out, "{\"session\":");
	json_put_string(out, bytes_of(p->session));
	json_put_literal(out, ",\"seq\":");
	json_put_u64(out, p->event->seq);
	json_put_literal(out, ",\"kind\":");
	json_put_string(out, bytes_of(kind_table[p->event->kind].name));
	json_put_literal(out, ",\"truncated\":true,\"length\":");
	json_put_u64(out, line.size);
	if (form->key && form->key->size) {
		hash_keyed((struct bytes){form->key->bytes, form->key->size}, line, digest);
		json_put_literal(out, ",\"digest\":");
		json_put_hex(out, digest, sizeof(digest));
	}
	json_put_literal(out, ",\"head\":\"");
}

/* As much of the beginning of @line as leaves the message @max bytes, and its end. */
static void put_beginning(struct bytes line, size_t start, size_t max, struct json_buffer *out)
{
	static const char end[] = "\"}";

	for (size_t cursor = 0; cursor < line.size;) {
		size_t before = out->length;

		json_put_code(out, utf8_next(line, &cursor));
		if (out->length - start + sizeof(end) - 1 > max) {
			out->length = before;
			break;
		}
	}
	json_put_literal(out, "\"}");
}

/* RFC 6587: the number of octets, a blank, the octets. */
static int count_octets(struct json_buffer *out, size_t start)
{
	char count[24];
	int digits = snprintf(count, sizeof(count), "%zu ", out->length - start);
	int r = json_write_raw(out, count, (size_t)digits);

	if (r < 0)
		return r;
	memmove(out->text + start + digits, out->text + start, out->length - start - digits);
	memcpy(out->text + start, count, (size_t)digits);
	return 0;
}

int syslog_message(const struct syslog_form *form, const struct projected *p, struct bytes line,
		   struct json_buffer *out)
{
	size_t start = out->length;
	int r;

	put_head(form, p, out);
	if (out->length - start + line.size <= form->max_bytes) {
		json_put(out, line.data, line.size);
	} else {
		put_cut(form, p, line, out);
		put_beginning(line, start, form->max_bytes, out);
	}
	r = json_done(out, start);
	return r < 0 || !form->is_counted ? r : count_octets(out, start);
}
