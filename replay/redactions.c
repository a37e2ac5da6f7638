/*
 * Counts redactions by the rule that made them.
 */
#include "redactions.h"

#include "../supervisor/record/printable.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

int redactions_new(struct redactions **ret_redactions)
{
	struct redactions *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->rules = keymap_new(REDACTIONS_RULES_MAX);
	if (!r->rules) {
		free(r);
		return -ENOMEM;
	}
	*ret_redactions = r;
	return 0;
}

void redactions_free(struct redactions *r)
{
	if (!r)
		return;
	keymap_free(r->rules);
	free(r);
}

static int add_rule(struct redactions *r, const char *rule)
{
	size_t number;
	int error = keymap_add(r->rules, bytes_of(rule ? rule : "?"), &number);

	if (error == 0)
		r->times[number]++;
	r->others += error == -ENOSPC;
	return error == -ENOSPC ? 0 : error;
}

int redactions_add(struct redactions *r, const struct event *e)
{
	struct bytes text = event_bytes(e, FIELD_redacted);
	json_t *cuts, *cut;
	size_t i;
	int error = 0;

	if (!text.data)
		return 0;
	r->records++;
	cuts = json_loadb(text.data, text.size, 0, NULL);
	if (!json_is_array(cuts))
		r->unreadable++;
	json_array_foreach (cuts, i, cut) {
		if (error == 0)
			error = add_rule(r, json_string_value(json_object_get(cut, "rule")));
	}
	json_decref(cuts);
	return error;
}
