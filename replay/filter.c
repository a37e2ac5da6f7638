/*
 * Parses kinds, and matches events.
 */
#include "filter.h"

#include "query.h"

#include <errno.h>
#include <string.h>

/* One item of the list: "file", "file.*", "file.re*", "file.rename". */
static bool kind_matches(const char *name, const char *item, size_t length)
{
	bool open = length && item[length - 1] == '*';

	if (open)
		return !strncmp(name, item, length - 1);
	return !strncmp(name, item, length) && (!name[length] || name[length] == '.');
}

int filter_parse_kinds(const char *text, void *ret_kinds)
{
	struct filter_kinds kinds = *(struct filter_kinds *)ret_kinds;

	for (;;) {
		size_t length = strcspn(text, ",");
		bool found = false;

		for (size_t i = 1; length && i < EVENT_KIND_COUNT; i++) {
			if (!kind_matches(kind_table[i].name, text, length))
				continue;
			kinds.wanted[i] = true;
			found = true;
		}
		if (!found)
			return -EINVAL;
		if (!text[length])
			break;
		text += length + 1;
	}
	kinds.given = true;
	*(struct filter_kinds *)ret_kinds = kinds;
	return 0;
}

uint64_t origin_elapsed(const struct origin *origin, const struct event *e)
{
	return e->boot_ns > origin->boot_ns ? e->boot_ns - origin->boot_ns : 0;
}

static bool proc_matches(const char *proc, const struct event *e)
{
	static const uint16_t keys[] = {FIELD_proc, FIELD_child_proc};
	static const uint16_t pids[] = {FIELD_pid, FIELD_child_pid};
	bool by_key = strchr(proc, '-') != NULL;
	size_t length = strlen(proc);

	for (size_t i = 0; by_key && i < 2; i++) {
		struct bytes key = event_bytes(e, keys[i]);

		if (key.size == length && !memcmp(key.data, proc, length))
			return true;
	}
	for (size_t i = 0; !by_key && i < 2; i++) {
		const struct event_value *pid = event_get(e, pids[i]);
		char text[24];

		if (!pid)
			continue;
		snprintf(text, sizeof(text), "%llu", (unsigned long long)pid->u64);
		if (!strcmp(text, proc))
			return true;
	}
	return false;
}

static uint64_t event_moment(const struct moment *m, const struct origin *origin,
			     const struct event *e)
{
	return m->absolute ? e->time_ns : origin_elapsed(origin, e);
}

bool filter_match(const struct filter *f, const struct origin *origin, const struct event *e)
{
	if (f->kinds.given && (e->kind >= EVENT_KIND_COUNT || !f->kinds.wanted[e->kind]))
		return false;
	if (f->since.given && event_moment(&f->since, origin, e) < f->since.ns)
		return false;
	if (f->until.given && event_moment(&f->until, origin, e) > f->until.ns)
		return false;
	if (f->proc && !proc_matches(f->proc, e))
		return false;
	return !f->query || query_match(f->query, origin, e);
}
