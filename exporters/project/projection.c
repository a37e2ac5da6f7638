/*
 * The table of projections.
 */
#include "projection.h"

#include "../../supervisor/record/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct projection *const projections[] = {
	&projection_jsonl, &projection_ocsf, &projection_ecs,
	&projection_otlp,  &projection_cef,  NULL,
};

const char *const projection_names[] = {"jsonl", "ocsf", "ecs", "otlp", "cef", NULL};

const struct projection *projection_find(const char *name)
{
	for (size_t i = 0; projections[i]; i++)
		if (!strcmp(projections[i]->name, name))
			return projections[i];
	return NULL;
}

static void take_fact(char fact[FACT_ROOM], const struct event *e, enum event_field field)
{
	struct bytes text = event_bytes(e, field);
	size_t length = text.size < FACT_ROOM ? text.size : FACT_ROOM - 1;

	if (!text.data || memchr(text.data, 0, text.size))
		return;
	memcpy(fact, text.data, length);
	fact[length] = 0;
}

void session_facts_take(struct session_facts *facts, const struct event *e)
{
	if (e->kind != EVENT_session_start)
		return;
	take_fact(facts->host, e, FIELD_host);
	take_fact(facts->boot_id, e, FIELD_boot_id);
	take_fact(facts->version, e, FIELD_version_vitrine);
	take_fact(facts->name, e, FIELD_name);
	take_fact(facts->tenant, e, FIELD_tenant);
}

size_t projected_uid(const struct projected *p, char ret_uid[PROJECTED_UID_ROOM])
{
	const struct event_value *tree = event_get(p->event, FIELD_tree_size);
	int length;

	if (!p->event->seq && !tree)
		length = snprintf(ret_uid, PROJECTED_UID_ROOM, "%.*s-0-%" PRIu64 "-%" PRIu64,
				  SESSION_ID_LENGTH, p->session, p->event->time_ns,
				  p->event->boot_ns);
	else if (p->event->seq)
		length = snprintf(ret_uid, PROJECTED_UID_ROOM, "%.*s-%" PRIu64, SESSION_ID_LENGTH,
				  p->session, p->event->seq);
	else
		length = snprintf(ret_uid, PROJECTED_UID_ROOM, "%.*s-0-%" PRIu64, SESSION_ID_LENGTH,
				  p->session, tree->u64);
	return (size_t)length;
}

static int write_jsonl(struct json_buffer *out, const struct projected *p)
{
	return json_write_event(out, p->session, p->event);
}

const struct projection projection_jsonl = {
	.name = "jsonl",
	.doc = "the canonical JSON of the record",
	.write = write_jsonl,
};
