/*
 * Limits that a process ran into, as events: those that the kernel's side sees. Others are told by
 * vitrined (session_limits.c).
 */
#include "capture.h"

#include <errno.h>

static const char *const limit_names[WIRE_LIMIT_COUNT] = {
#define LIMIT(name) [WIRE_LIMIT_##name] = #name,
	WIRE_LIMITS(LIMIT)
#undef LIMIT
};

int translate_limit_hit(struct capture *c, const struct wire_record *record)
{
	const struct wire_limit_hit *wire = (const void *)record->head;

	if (wire->limit >= WIRE_LIMIT_COUNT)
		return -EBADMSG;
	struct event *e = capture_begin(c, record, EVENT_limit);
	event_put_text(e, FIELD_limit, limit_names[wire->limit]);
	if (wire->value)
		event_put_u64(e, FIELD_value, wire->value);
	event_put_u64(e, FIELD_count, wire->count);
	event_put_text(e, FIELD_scope, wire->of_command ? "command" : "session");
	return capture_send(c);
}
