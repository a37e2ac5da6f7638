/*
 * Fuzz: events of a session that may say anything, in any order, told to all that keeps an account
 * of a session. The bytes are {kind, count, fields}: {number in the kind's row, size or number,
 * bytes}; few letters make few names, so that names, processes and sockets meet again.
 */
#include "replay/changes_text.h"
#include "replay/contacts_text.h"
#include "replay/facts.h"
#include "replay/lanes.h"
#include "replay/redactions.h"
#include "replay/tree.h"
#include "supervisor/record/cleanup.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EVENTS_MOST 3000

struct input {
	const uint8_t *at, *end;
};

static uint8_t next_byte(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

/* One of a few texts, or bytes of the input as they are. */
static struct bytes next_text(struct input *in)
{
	static const char *const texts[] = {
		"/a",	      "/a/b",	   "/b",      "/a/b/c",	 "",
		"4-a",	      "5-b",	   "6-c",     "regular", "deny",
		"args",	      "directory", "NOERROR", "file",	 "[{\"rule\":\"x\"}]",
		"/tmp/x123/y"};
	uint8_t choice = next_byte(in);
	size_t size = choice & 31;
	struct bytes text = {in->at, size};

	if (choice & 128)
		return bytes_of(texts[choice % 16]);
	if (size > (size_t)(in->end - in->at))
		text.size = (size_t)(in->end - in->at);
	in->at += text.size;
	return text;
}

static void put_field(struct event *e, struct input *in, char *packed)
{
	const struct kind_info *kind = &kind_table[e->kind];
	enum event_field field = kind->fields[next_byte(in) % kind->field_count];
	struct bytes text;

	switch (field_table[field].type) {
	case FIELD_TYPE_U64:
		event_put_u64(e, field, next_byte(in) & 128 ? UINT64_MAX : next_byte(in) & 7);
		break;
	case FIELD_TYPE_I64:
		event_put_i64(e, field, -(int64_t)next_byte(in));
		break;
	case FIELD_TYPE_BOOL:
		event_put_bool(e, field, next_byte(in) & 1);
		break;
	case FIELD_TYPE_TEXTS:
	case FIELD_TYPE_MAP:
		text = next_text(in);
		memcpy(packed, text.data, text.size);
		memset(packed + text.size, 0, 2);
		event_put_bytes(e, field, packed, text.size + (next_byte(in) & 1));
		break;
	default:
		text = next_text(in);
		event_put_bytes(e, field, text.data ? text.data : "", text.size);
		break;
	}
}

static void next_event(struct event *e, struct input *in, uint64_t seq, char packed[16][64])
{
	uint8_t count;

	event_init(e, (enum event_kind)(1 + next_byte(in) % (EVENT_KIND_COUNT - 1)), seq * 1000,
		   seq * 1000);
	e->seq = seq;
	count = kind_table[e->kind].field_count ? next_byte(in) % 16 : 0;
	for (uint8_t i = 0; i < count; i++)
		put_field(e, in, packed[i]);
}

static void check_changes(const struct changes *c, const struct actors *a, const struct pen *pen)
{
	struct change *list;
	size_t count;

	if (changes_list(c, &list, &count))
		abort();
	for (size_t i = 0; i < count; i++) {
		if (!list[i].path.data || list[i].outcome == OUTCOME_NONE)
			abort();
		change_write(&list[i], a, pen);
	}
	free(list);
}

static void check_contacts(const struct contacts *c, const struct actors *a, const struct pen *pen)
{
	for (size_t i = 0; i < contacts_count(c); i++) {
		struct contact contact = contacts_get(c, i);

		contact_write(c, &contact, a, pen);
	}
	for (size_t i = 0; i < contacts_name_count(c); i++) {
		struct contact_name name = contacts_name(c, i);

		contact_name_write(&name, a, pen);
	}
}

/* What is normalised is never longer than what it was made from. */
static void check_normal(struct bytes text)
{
	char once[256], twice[256];
	size_t size = normalise(text, once, sizeof(once)), again;

	again = normalise((struct bytes){once, size}, twice, sizeof(twice));
	if (size > sizeof(once) || size > text.size || again > size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};
	struct actors *actors = actors_new();
	struct changes *changes = changes_new();
	struct contacts *contacts = contacts_new();
	struct tree *tree = tree_new();
	struct redactions *redactions;
	struct lanes lanes = {0};
	struct facts *facts;
	struct pen pen = {.out = fopen("/dev/null", "we")};
	const struct view_options options = {.out = pen.out, .errors = pen.out};
	struct view_options asked = options;
	const struct origin origin = {0};
	void *view;

	if (!pen.out || redactions_new(&redactions) || facts_new(&facts))
		abort();
	asked.asked = facts;
	if (view_facts.begin(&asked, &view))
		abort();
	check_normal((struct bytes){data, size < 256 ? size : 256});
	for (uint64_t seq = 1; in.at < in.end && seq < EVENTS_MOST; seq++) {
		char packed[16][64];
		struct event e;

		next_event(&e, &in, seq, packed);
		if (actors_add(actors, &e) || changes_add(changes, actors, &e) ||
		    contacts_add(contacts, actors, &e) || tree_add(tree, &e, seq & 1) ||
		    redactions_add(redactions, &e) || view_facts.event(view, &e, &origin, true))
			abort();
		lanes_add(&lanes, seq << (seq & 31), &e);
	}
	check_changes(changes, actors, &pen);
	check_contacts(contacts, actors, &pen);
	tree_link_roots(tree);
	if (view_facts.end(view, VIEW_ENDED))
		abort();
	view_facts.free(view);
	facts_free(facts);
	actors_free(actors);
	changes_free(changes);
	contacts_free(contacts);
	tree_free(tree);
	redactions_free(redactions);
	fclose(pen.out);
	return 0;
}
