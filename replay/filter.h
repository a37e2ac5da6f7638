/*
 * Which events of a session are asked for.
 */
#pragma once

#include "../supervisor/record/event.h"
#include "units.h"

#include <stdbool.h>

struct filter_kinds {
	bool given;
	bool wanted[EVENT_KIND_COUNT];
};

#define FILTER_KINDS_ALLOWED                                                                       \
	"kinds by name (process.exec), group (file, process.*) or prefix (file.re*), parted by "   \
	"commas; 'vitrine schema' lists them"

/* Parse FILTER_KINDS_ALLOWED; adds to what @ret_kinds (struct filter_kinds) has. 0 or -EINVAL. */
int filter_parse_kinds(const char *text, void *ret_kinds);

struct query;

struct filter {
	const struct query *query; /* NULL: none; borrowed */
	struct filter_kinds kinds;
	const char *proc; /* key of a process, or its pid in the session; NULL: any; borrowed */
	struct moment since, until;
};

/* The start of a session, from which relative times count: the clocks of its first record. */
struct origin {
	uint64_t time_ns, boot_ns;
};

/* True if @e is asked for. */
bool filter_match(const struct filter *f, const struct origin *origin, const struct event *e);

/* How long after the start @e happened, by the clock that does not jump; 0 for one before it. */
uint64_t origin_elapsed(const struct origin *origin, const struct event *e);
