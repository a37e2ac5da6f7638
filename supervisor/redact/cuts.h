/* How often what was cut where: counted by rule, field and form. */
#pragma once

#include "../record/json_put.h"
#include "span.h"

struct cut {
	uint32_t rule;
	uint16_t field; /* enum event_field */
	const char *form;
	uint64_t count;
};

struct cuts {
	struct cut *items;
	size_t count, room;
};

void cuts_free(struct cuts *cuts);
/* Count one cut as @span says. 0 or -ENOMEM. */
int cuts_add(struct cuts *cuts, const struct span *span, uint16_t field);
/* All of rule @rule. */
uint64_t cuts_of_rule(const struct cuts *cuts, uint32_t rule);

/* What a mark and the summary call the form of a span. */
const char *span_form(const struct span *span);
