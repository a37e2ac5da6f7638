/*
 * Members of an object, one subject a function.
 */
#include "tally_json.h"
#include "attack_text.h"

#include "../supervisor/record/cleanup.h"

#include <errno.h>

/* The classes that session.end counts, and the records of each that were read. */
static void write_classes(const struct tally *t, struct document *d)
{
	struct counts counts = {0};
	struct bytes text = event_bytes(&t->end.event, FIELD_counts);

	if (!text.data || counts_parse(text, &counts) < 0)
		counts = (struct counts){0};
	document_open(d, "classes", '{');
	for (size_t i = 0; i < EVENT_CLASS_COUNT; i++) {
		document_open(d, event_class_names[i], '{');
		document_u64(d, "records", t->classes[i]);
		if (counts.classes[i].known) {
			document_u64(d, "produced", counts.classes[i].produced);
			document_u64(d, "journaled", counts.classes[i].journaled);
			document_u64(d, "lost", counts.classes[i].lost);
		}
		document_u64(d, "missing_in_gaps", t->gap_counts[i]);
		document_close(d, '{');
	}
	document_close(d, '{');
}

static void write_kinds(const struct tally *t, struct document *d)
{
	document_open(d, "kinds", '{');
	for (size_t i = 1; i < EVENT_KIND_COUNT; i++) {
		if (t->kinds[i])
			document_u64(d, kind_table[i].name, t->kinds[i]);
	}
	document_close(d, '{');
}

static void write_peers(const struct peers *p, struct document *d, const char *key)
{
	cleanup(free) size_t *order = NULL;

	document_open(d, key, '[');
	if (peers_order(p, &order) < 0)
		d->error = -ENOMEM;
	for (size_t i = 0; order && i < keymap_count(p->map); i++) {
		document_open(d, NULL, '{');
		document_text(d, "name", keymap_key(p->map, order[i]));
		document_u64(d, "times", p->times[order[i]]);
		document_close(d, '{');
	}
	document_close(d, '[');
}

static void write_amounts(const struct tally *t, struct document *d)
{
	document_open(d, "processes", '{');
	document_u64(d, "forked", t->kinds[EVENT_process_fork]);
	document_u64(d, "programs", t->kinds[EVENT_process_exec]);
	document_u64(d, "failed_programs", t->kinds[EVENT_process_exec_failed]);
	document_u64(d, "ended", t->kinds[EVENT_process_exit]);
	document_u64(d, "ended_in_failure", t->failed_exits);
	document_close(d, '{');
	document_open(d, "files", '{');
	document_u64(d, "created", t->kinds[EVENT_file_create]);
	document_u64(d, "modified", t->kinds[EVENT_file_modify]);
	document_u64(d, "deleted", t->kinds[EVENT_file_delete]);
	document_u64(d, "renamed", t->kinds[EVENT_file_rename]);
	document_u64(d, "bytes_written", t->bytes_written);
	document_u64(d, "unproven_paths", t->unproven_paths);
	document_close(d, '{');
	document_open(d, "network", '{');
	document_u64(d, "connects", t->kinds[EVENT_net_connect]);
	document_u64(d, "failed_connects", t->failed_connects);
	document_u64(d, "accepts", t->kinds[EVENT_net_accept]);
	document_u64(d, "bytes_sent", t->bytes_sent);
	document_u64(d, "bytes_received", t->bytes_received);
	document_close(d, '{');
}

void tally_write_json(const struct tally *t, struct document *d)
{
	document_u64(d, "records", t->records);
	document_u64(d, "gaps", t->kinds[EVENT_gap]);
	document_u64(d, "damages", t->damages);
	document_u64(d, "redacted_records", t->redacted);
	document_u64(d, "cut_records", t->cut);
	document_u64(d, "unknown_kinds", t->unknown_kinds);
	write_classes(t, d);
	write_kinds(t, d);
	write_amounts(t, d);
	write_peers(&t->names, d, "names");
	document_u64(d, "other_names", t->names.others);
	write_peers(&t->addresses, d, "addresses");
	document_u64(d, "other_addresses", t->addresses.others);
	attack_text_write_json(t, d);
}
