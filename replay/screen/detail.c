/*
 * Rows of values.
 */
#include "detail.h"

#include "paint.h"

#include "../units.h"

#include "../../supervisor/record/attack.h"
#include "../../supervisor/record/text_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX 200 /* of one array */
#define TEXT_MAX 4096 /* bytes of one value */
#define TERM_MAX 200  /* bytes of a value that a term looks for; then a * stands */
#define LABEL_COLUMNS 16

void detail_clear(struct detail *d)
{
	for (size_t i = 0; i < d->count; i++) {
		free(d->rows[i].text);
		free(d->rows[i].term);
	}
	free(d->rows);
	*d = (struct detail){0};
}

char *term_for(const char *field, struct bytes value)
{
	const char *data = value.data, *nul = value.size ? memchr(data, 0, value.size) : NULL;
	size_t size = nul ? (size_t)(nul - data) : value.size;
	bool is_cut = nul || size > TERM_MAX;
	struct text_stream term;

	if (text_stream_begin(&term) < 0)
		return NULL;
	size = size > TERM_MAX ? TERM_MAX : size;
	fprintf(term.out, "%s:\"", field);
	for (size_t i = 0; i < size; i++) {
		if (data[i] == '"' || data[i] == '\\')
			fputc('\\', term.out);
		fputc(data[i], term.out);
	}
	fputs(is_cut ? "\"*" : "\"", term.out);
	return text_stream_end(&term) < 0 ? NULL : term.text;
}

static char *number_term(const char *field, const char *digits)
{
	char *term;

	return asprintf(&term, "%s:%s", field, digits) < 0 ? NULL : term;
}

static int add_row(struct detail *d, const char *label, struct bytes text, const char *term)
{
	struct detail_row row = {.label = label};

	if (d->count == d->room) {
		size_t room = d->room ? d->room * 2 : 32;
		struct detail_row *larger = reallocarray(d->rows, room, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		d->rows = larger;
		d->room = room;
	}
	row.text = strndup(text.size ? text.data : "", text.size);
	row.term = term ? strdup(term) : NULL;
	if (!row.text || (term && !row.term)) {
		free(row.text);
		free(row.term);
		return -ENOMEM;
	}
	d->rows[d->count++] = row;
	return 0;
}

/* A value in as many rows as it needs. @term is given away. */
static int add(struct detail *d, const char *label, struct bytes text, char *term)
{
	int width = d->width - LABEL_COLUMNS, r = 0;

	do {
		size_t size = paint_fitting(text, width > 8 ? width : 8);

		r = add_row(d, label, (struct bytes){text.data, size}, term);
		text.data = (const char *)text.data + size;
		text.size -= size;
		label = "";
	} while (r == 0 && text.size);
	free(term);
	return r;
}

static struct bytes shown(struct message *m, struct bytes value)
{
	struct bytes cut = {value.data, value.size < TEXT_MAX ? value.size : TEXT_MAX};

	return message_text(m, cut);
}

static int add_texts(struct detail *d, struct message *m, const char *label, const char *field,
		     struct bytes packed)
{
	size_t cursor = 0, count = 0;
	struct bytes item;
	char more[48];
	int r = 0;

	while (r == 0 && count < ITEMS_MAX && bytes_next_item(packed, &cursor, &item)) {
		r = add(d, count ? "" : label, shown(m, item), term_for(field, item));
		count++;
	}
	while (r == 0 && bytes_next_item(packed, &cursor, &item))
		count++;
	snprintf(more, sizeof(more), "[+%zu more]", count - ITEMS_MAX);
	return r == 0 && count > ITEMS_MAX ? add(d, "", bytes_of(more), NULL) : r;
}

static int add_map(struct detail *d, struct message *m, const char *label, const char *field,
		   struct bytes packed)
{
	size_t cursor = 0, count = 0;
	struct bytes key, value;
	int r = 0;

	while (r == 0 && count < ITEMS_MAX && bytes_next_item(packed, &cursor, &key) &&
	       bytes_next_item(packed, &cursor, &value)) {
		char *pair = NULL;
		int size = asprintf(&pair, "%.*s=%.*s", (int)key.size, (const char *)key.data,
				    (int)value.size, (const char *)value.data);
		struct bytes text = {pair, size < 0 ? 0 : (size_t)size};

		r = size < 0 ? -ENOMEM
			     : add(d, count ? "" : label, shown(m, text), term_for(field, text));
		free(pair);
		count++;
	}
	return r;
}

static int add_value(struct detail *d, struct message *m, const struct event_value *value)
{
	const char *name = field_table[value->field].name;
	char digits[32];

	switch (field_table[value->field].type) {
	case FIELD_TYPE_U64:
		snprintf(digits, sizeof(digits), "%" PRIu64, value->u64);
		return add(d, name, bytes_of(digits), number_term(name, digits));
	case FIELD_TYPE_I64:
		snprintf(digits, sizeof(digits), "%" PRId64, value->i64);
		return add(d, name, bytes_of(digits), number_term(name, digits));
	case FIELD_TYPE_BOOL:
		return add(d, name, bytes_of(value->u64 ? "yes" : "no"),
			   number_term(name, value->u64 ? "yes" : "no"));
	case FIELD_TYPE_TEXT:
		return add(d, name, shown(m, value->bytes), term_for(name, value->bytes));
	case FIELD_TYPE_TEXTS:
		return add_texts(d, m, name, name, value->bytes);
	case FIELD_TYPE_MAP:
		return add_map(d, m, name, name, value->bytes);
	case FIELD_TYPE_JSON:
		return add(d, name, shown(m, value->bytes), NULL);
	}
	return 0;
}

static int add_cut(struct detail *d, const struct event_value *value)
{
	char text[80];

	if (!value->is_cut)
		return 0;
	snprintf(text, sizeof(text), "[CUT: it was %" PRIu64 " bytes long]",
		 value->cut.full_length);
	return add(d, "", bytes_of(text), NULL);
}

static int add_tags(struct detail *d, const struct event *e)
{
	const struct attack_tag *tags[ATTACK_TAGS_MAX];
	size_t count = attack_tags(e, tags);
	char text[256];
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		snprintf(text, sizeof(text), "%s %s, %s: %s", tags[i]->technique, tags[i]->name,
			 tags[i]->tactic_name, tags[i]->reason);
		r = add(d, "attack", bytes_of(text),
			term_for("attack", bytes_of(tags[i]->technique)));
	}
	return r;
}

static int add_notes(struct detail *d, struct message *m, const struct notes *notes)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < notes->count; i++) {
		const struct remark *note = &notes->list[i];

		if (note->seq != d->seq || note->is_withdrawn)
			continue;
		rewind(m->pen.out);
		printable_text(m->pen.out, &m->pen.printable, bytes_of(note->author));
		fputs(", ", m->pen.out);
		write_wall_clock(m->pen.out, note->time_ns, 0);
		fputs(note->text ? ": " : "", m->pen.out);
		if (note->text)
			printable_text(m->pen.out, &m->pen.printable, bytes_of(note->text));
		fflush(m->pen.out);
		r = add(d, note->text ? "NOTE" : "BOOKMARK",
			(struct bytes){m->text, (size_t)ftello(m->pen.out)}, NULL);
	}
	return r;
}

static int add_head(struct detail *d, struct message *m, const struct event *e)
{
	bool known = e->kind != EVENT_KIND_NONE && e->kind < EVENT_KIND_COUNT;
	const char *kind = known ? kind_table[e->kind].name : "unknown";
	char text[160];
	int r;

	snprintf(text, sizeof(text), "%" PRIu64, e->seq);
	r = add(d, "seq", bytes_of(text), number_term("seq", text));
	rewind(m->pen.out);
	write_wall_clock(m->pen.out, e->time_ns, 9);
	fflush(m->pen.out);
	if (r == 0)
		r = add(d, "time", (struct bytes){m->text, (size_t)ftello(m->pen.out)}, NULL);
	snprintf(text, sizeof(text), "%s: %s", kind, known ? kind_table[e->kind].doc : "");
	return r ? r : add(d, "kind", bytes_of(text), known ? number_term("kind", kind) : NULL);
}

int detail_fill(struct detail *d, struct message *m, const struct notes *notes,
		const struct event *e, int width)
{
	size_t limit = m->pen.printable.limit;
	int r;

	detail_clear(d);
	d->seq = e->seq;
	d->width = width;
	m->pen.printable.limit = 0;
	m->pen.color = false;
	r = add_notes(d, m, notes);
	if (r == 0)
		r = add_head(d, m, e);
	if (r == 0)
		r = add_tags(d, e);
	for (size_t i = 0; r == 0 && i < e->count; i++) {
		r = add_value(d, m, &e->values[i]);
		if (r == 0)
			r = add_cut(d, &e->values[i]);
	}
	m->pen.printable.limit = limit;
	return r;
}

int detail_fill_unreadable(struct detail *d, uint64_t seq, const char *why)
{
	int width = d->width;

	detail_clear(d);
	d->seq = seq;
	d->width = width ? width : 80;
	return add(d, "UNREADABLE", bytes_of(why), NULL);
}
