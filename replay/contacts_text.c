/*
 * Writes contacts.
 */
#include "contacts_text.h"

#include "units.h"

#include <inttypes.h>
#include <string.h>

void contact_write_end(const struct contact *contact, const struct pen *pen)
{
	bool is_v6 = contact->address.size &&
		     memchr(contact->address.data, ':', contact->address.size) &&
		     contact->way != WAY_UNIX;

	printable_word(pen->out, &pen->printable,
		       contact->protocol.size ? contact->protocol : bytes_of("?"));
	fputc(' ', pen->out);
	if (contact->way == WAY_IN)
		fprintf(pen->out, "port %" PRIu64 " from ", contact->port);
	fputs(is_v6 ? "[" : contact->is_abstract ? "@" : "", pen->out);
	if (contact->address.size)
		printable_word(pen->out, &pen->printable, contact->address);
	else
		fputc('*', pen->out);
	fputs(is_v6 ? "]" : "", pen->out);
	if (contact->has_port && contact->way != WAY_IN)
		fprintf(pen->out, ":%" PRIu64, contact->port);
}

static void write_count(const struct pen *pen, const char *what, uint64_t count)
{
	if (count)
		fprintf(pen->out, "  %s %" PRIu64, what, count);
}

static void write_error(FILE *out, int64_t error)
{
	const char *name = error < 4096 ? strerrorname_np((int)error) : NULL;

	if (name)
		fputs(name, out);
	else
		fprintf(out, "%" PRId64, error);
}

static void write_results(const struct contact *contact, const struct pen *pen)
{
	if (!contact->failed)
		return;
	pen_style(pen, STYLE_POLICY);
	fprintf(pen->out, "  failed %" PRIu64 " (", contact->failed);
	for (size_t i = 0; i < CONTACT_RESULTS_MAX && contact->results[i].count; i++) {
		fputs(i ? ", " : "", pen->out);
		write_error(pen->out, contact->results[i].error);
	}
	fputs(contact->other_results ? ", others)" : ")", pen->out);
	pen_style(pen, STYLE_PLAIN);
}

static void write_denied(const struct pen *pen, uint64_t denied)
{
	if (!denied)
		return;
	pen_style(pen, STYLE_LOUD);
	fprintf(pen->out, "  denied %" PRIu64, denied);
	pen_style(pen, STYLE_PLAIN);
}

static void write_by(const struct actor_set *by, const struct actors *a, const struct pen *pen)
{
	if (!by->count && !by->more)
		return;
	fputs("  by ", pen->out);
	actor_set_write(by, a, pen);
}

void contact_write(const struct contacts *c, const struct contact *contact, const struct actors *a,
		   const struct pen *pen)
{
	static const char *const tried[] = {[WAY_OUT] = "asked for",
					    [WAY_IN] = "accepted",
					    [WAY_BOUND] = "listened",
					    [WAY_UNIX] = "used"};

	pen_style(pen, STYLE_NET);
	fprintf(pen->out, "%-6s", way_names[contact->way]);
	pen_style(pen, STYLE_PLAIN);
	contact_write_end(contact, pen);
	for (size_t i = 0; i < contact->name_count; i++) {
		fputs(i ? ", " : "  ", pen->out);
		printable_word(pen->out, &pen->printable, contacts_name(c, contact->names[i]).name);
	}
	fputs(contact->more_names ? " and other names" : "", pen->out);
	write_count(pen, tried[contact->way], contact->tries);
	write_count(pen, "datagrams", contact->datagrams);
	write_results(contact, pen);
	write_denied(pen, contact->denied);
	if (contact->sent || contact->received) {
		fputs("  sent ", pen->out);
		write_size(pen->out, contact->sent);
		fputs(", received ", pen->out);
		write_size(pen->out, contact->received);
	}
	write_by(&contact->by, a, pen);
}

void contact_name_write(const struct contact_name *name, const struct actors *a,
			const struct pen *pen)
{
	pen_style(pen, STYLE_DNS);
	fputs("name  ", pen->out);
	pen_style(pen, STYLE_PLAIN);
	printable_word(pen->out, &pen->printable, name->name);
	write_count(pen, "asked", name->queries);
	write_count(pen, "answered", name->answers);
	write_count(pen, "in failure", name->failures);
	write_count(pen, "connections", name->tries);
	write_denied(pen, name->denied);
	if (name->answered.size) {
		fputs("  ", pen->out);
		line_write_words(pen, name->answered);
	}
	write_by(&name->by, a, pen);
}

void contact_write_json(const struct contacts *c, const struct contact *contact,
			const struct actors *a, struct document *d)
{
	document_open(d, NULL, '{');
	document_string(d, "way", way_names[contact->way]);
	document_text(d, "protocol", contact->protocol);
	if (contact->address.size)
		document_text(d, contact->is_abstract ? "abstract" : "address", contact->address);
	if (contact->has_port)
		document_u64(d, contact->way == WAY_IN ? "local_port" : "port", contact->port);
	document_open(d, "names", '[');
	for (size_t i = 0; i < contact->name_count; i++)
		document_text(d, NULL, contacts_name(c, contact->names[i]).name);
	document_close(d, '[');
	if (contact->more_names)
		document_bool(d, "more_names", true);
	document_u64(d, "tries", contact->tries);
	document_u64(d, "datagrams", contact->datagrams);
	document_u64(d, "failed", contact->failed);
	document_open(d, "errors", '{');
	for (size_t i = 0; i < CONTACT_RESULTS_MAX && contact->results[i].count; i++) {
		const char *error = contact->results[i].error < 4096
					    ? strerrorname_np((int)contact->results[i].error)
					    : NULL;
		char number[24];

		snprintf(number, sizeof(number), "%" PRId64, contact->results[i].error);
		document_u64(d, error ? error : number, contact->results[i].count);
	}
	document_close(d, '{');
	document_u64(d, "allowed", contact->allowed);
	document_u64(d, "denied", contact->denied);
	document_u64(d, "bytes_sent", contact->sent);
	document_u64(d, "bytes_received", contact->received);
	actor_set_write_json(&contact->by, a, d);
	document_close(d, '{');
}

void contact_name_write_json(const struct contact_name *name, const struct actors *a,
			     struct document *d)
{
	struct bytes item;
	size_t cursor = 0;

	document_open(d, NULL, '{');
	document_text(d, "name", name->name);
	document_u64(d, "queries", name->queries);
	document_u64(d, "answers", name->answers);
	document_u64(d, "failures", name->failures);
	document_u64(d, "connections", name->tries);
	document_u64(d, "allowed", name->allowed);
	document_u64(d, "denied", name->denied);
	document_open(d, "last_answer", '[');
	while (bytes_next_item(name->answered, &cursor, &item))
		document_text(d, NULL, item);
	document_close(d, '[');
	actor_set_write_json(&name->by, a, d);
	document_close(d, '{');
}
