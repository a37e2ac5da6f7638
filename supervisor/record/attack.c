/*
 * Holds events against the rules of attack.def.
 */
#include "attack.h"

#include <string.h>

#define CONDITIONS_MAX 3

enum look {
	LOOK_NOWHERE,
	LOOK_PROGRAM,
	LOOK_ARGUMENT,
	LOOK_PATH,
	LOOK_TEXT,
	LOOK_SET,
	LOOK_BITS,
	LOOK_LONG,
};

struct condition {
	enum look look;
	uint16_t field;
	uint64_t number;
	const char *const *patterns; /* NULL-terminated */
};

typedef unsigned __int128 kind_set; /* a bit for each kind */

struct rule {
	kind_set kinds;
	struct attack_tag tag;
	struct condition conditions[CONDITIONS_MAX];
};

_Static_assert(EVENT_KIND_COUNT <= 128, "a rule has a bit for each kind");

/* clang-format off */
#define TACTIC(id, number, words) static const char tactic_##id[] = number, tactic_name_##id[] = words;
#include "attack.def"

#define PATTERNS(...) (const char *const[]){__VA_ARGS__, NULL}
#define KIND(id) ((kind_set)1 << EVENT_##id)
#define PROGRAM(...) {LOOK_PROGRAM, .patterns = PATTERNS(__VA_ARGS__)}
#define ARGUMENT(...) {LOOK_ARGUMENT, .patterns = PATTERNS(__VA_ARGS__)}
#define PATH(...) {LOOK_PATH, .patterns = PATTERNS(__VA_ARGS__)}
#define TEXT(id, ...) {LOOK_TEXT, FIELD_##id, .patterns = PATTERNS(__VA_ARGS__)}
#define SET(id) {LOOK_SET, FIELD_##id}
#define BITS(id, mask) {LOOK_BITS, FIELD_##id, mask}
#define LONG(id, bytes) {LOOK_LONG, FIELD_##id, bytes}

static const struct rule rules[] = {
#define RULE(of_kinds, technique, name, parent, tactic, reason, ...) \
	{of_kinds, {technique, name, parent, tactic_##tactic, tactic_name_##tactic, reason}, {__VA_ARGS__}},
#include "attack.def"
};
/* clang-format on */

#define RULE_COUNT (sizeof(rules) / sizeof(rules[0]))

_Static_assert(RULE_COUNT <= ATTACK_RULES_MAX, "whoever counts tags has room for all rules");

/* "text", "text*", "*text", "*text*" */
static bool pattern_fits(const char *pattern, struct bytes text)
{
	size_t length = strlen(pattern);
	bool open_start = length && pattern[0] == '*';
	bool open_end = length > 1 && pattern[length - 1] == '*';

	pattern += open_start;
	length -= (size_t)open_start + open_end;
	if (text.size < length)
		return false;
	if (open_start && open_end)
		return memmem(text.data, text.size, pattern, length) != NULL;
	if (open_start)
		return !memcmp((const char *)text.data + text.size - length, pattern, length);
	return (open_end || text.size == length) && !memcmp(text.data, pattern, length);
}

static bool any_fits(const struct condition *c, struct bytes text)
{
	for (size_t i = 0; text.data && c->patterns[i]; i++)
		if (pattern_fits(c->patterns[i], text))
			return true;
	return false;
}

static bool any_item_fits(const struct condition *c, struct bytes packed, size_t from)
{
	struct bytes item;
	size_t cursor = 0;

	for (size_t i = 0; bytes_next_item(packed, &cursor, &item); i++)
		if (i >= from && any_fits(c, item))
			return true;
	return false;
}

static struct bytes base_name(struct bytes path)
{
	const char *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;
	size_t length = slash ? (size_t)(slash + 1 - (const char *)path.data) : 0;

	return (struct bytes){(const char *)path.data + length, path.size - length};
}

static struct bytes program_of(const struct event *e)
{
	struct bytes path = event_bytes(e, FIELD_exe_path), argv = event_bytes(e, FIELD_argv);
	size_t cursor = 0;

	if (!path.data && !bytes_next_item(argv, &cursor, &path))
		return (struct bytes){0};
	return base_name(path);
}

static bool path_fits(const struct condition *c, const struct event *e)
{
	struct bytes path = event_bytes(e, FIELD_path);

	if (!path.data)
		path = event_bytes(e, FIELD_requested);
	return any_fits(c, path) || any_fits(c, event_bytes(e, FIELD_new_path));
}

static bool text_fits(const struct condition *c, const struct event *e)
{
	struct bytes text = event_bytes(e, c->field);

	if (field_table[c->field].type == FIELD_TYPE_TEXTS)
		return any_item_fits(c, text, 0);
	return any_fits(c, text);
}

static bool is_true(const struct condition *c, const struct event *e)
{
	switch (c->look) {
	case LOOK_NOWHERE:
		return true;
	case LOOK_PROGRAM:
		return any_fits(c, program_of(e));
	case LOOK_ARGUMENT:
		return any_item_fits(c, event_bytes(e, FIELD_argv), 1);
	case LOOK_PATH:
		return path_fits(c, e);
	case LOOK_TEXT:
		return text_fits(c, e);
	case LOOK_SET:
		return event_u64(e, c->field, 0) != 0;
	case LOOK_BITS:
		return (event_u64(e, c->field, 0) & c->number) != 0;
	case LOOK_LONG:
		return event_bytes(e, c->field).size >= c->number;
	}
	return false;
}

static bool rule_fits(const struct rule *rule, const struct event *e)
{
	for (size_t i = 0; i < CONDITIONS_MAX; i++)
		if (!is_true(&rule->conditions[i], e))
			return false;
	return true;
}

static bool has_technique(const struct attack_tag **tags, size_t count, const char *technique)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(tags[i]->technique, technique))
			return true;
	return false;
}

size_t attack_tags(const struct event *e, const struct attack_tag **ret_tags)
{
	kind_set kind = e->kind < EVENT_KIND_COUNT ? (kind_set)1 << e->kind : 0;
	size_t count = 0;

	for (size_t i = 0; i < RULE_COUNT && count < ATTACK_TAGS_MAX; i++) {
		const struct attack_tag *tag = &rules[i].tag;

		if ((rules[i].kinds & kind) && rule_fits(&rules[i], e) &&
		    !has_technique(ret_tags, count, tag->technique))
			ret_tags[count++] = tag;
	}
	return count;
}

const struct attack_tag *attack_rule(size_t number)
{
	return number < RULE_COUNT ? &rules[number].tag : NULL;
}

size_t attack_rule_number(const struct attack_tag *tag)
{
	const char *rule = (const char *)tag - offsetof(struct rule, tag);

	return (size_t)((const struct rule *)(const void *)rule - rules);
}
