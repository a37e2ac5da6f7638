/*
 * Finds an event in an answer, and holds it against the record.
 */
#include "elsewhere.h"

#include "../exporters/project/hide.h"
#include "../exporters/project/projection.h"
#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/jansson_cleanup.h"
#include "../supervisor/record/json.h"
#include "file_text.h"
#include "returned.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#define FILE_MOST (256u << 20)
#define WRAPPINGS_MOST 4
#define UID_SIZE 64
#define CEF_VERSION "3" /* part of its head, see returned.h */

/* ---- finding ---- */

/* A line, as JSON or as CEF. */
static json_t *parsed(const char *text, size_t size)
{
	json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);

	return object ? object : returned_cef(text, size);
}

/* A new reference to what the wrapping of a search holds. */
static json_t *unwrapped(json_t *object)
{
	static const char *const wrappings[] = {"_source", "result", "event"};
	json_t *raw;

	json_incref(object);
	for (size_t level = 0; level < WRAPPINGS_MOST; level++) {
		json_t *inner = NULL;

		for (size_t i = 0; !inner && i < sizeof(wrappings) / sizeof(wrappings[0]); i++)
			inner = json_object_get(object, wrappings[i]);
		/* ECS has an object "event" of its own. */
		if (!json_is_object(inner) || json_object_get(object, "@timestamp"))
			break;
		json_incref(inner);
		json_decref(object);
		object = inner;
	}
	raw = json_object_get(object, "_raw");
	if (json_is_string(raw)) {
		json_t *inner = parsed(json_string_value(raw), json_string_length(raw));

		json_decref(object);
		object = inner;
	}
	return object;
}

static const char *text_at(const json_t *object, const char *first, const char *second)
{
	return json_string_value(json_object_get(json_object_get(object, first), second));
}

static bool is_event(const json_t *o, const char *session, uint64_t seq)
{
	const char *of = json_string_value(json_object_get(o, "session"));
	const json_t *attributes = json_object_get(o, "attributes");
	const char *uid = text_at(o, "metadata", "uid") ?: text_at(o, "event", "id");
	char wanted[UID_SIZE];

	if (!uid)
		uid = json_string_value(json_object_get(o, "externalId"))
			      ? json_string_value(json_object_get(o, "externalId"))
			      : text_at(attributes, "log.record.uid", "stringValue");

	snprintf(wanted, sizeof(wanted), "%s-%" PRIu64, session, seq);
	if (uid)
		return !strcmp(uid, wanted);
	return of && !strcmp(of, session) &&
	       json_integer_value(json_object_get(o, "seq")) == (json_int_t)seq;
}

struct finding;
static void take_object(struct finding *f, json_t *object);

struct finding {
	const char *session;
	uint64_t seq;
	size_t count;	       /* objects that were seen */
	json_t *first, *found; /* owned */
};

/* {"resourceLogs": [{"scopeLogs": [{"logRecords": [...]}]}]} */
static void take_otlp(struct finding *f, const json_t *resources)
{
	size_t i, j, k;
	json_t *resource, *scope, *record;

	json_array_foreach (resources, i, resource)
		json_array_foreach (json_object_get(resource, "scopeLogs"), j, scope)
			json_array_foreach (json_object_get(scope, "logRecords"), k, record)
				take_object(f, record);
}

static void take_object(struct finding *f, json_t *object)
{
	json_t *inner = json_is_object(object) ? unwrapped(object) : NULL;
	json_t *resources = json_object_get(inner, "resourceLogs");

	if (resources) {
		take_otlp(f, resources);
		json_decref(inner);
		return;
	}
	if (json_is_object(inner) && json_is_object(json_object_get(inner, "body"))) {
		json_t *record = returned_otlp(inner);

		json_decref(inner);
		inner = record;
	}
	if (!json_is_object(inner)) {
		json_decref(inner);
		return;
	}
	f->count++;
	if (!f->found && is_event(inner, f->session, f->seq))
		f->found = json_incref(inner);
	if (f->first)
		json_decref(inner);
	else
		f->first = inner;
}

/* Elasticsearch's answer: {"hits": {"hits": [...]}}. */
static void take_whole(struct finding *f, json_t *whole)
{
	json_t *list = json_object_get(json_object_get(whole, "hits"), "hits");
	size_t i;
	json_t *one;

	if (!list && json_is_array(whole))
		list = whole;
	if (!list)
		take_object(f, whole);
	json_array_foreach (list, i, one)
		take_object(f, one);
}

static void take_lines(struct finding *f, struct bytes text)
{
	for (size_t at = 0; at < text.size;) {
		const char *begin = (const char *)text.data + at;
		const char *end = memchr(begin, '\n', text.size - at);
		size_t length = end ? (size_t)(end - begin) : text.size - at;
		json_t *one = parsed(begin, length);

		take_object(f, one);
		json_decref(one);
		at += length + 1;
	}
}

int elsewhere_read(const char *file, const char *session, uint64_t seq, json_t **ret_event)
{
	struct finding f = {.session = session, .seq = seq};
	cleanup(free) char *text = NULL;
	cleanup(json) json_t *whole = NULL;
	size_t size;
	int r = file_read(AT_FDCWD, file, FILE_MOST, &text, &size);

	if (r)
		return r;
	whole = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	if (whole)
		take_whole(&f, whole);
	else
		take_lines(&f, (struct bytes){text, size});
	if (f.found)
		*ret_event = json_incref(f.found);
	else if (f.count == 1)
		*ret_event = json_incref(f.first);
	else
		r = f.count ? -ENODATA : -EBADMSG;
	json_decref(f.found);
	json_decref(f.first);
	return r;
}

/* ---- holding against the record ---- */

/* Everything in @own is in @told, with the same value. */
static bool holds(const json_t *told, const json_t *own)
{
	const char *key;
	json_t *value;

	if (!json_is_object(own) || !json_is_object(told))
		return json_equal(told, own);
	json_object_foreach ((json_t *)own, key, value)
		if (!holds(json_object_get(told, key), value))
			return false;
	return true;
}

static json_t *first_of(const json_t *object, const char *list)
{
	return json_array_get(json_object_get(object, list), 0);
}

static json_t *projected(const struct projection *projection, const char *session,
			 const struct event *e)
{
	static const struct session_facts no_facts;
	struct json_buffer line = {0}, scratch = {0};
	struct projected p = {session, &no_facts, e, &scratch};
	json_t *object = NULL;

	if (!projection->write(&line, &p))
		object = parsed(line.text, line.length);
	if (json_object_get(object, "resourceLogs")) {
		json_t *record = returned_otlp(first_of(
			first_of(first_of(object, "resourceLogs"), "scopeLogs"), "logRecords"));

		json_decref(object);
		object = record;
	}
	json_buffer_free(&line);
	json_buffer_free(&scratch);
	return object;
}

/*
 * Exporters leave out what streams held, unless they are told not to: then the record is made so
 * too. The digest that they put there is under the host's key, which a verifier has not.
 */
static void hide_as_told(struct event *e, json_t *canonical)
{
	static const struct hide_key no_key;
	const struct event_value *data = event_get(e, FIELD_data);

	if (!data || data->is_cut || !json_is_true(json_object_get(canonical, "data_truncated")))
		return;
	hide_data(e, &no_key);
	json_object_del(canonical, "data_digest");
}

bool elsewhere_matches(const json_t *told, const char *session, const struct event *e)
{
	static const struct {
		const char *mark; /* a member that only this form has */
		const char *own;  /* our object; NULL: all of it is ours */
		const struct projection *projection;
	} forms[] = {
		{"class_uid", "unmapped", &projection_ocsf}, {"ecs", "vitrine", &projection_ecs},
		{"timeUnixNano", "body", &projection_otlp},  {"cs6Label", "cs6", &projection_cef},
		{"kind", NULL, &projection_jsonl},
	};
	cleanup(json) json_t *copy = json_deep_copy(told);
	struct event shown = *e;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		json_t *ours;
		cleanup(json) json_t *own = NULL;

		if (!json_object_get(copy, forms[i].mark))
			continue;
		ours = forms[i].own ? json_object_get(copy, forms[i].own) : copy;
		hide_as_told(&shown, ours);
		own = projected(forms[i].projection, session, &shown);
		/* What session.start said is not in the record of another event. */
		json_object_del(own, CEF_VERSION);
		return own && holds(copy, own) &&
		       json_equal(ours, forms[i].own ? json_object_get(own, forms[i].own) : own);
	}
	return false;
}
