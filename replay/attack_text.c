/*
 * Tags that were counted, rule by rule.
 */
#include "attack_text.h"

#include <inttypes.h>

size_t attack_text_count(const struct tally *t)
{
	size_t count = 0;

	for (size_t i = 0; attack_rule(i); i++)
		count += t->attacks[i] > 0;
	return count;
}

void attack_text_write(const struct tally *t, size_t number, const struct pen *pen)
{
	const struct attack_tag *tag = attack_rule(number);

	fprintf(pen->out, "%s %s: %s, %" PRIu64 " time%s, first record %" PRIu64, tag->technique,
		tag->name, tag->reason, t->attacks[number], t->attacks[number] == 1 ? "" : "s",
		t->attack_firsts[number]);
}

void attack_text_write_json(const struct tally *t, struct document *d)
{
	document_open(d, "attack", '[');
	for (size_t i = 0; attack_rule(i); i++) {
		const struct attack_tag *tag = attack_rule(i);

		if (!t->attacks[i])
			continue;
		document_open(d, NULL, '{');
		document_string(d, "technique", tag->technique);
		document_string(d, "name", tag->name);
		document_string(d, "tactic", tag->tactic);
		document_string(d, "tactic_name", tag->tactic_name);
		document_string(d, "reason", tag->reason);
		document_u64(d, "count", t->attacks[i]);
		document_u64(d, "first", t->attack_firsts[i]);
		document_close(d, '{');
	}
	document_close(d, '[');
}
