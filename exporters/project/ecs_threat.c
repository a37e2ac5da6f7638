/*
 * Arrays over the tags of a record, each tactic and technique once.
 */
#include "ecs_threat.h"

#include "../../supervisor/record/attack.h"
#include "../../supervisor/record/printable.h"

#include <string.h>

/* What one tag puts into an array; {NULL, 0}: nothing. */
typedef struct bytes (*tag_part)(const struct attack_tag *tag);

static struct bytes tactic_id(const struct attack_tag *tag)
{
	return bytes_of(tag->tactic);
}

static struct bytes tactic_name(const struct attack_tag *tag)
{
	return bytes_of(tag->tactic_name);
}

static struct bytes technique_id(const struct attack_tag *tag)
{
	return (struct bytes){tag->technique, strcspn(tag->technique, ".")};
}

static struct bytes technique_name(const struct attack_tag *tag)
{
	return bytes_of(tag->parent ? tag->parent : tag->name);
}

static struct bytes part_id(const struct attack_tag *tag)
{
	return tag->parent ? bytes_of(tag->technique) : (struct bytes){0};
}

static struct bytes part_name(const struct attack_tag *tag)
{
	return tag->parent ? bytes_of(tag->name) : (struct bytes){0};
}

static bool was_put(const struct attack_tag **tags, size_t count, tag_part part, struct bytes text)
{
	for (size_t i = 0; i < count; i++) {
		struct bytes before = part(tags[i]);

		if (before.data && before.size == text.size &&
		    !memcmp(before.data, text.data, text.size))
			return true;
	}
	return false;
}

static bool put_parts(struct json_buffer *out, const struct event *e, tag_part part)
{
	const struct attack_tag *tags[ATTACK_TAGS_MAX];
	size_t count = attack_tags(e, tags);
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		struct bytes text = part(tags[i]);

		if (!text.data || was_put(tags, i, part, text))
			continue;
		json_put(out, any ? "," : "[", 1);
		json_put_string(out, text);
		any = true;
	}
	json_put_literal(out, "]");
	return any;
}

#define PUT(name)                                                                                  \
	static bool put_##name(struct json_buffer *out, const struct projected *p, uint16_t field) \
	{                                                                                          \
		(void)field;                                                                       \
		return put_parts(out, p->event, name);                                             \
	}

PUT(tactic_id)
PUT(tactic_name)
PUT(technique_id)
PUT(technique_name)
PUT(part_id)
PUT(part_name)

const struct shape_row ecs_threat_rows[] = {
	{"threat.framework", SHAPE_WORD, .text = "MITRE ATT&CK"},
	{"threat.tactic.id", SHAPE_CALL, .call = put_tactic_id},
	{"threat.tactic.name", SHAPE_CALL, .call = put_tactic_name},
	{"threat.technique.id", SHAPE_CALL, .call = put_technique_id},
	{"threat.technique.name", SHAPE_CALL, .call = put_technique_name},
	{"threat.technique.subtechnique.id", SHAPE_CALL, .call = put_part_id},
	{"threat.technique.subtechnique.name", SHAPE_CALL, .call = put_part_name},
	{0},
};
