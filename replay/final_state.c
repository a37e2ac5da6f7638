/*
 * A record may come from anywhere: words that are not ours are no words. See final_state.h.
 */
#include "final_state.h"

#include "../supervisor/record/jansson_cleanup.h"

#include <string.h>

static const char *const changes[] = {"created", "modified",   "replaced",
				      "deleted", "attributes", "none"};
static const char *const reasons[] = {"off", "too_large", "bytes", "time", "secret", "unreadable"};

static const char *word_of(const struct event *e, enum event_field field, const char *const *words,
			   size_t count)
{
	struct bytes text = event_bytes(e, field);

	for (size_t i = 0; i < count; i++)
		if (text.size == strlen(words[i]) && !memcmp(text.data, words[i], text.size))
			return words[i];
	return NULL;
}

static void read_hash(const struct event *e, enum event_field field, char hex[FINAL_HEX])
{
	struct bytes text = event_bytes(e, field);

	hex[0] = '\0';
	if (text.size != FINAL_HEX - 1)
		return;
	memcpy(hex, text.data, text.size);
	hex[FINAL_HEX - 1] = '\0';
	if (strspn(hex, "0123456789abcdef") != FINAL_HEX - 1)
		hex[0] = '\0';
}

bool final_state_read(const struct event *e, struct final_state *ret_state)
{
	struct final_state s = {0};

	if (e->kind != EVENT_file_final)
		return false;
	s.change = word_of(e, FIELD_change, changes, sizeof(changes) / sizeof(changes[0]));
	s.now.has_size = event_get(e, FIELD_size) != NULL;
	s.now.size = event_u64(e, FIELD_size, 0);
	s.before.has_size = event_get(e, FIELD_size_before) != NULL;
	s.before.size = event_u64(e, FIELD_size_before, 0);
	read_hash(e, FIELD_sha256, s.now.sha256);
	read_hash(e, FIELD_sha256_before, s.before.sha256);
	s.now.unhashed = word_of(e, FIELD_unhashed, reasons, sizeof(reasons) / sizeof(reasons[0]));
	s.before.unhashed =
		word_of(e, FIELD_unhashed_before, reasons, sizeof(reasons) / sizeof(reasons[0]));
	s.is_judged = event_get(e, FIELD_explained) != NULL;
	s.is_unexplained = !event_u64(e, FIELD_explained, 1);
	*ret_state = s;
	return true;
}

static void write_version(const struct final_version *v, const char *before, const struct pen *pen)
{
	if (v->sha256[0])
		fprintf(pen->out, "%s%s", before, v->sha256);
	else if (v->unhashed)
		fprintf(pen->out, "%sunknown: %s", before, v->unhashed);
}

void final_state_write(const struct final_state *s, const struct pen *pen)
{
	bool has_now = s->now.sha256[0] || s->now.unhashed;

	write_version(&s->now, "  sha256 ", pen);
	write_version(&s->before, has_now ? ", was " : "  sha256 was ", pen);
	if (!s->is_unexplained)
		return;
	pen_style(pen, STYLE_LOUD);
	fputs("  (no record explains it)", pen->out);
	pen_style(pen, STYLE_PLAIN);
}

static void write_version_json(const struct final_version *v, struct document *d, const char *size,
			       const char *sha256, const char *unhashed)
{
	if (v->has_size)
		document_u64(d, size, v->size);
	if (v->sha256[0])
		document_string(d, sha256, v->sha256);
	if (v->unhashed)
		document_string(d, unhashed, v->unhashed);
}

void final_state_write_json(const struct final_state *s, struct document *d)
{
	document_open(d, "final", '{');
	if (s->change)
		document_string(d, "change", s->change);
	write_version_json(&s->now, d, "size", "sha256", "unhashed");
	write_version_json(&s->before, d, "size_before", "sha256_before", "unhashed_before");
	document_bool(d, "explained", !s->is_unexplained);
	document_close(d, '{');
}

bool final_unexplained_of(const struct event *end, uint64_t *ret_count, uint64_t *ret_by_loss)
{
	struct bytes text = event_bytes(end, FIELD_unexplained);
	cleanup(json) json_t *value =
		text.size ? json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES, NULL) : NULL;
	json_int_t count = json_integer_value(json_object_get(value, "count"));
	json_int_t by_loss = json_integer_value(json_object_get(value, "by_loss"));

	if (!json_is_object(value))
		return false;
	*ret_count = count > 0 ? (uint64_t)count : 0;
	*ret_by_loss = by_loss > 0 ? (uint64_t)by_loss : 0;
	return true;
}
