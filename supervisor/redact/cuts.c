/* A list: what a session makes of secrets comes down to a few dozen of such cuts. */
#include "cuts.h"

#include <errno.h>
#include <stdlib.h>

void cuts_free(struct cuts *cuts)
{
	free(cuts->items);
	*cuts = (struct cuts){0};
}

const char *span_form(const struct span *span)
{
	return span->is_partial ? "partial" : span->form;
}

int cuts_add(struct cuts *cuts, const struct span *span, uint16_t field)
{
	const char *form = span_form(span);

	for (size_t i = 0; i < cuts->count; i++) {
		struct cut *cut = &cuts->items[i];

		/* Forms are constants: the same one has the same address. */
		if (cut->rule == span->rule && cut->field == field && cut->form == form) {
			cut->count++;
			return 0;
		}
	}
	if (cuts->count == cuts->room) {
		size_t room = cuts->room ? 2 * cuts->room : 16;
		struct cut *larger = reallocarray(cuts->items, room, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		cuts->items = larger;
		cuts->room = room;
	}
	cuts->items[cuts->count++] = (struct cut){span->rule, field, form, 1};
	return 0;
}

uint64_t cuts_of_rule(const struct cuts *cuts, uint32_t rule)
{
	uint64_t count = 0;

	for (size_t i = 0; i < cuts->count; i++)
		if (cuts->items[i].rule == rule)
			count += cuts->items[i].count;
	return count;
}
