/*
 * Gathers the facts of a session.
 */
#include "facts.h"
#include "../supervisor/record/text_stream.h"
#include "changes.h"
#include "contacts_text.h"
#include "packages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN_MAX 16	 /* ancestors of a program that are told */
#define ARGUMENTS_MAX 64 /* of a program */
#define ARGUMENT_BYTES_MAX 512

const char *const fact_names[FACT_KIND_COUNT] = {
	[FACT_PROGRAM] = "programs", [FACT_PACKAGE] = "packages", [FACT_FILE] = "files",
	[FACT_PEER] = "hosts",	     [FACT_REFUSAL] = "refusals",
};

struct facts_view {
	struct facts *facts;
	struct actors *actors;
	struct changes *changes;
	struct contacts *contacts;
	char *workspace; /* owned; where it was on the host; NULL: unknown */
	uint64_t end_ns; /* wall clock of the last record */
};

int facts_new(struct facts **ret_facts)
{
	struct facts *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->keys = keymap_new(FACTS_MAX);
	if (!f->keys) {
		free(f);
		return -ENOMEM;
	}
	*ret_facts = f;
	return 0;
}

void facts_free(struct facts *f)
{
	if (!f)
		return;
	keymap_free(f->keys);
	free(f->times);
	free(f);
}

static int add_fact(struct facts *f, struct bytes key, uint64_t times)
{
	size_t number;
	int r = keymap_add(f->keys, key, &number);

	if (r == -ENOSPC) {
		f->left_out++;
		return 0;
	}
	if (r < 0)
		return r;
	if (number >= f->room) {
		size_t room = f->room ? f->room * 2 : 256;
		uint64_t *grown = realloc(f->times, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + f->room, 0, (room - f->room) * sizeof(*grown));
		f->times = grown;
		f->room = room;
	}
	f->times[number] += times;
	if (!f->times[number])
		f->times[number] = 1; /* it is there, and that is all */
	return 0;
}

/* ---- writing a fact: a pen to memory ---- */

struct fact {
	struct pen pen; /* writes to the stream */
	struct text_stream stream;
};

static int fact_begin(struct fact *fact, enum fact_kind kind)
{
	int r = text_stream_begin(&fact->stream);

	if (r < 0)
		return r;
	fact->pen = (struct pen){.out = fact->stream.out};
	fputc('0' + (int)kind, fact->pen.out);
	return 0;
}

static void fact_word(struct fact *fact, struct bytes word)
{
	char text[ARGUMENT_BYTES_MAX];
	size_t size = normalise(word, text, sizeof(text));

	printable_word(fact->pen.out, &fact->pen.printable, (struct bytes){text, size});
}

static int fact_end(struct fact *fact, struct facts *f, uint64_t times)
{
	int r = text_stream_end(&fact->stream);

	if (r == 0)
		r = add_fact(f, (struct bytes){fact->stream.text, fact->stream.size}, times);
	free(fact->stream.text);
	return r;
}

/* ---- the facts ---- */

/* "sh > make > cc -c a.c": the programs above, and this one's arguments. */
static int add_program(struct facts_view *v, const struct event *e)
{
	size_t chain[CHAIN_MAX], depth = 0, number, cursor = 0;
	struct bytes item;
	struct fact fact;
	int r = fact_begin(&fact, FACT_PROGRAM);

	if (r < 0)
		return r;
	if (actors_find(v->actors, event_bytes(e, FIELD_proc), &number) == 0)
		number = actors_get(v->actors, number)->parent;
	else
		number = SIZE_MAX;
	while (number != SIZE_MAX && depth < CHAIN_MAX) {
		chain[depth++] = number;
		number = actors_get(v->actors, number)->parent;
	}
	while (depth--) {
		const struct actor *actor = actors_get(v->actors, chain[depth]);

		if (!actor->program_size)
			continue;
		fact_word(&fact, (struct bytes){actor->program, actor->program_size});
		fputs(" > ", fact.pen.out);
	}
	for (size_t i = 0; bytes_next_item(event_bytes(e, FIELD_argv), &cursor, &item); i++) {
		if (i >= ARGUMENTS_MAX) {
			fputs(" ...", fact.pen.out);
			break;
		}
		fputs(i ? " " : "", fact.pen.out);
		fact_word(&fact, item);
	}
	if (e->kind == EVENT_process_exec_failed) {
		fputs(" (failed: ", fact.pen.out);
		fact_word(&fact, event_bytes(e, FIELD_error));
		fputc(')', fact.pen.out);
	}
	return fact_end(&fact, v->facts, 1);
}

/* "pip requests 2.31.0", "pip requests ==2.31 (asked for)". Versions are what it is about: they
 * stay as they are. A package arrives once, however many records tell of it. */
static int add_package(void *context, const struct package *p)
{
	struct facts_view *v = context;
	struct fact fact;
	int r = fact_begin(&fact, FACT_PACKAGE);

	if (r < 0)
		return r;
	printable_word(fact.pen.out, &fact.pen.printable, p->manager);
	fputc(' ', fact.pen.out);
	printable_word(fact.pen.out, &fact.pen.printable, p->name);
	if (p->version.size) {
		fputc(' ', fact.pen.out);
		printable_word(fact.pen.out, &fact.pen.printable, p->version);
	}
	fputs(p->is_installed ? "" : " (asked for)", fact.pen.out);
	return fact_end(&fact, v->facts, !p->is_installed);
}

static int add_refusal(struct facts_view *v, const struct event *e)
{
	static const uint16_t fields[] = {FIELD_syscall, FIELD_arguments,   FIELD_limit,
					  FIELD_name,	 FIELD_dst_address, FIELD_rule,
					  FIELD_reason};
	struct bytes verdict = event_bytes(e, FIELD_verdict);
	struct fact fact;
	int r;

	if (e->kind == EVENT_egress_verdict &&
	    (verdict.size != 4 || memcmp(verdict.data, "deny", 4) != 0))
		return 0;
	r = fact_begin(&fact, FACT_REFUSAL);
	if (r < 0)
		return r;
	fputs(kind_table[e->kind].name, fact.pen.out);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		const struct event_value *value = event_get(e, fields[i]);

		if (!value)
			continue;
		fputc(' ', fact.pen.out);
		fact_word(&fact, value->bytes);
	}
	return fact_end(&fact, v->facts, 1);
}

/* What was in a file at the end, as the record says; else, of the workspace, what is in it now, if
 * it is still what the session left. */
static void write_content(struct fact *fact, bool is_asked, const struct change *change,
			  const struct left_file *left)
{
	if (change->type == FILE_DIRECTORY || change->type == FILE_SYMLINK ||
	    change->outcome == OUTCOME_DELETED)
		return;
	if (is_asked && change->final && change->final->now.sha256[0]) {
		fprintf(fact->pen.out, " sha256 %s", change->final->now.sha256);
		return;
	}
	if (left->left == LEFT_NOT_ASKED)
		return;
	if (left->left != LEFT_HASHED || left->is_changed_since) {
		fputs(" (content unknown)", fact->pen.out);
		return;
	}
	fputs(" sha256 ", fact->pen.out);
	for (size_t i = 0; i < HASH_SIZE; i++)
		fprintf(fact->pen.out, "%02x", left->hash[i]);
}

static int add_files(struct facts_view *v)
{
	struct change *list = NULL;
	struct left_tree *tree = NULL;
	size_t count = 0;
	int r = changes_list(v->changes, &list, &count);

	if (v->facts->hashes && v->workspace)
		left_tree_open(v->workspace, &tree); /* else nothing is known of contents */
	for (size_t i = 0; r == 0 && i < count; i++) {
		struct fact fact;

		if (list[i].outcome == OUTCOME_TEMPORARY)
			continue;
		r = fact_begin(&fact, FACT_FILE);
		if (r < 0)
			break;
		fprintf(fact.pen.out, "%s ", outcome_names[list[i].outcome]);
		if (list[i].from.data) {
			fact_word(&fact, list[i].from);
			fputs(" -> ", fact.pen.out);
		}
		fact_word(&fact, list[i].path);
		struct left_file left = left_tree_look(tree, list[i].path, v->end_ns);
		write_content(&fact, v->facts->hashes, &list[i], &left);
		r = fact_end(&fact, v->facts, 1);
	}
	left_tree_close(tree);
	free(list);
	v->facts->left_out += changes_left_out(v->changes).no_room;
	return r;
}

/* By name where it has one: the same name may have another address tomorrow. */
static int add_contact(struct facts_view *v, const struct contact *contact)
{
	struct contact plain = *contact;
	struct fact fact;
	int r = fact_begin(&fact, FACT_PEER);

	if (r < 0)
		return r;
	if (contact->name_count && contact->way == WAY_OUT)
		plain.address = contacts_name(v->contacts, contact->names[0]).name;
	if (contact->way == WAY_BOUND && contact->port >= 32768)
		plain.has_port = false; /* the kernel chose it */
	fprintf(fact.pen.out, "%s ", way_names[contact->way]);
	contact_write_end(&plain, &fact.pen);
	fputs(contact->tries && contact->failed == contact->tries ? " (failed)" : "", fact.pen.out);
	return fact_end(&fact, v->facts, contact->tries + contact->datagrams);
}

static int add_contacts(struct facts_view *v)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < contacts_count(v->contacts); i++) {
		struct contact contact = contacts_get(v->contacts, i);

		r = add_contact(v, &contact);
	}
	for (size_t i = 0; r == 0 && i < contacts_name_count(v->contacts); i++) {
		struct contact_name name = contacts_name(v->contacts, i);
		struct fact fact;

		r = fact_begin(&fact, FACT_PEER);
		if (r < 0)
			break;
		fputs("name ", fact.pen.out);
		printable_word(fact.pen.out, &fact.pen.printable, name.name);
		r = fact_end(&fact, v->facts, name.queries + name.tries);
	}
	v->facts->left_out += contacts_left_out(v->contacts);
	return r;
}

/* ---- the view ---- */

static void facts_view_free(void *state)
{
	struct facts_view *v = state;

	actors_free(v->actors);
	changes_free(v->changes);
	contacts_free(v->contacts);
	free(v->workspace);
	free(v);
}

static int facts_begin(const struct view_options *options, void **ret_state)
{
	struct facts_view *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->facts = (struct facts *)options->asked;
	v->actors = actors_new();
	v->changes = changes_new();
	v->contacts = contacts_new();
	if (!v->actors || !v->changes || !v->contacts) {
		facts_view_free(v);
		return -ENOMEM;
	}
	*ret_state = v;
	return 0;
}

static int facts_event(void *state, const struct event *e, const struct origin *origin, bool wanted)
{
	struct facts_view *v = state;
	int r = actors_add(v->actors, e);

	(void)origin;
	v->end_ns = e->time_ns;
	if (e->kind == EVENT_session_start && !v->workspace)
		v->workspace = left_tree_place(e);
	if (e->kind == EVENT_gap)
		v->facts->missing += event_u64(e, FIELD_count, 1);
	if (r == 0 && wanted)
		r = changes_add(v->changes, v->actors, e);
	if (r == 0 && wanted)
		r = contacts_add(v->contacts, v->actors, e);
	if (r == 0 && wanted)
		r = packages_in(e, add_package, v);
	if (r < 0 || !wanted)
		return r;
	switch (e->kind) {
	case EVENT_process_exec:
	case EVENT_process_exec_failed:
		return add_program(v, e);
	case EVENT_attempt:
	case EVENT_limit:
	case EVENT_egress_verdict:
		return add_refusal(v, e);
	default:
		return 0;
	}
}

static void facts_damage(void *state, const struct reader_damage *damage)
{
	struct facts_view *v = state;

	(void)damage;
	v->facts->damages++;
}

static int facts_end(void *state, enum view_end how)
{
	struct facts_view *v = state;
	int r = add_files(v);

	v->facts->ended = how == VIEW_ENDED;
	return r < 0 ? r : add_contacts(v);
}

const struct view view_facts = {
	.begin = facts_begin,
	.event = facts_event,
	.damage = facts_damage,
	.end = facts_end,
	.free = facts_view_free,
};
