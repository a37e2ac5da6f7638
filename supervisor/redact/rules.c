/*
 * A policy's rules are read like all that somebody wrote: each value is checked, and what is wrong
 * is said with its place. Patterns are compiled here, so that a policy with a bad one is refused
 * before anything runs.
 */
#include "rules.h"
#include "shapes.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MOST 48
#define KEYWORD_LEAST 3
#define KEYWORD_MOST 40
#define PATTERN_MOST 2000
#define ALLOW_LEAST 4
#define ALLOW_MOST 200
#define BACK_MOST 80

struct rules {
	json_t *source; /* the texts below lie in it */
	struct detector *list;
	pcre2_code **codes;
	size_t count;
};

/* One rule of the policy while it is read. */
struct reading {
	const json_t *rule;
	size_t number;
	struct detector *into;
	bool is_new;
	char *why;
};

void rules_free(struct rules *r)
{
	if (!r)
		return;
	for (size_t i = 0; r->codes && i < r->count; i++)
		pcre2_code_free(r->codes[i]);
	json_decref(r->source);
	free(r->codes);
	free(r->list);
	free(r);
}

size_t rules_count(const struct rules *r)
{
	return r->count;
}

const struct detector *rules_list(const struct rules *r)
{
	return r->list;
}

pcre2_code *rules_code(const struct rules *r, size_t rule)
{
	return r->codes[rule];
}

static size_t by_name(const struct detector *list, size_t count, const char *name, size_t length)
{
	size_t i = 0;

	while (i < count &&
	       (strlen(list[i].name) != length || memcmp(list[i].name, name, length) != 0))
		i++;
	return i;
}

size_t rules_by_name(const struct rules *r, const char *name, size_t length)
{
	return by_name(r->list, r->count, name, length);
}

pcre2_code *rules_compile(const char *pattern, size_t *ret_at, int *ret_error)
{
	return pcre2_compile((const uint8_t *)pattern, PCRE2_ZERO_TERMINATED,
			     PCRE2_ANCHORED | PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C, ret_error,
			     ret_at, NULL);
}

/* "redact_rules[N].KEY: VALUE: bad value; allowed: ALLOWED" */
static int refuse(const struct reading *r, const char *key, const json_t *value,
		  const char *allowed)
{
	char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT)
			   : NULL;

	snprintf(r->why, RULES_WHY, "redact_rules[%zu]%s%s: %.100s: %s; allowed: %s", r->number,
		 *key ? "." : "", key, text ? text : "nothing", value ? "bad value" : "missing",
		 allowed);
	free(text);
	return -EINVAL;
}

/* ---- single values ---- */

static bool is_word(const char *text, size_t length, const char *others)
{
	for (size_t i = 0; i < length; i++) {
		if (!text[i] || !isascii(text[i]) ||
		    (!isalnum((unsigned char)text[i]) && !strchr(others, text[i])))
			return false;
	}
	return true;
}

static bool is_printable(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (text[i] < 0x20 || text[i] > 0x7e)
			return false;
	}
	return true;
}

static int read_name(const struct reading *r, const json_t *value)
{
	const char *name = json_string_value(value);
	size_t length = json_string_length(value);

	if (!name || !length || length > NAME_MOST || !is_word(name, length, "._-"))
		return refuse(r, "name", value, "1 to 48 letters, digits, '.', '_' and '-'");
	return 0;
}

/* Keywords are matched in any case, so they are kept in small letters. */
static bool take_keyword(json_t *value)
{
	const char *text = json_string_value(value);
	size_t length = json_string_length(value);
	char small[KEYWORD_MOST + 1];

	if (!text || length < KEYWORD_LEAST || length > KEYWORD_MOST || !is_printable(text, length))
		return false;
	for (size_t i = 0; i <= length; i++)
		small[i] = (char)tolower((unsigned char)text[i]);
	return json_string_set(value, small) == 0;
}

static int read_keywords(const struct reading *r, const json_t *value)
{
	static const char allowed[] = "an array of 1 to 16 texts of 3 to 40 printable ASCII "
				      "characters";
	size_t count = json_array_size(value);

	if (!count || count > DETECTOR_KEYWORDS)
		return refuse(r, "keywords", value, allowed);
	memset(r->into->keywords, 0, sizeof(r->into->keywords));
	for (size_t i = 0; i < count; i++) {
		json_t *keyword = json_array_get(value, i);

		if (!take_keyword(keyword))
			return refuse(r, "keywords", keyword, allowed);
		r->into->keywords[i] = json_string_value(keyword);
	}
	return 0;
}

static int read_pattern(const struct reading *r, const json_t *value)
{
	const char *text = json_string_value(value);
	size_t length = json_string_length(value);

	if (!text || !length || length > PATTERN_MOST || strlen(text) != length)
		return refuse(r, "pattern", value,
			      "a regular expression (PCRE2) of 1 to 2000 bytes");
	r->into->pattern = text;
	r->into->back = 0;
	return 0;
}

static int read_entropy(const struct reading *r, const json_t *value)
{
	double entropy = json_number_value(value);

	if (!json_is_number(value) || entropy < 0 || entropy > 8)
		return refuse(r, "entropy", value, "bits for each character, 0 to 8");
	r->into->floor = (uint8_t)(entropy * 10 + 0.5);
	return 0;
}

static int read_check(const struct reading *r, const json_t *value)
{
	const char *name = json_string_value(value);
	char allowed[200];
	size_t length = 0;

	for (size_t i = 0; detector_checks[i]; i++) {
		if (name && !strcmp(name, detector_checks[i])) {
			r->into->check = (enum detector_check)i;
			return 0;
		}
		length += (size_t)snprintf(allowed + length, sizeof(allowed) - length, "%s%s",
					   i ? ", " : "", detector_checks[i]);
	}
	return refuse(r, "check", value, allowed);
}

static int read_back(const struct reading *r, const json_t *value)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    json_integer_value(value) > BACK_MOST)
		return refuse(r, "back", value, "bytes, 0 to 80");
	r->into->back = (uint8_t)json_integer_value(value);
	return 0;
}

static int read_allow(const struct reading *r, const json_t *value)
{
	const char **examples = r->into->examples;
	const json_t *text;
	size_t i, at = 0;

	while (at < DETECTOR_EXAMPLES && examples[at])
		at++;
	if (!json_is_array(value) || at + json_array_size(value) > DETECTOR_EXAMPLES)
		return refuse(r, "allow", value,
			      "an array of texts, 16 for each rule with those that it has");
	json_array_foreach (value, i, text) {
		size_t length = json_string_length(text);

		if (length < ALLOW_LEAST || length > ALLOW_MOST ||
		    strlen(json_string_value(text)) != length)
			return refuse(r, "allow", text, "texts of 4 to 200 bytes");
		examples[at++] = json_string_value(text);
	}
	return 0;
}

/* ---- a rule ---- */

/* In this order: a pattern sets `back` to 0. */
static const struct {
	const char *key;
	int (*read)(const struct reading *r, const json_t *value);
} keys[] = {
	{"name", read_name},   {"keywords", read_keywords}, {"pattern", read_pattern},
	{"back", read_back},   {"entropy", read_entropy},   {"check", read_check},
	{"allow", read_allow},
};

#define KEYS "name, keywords, pattern, back, entropy, check, allow"

static bool is_key(const char *name)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (!strcmp(keys[i].key, name))
			return true;
	}
	return false;
}

static int check_keys(const struct reading *r)
{
	const char *name;
	json_t *value;

	if (!json_is_object(r->rule))
		return refuse(r, "", r->rule, "an object of " KEYS);
	json_object_foreach ((json_t *)r->rule, name, value) {
		if (is_key(name))
			continue;
		snprintf(r->why, RULES_WHY, "redact_rules[%zu].%.60s: unknown key; allowed are: %s",
			 r->number, name, KEYS);
		return -EINVAL;
	}
	return read_name(r, json_object_get(r->rule, "name"));
}

/* What may match nothing, or looks further back than what is kept of a stream, is no rule. */
static int check_code(const struct reading *r, const pcre2_code *code)
{
	const json_t *pattern = json_object_get(r->rule, "pattern");
	uint32_t least = 0, back = 0;

	pcre2_pattern_info(code, PCRE2_INFO_MINLENGTH, &least);
	pcre2_pattern_info(code, PCRE2_INFO_MAXLOOKBEHIND, &back);
	if (!least)
		return refuse(r, "pattern", pattern, "what matches at least one character");
	if (back + r->into->back > SHAPES_CONTEXT_MOST)
		return refuse(r, "pattern", pattern,
			      "looking behind by at most 96 characters before the keyword");
	return 0;
}

static int compile(const struct reading *r, pcre2_code **ret_code)
{
	uint8_t words[120];
	size_t at;
	int error;
	pcre2_code *code = rules_compile(r->into->pattern, &at, &error);

	if (!code) {
		pcre2_get_error_message(error, words, sizeof(words));
		snprintf(r->why, RULES_WHY,
			 "redact_rules[%zu].pattern: %.100s: %s, at character %zu; allowed: a "
			 "regular expression as PCRE2 has them",
			 r->number, r->into->pattern, (const char *)words, at + 1);
		return -EINVAL;
	}
	error = check_code(r, code);
	if (error < 0)
		pcre2_code_free(code);
	else
		*ret_code = code;
	return error;
}

/* Find the place of the rule, or make one. */
static int find_place(struct rules *rules, struct reading *r)
{
	const json_t *name = json_object_get(r->rule, "name");
	size_t i = rules_by_name(rules, json_string_value(name), json_string_length(name));

	r->is_new = i == rules->count;
	r->into = &rules->list[i];
	if (!r->is_new && !r->into->keywords[0])
		return refuse(r, "name", name,
			      "rules that look for a pattern; this one can only be switched off");
	if (!r->is_new)
		return 0;
	if (!json_object_get(r->rule, "keywords") || !json_object_get(r->rule, "pattern"))
		return refuse(r, json_object_get(r->rule, "keywords") ? "pattern" : "keywords",
			      NULL,
			      "a new rule needs keywords and a pattern; `vitrine redact rules` "
			      "lists those that can be tuned");
	*r->into = (struct detector){.name = json_string_value(name), .category = "policy"};
	rules->count++;
	return 0;
}

static int read_rule(struct rules *rules, struct reading *r)
{
	int e = check_keys(r);

	if (e == 0)
		e = find_place(rules, r);
	for (size_t i = 1; e == 0 && i < sizeof(keys) / sizeof(*keys); i++) {
		const json_t *value = json_object_get(r->rule, keys[i].key);

		if (value)
			e = keys[i].read(r, value);
	}
	if (e == 0 && json_object_get(r->rule, "pattern")) {
		size_t place = (size_t)(r->into - rules->list);

		e = compile(r, &rules->codes[place]);
	}
	return e;
}

static int check_twice(const struct rules *rules, size_t number, char *why)
{
	const char *name =
		json_string_value(json_object_get(json_array_get(rules->source, number), "name"));

	for (size_t i = 0; name && i < number; i++) {
		const json_t *other = json_object_get(json_array_get(rules->source, i), "name");

		if (json_is_string(other) && !strcmp(name, json_string_value(other))) {
			snprintf(why, RULES_WHY,
				 "redact_rules[%zu].name: \"%.60s\": is redact_rules[%zu] as well; "
				 "allowed: one object for each name",
				 number, name, i);
			return -EINVAL;
		}
	}
	return 0;
}

int rules_new(const json_t *changes, struct rules **ret_rules, char why[RULES_WHY])
{
	size_t count = json_array_size(changes);
	struct rules *rules = calloc(1, sizeof(*rules));
	int e = 0;

	snprintf(why, RULES_WHY, "out of memory");
	if (!rules)
		return -ENOMEM;
	rules->source = changes ? json_deep_copy(changes) : json_array();
	rules->list = calloc(detector_count + count, sizeof(*rules->list));
	rules->codes = calloc(detector_count + count, sizeof(*rules->codes));
	if (!rules->source || !rules->list || !rules->codes)
		e = -ENOMEM;
	if (e == 0) {
		memcpy(rules->list, detectors, detector_count * sizeof(*detectors));
		rules->count = detector_count;
	}
	for (size_t i = 0; e == 0 && i < count; i++) {
		struct reading r = {json_array_get(rules->source, i), i, NULL, false, why};

		e = check_twice(rules, i, why);
		if (e == 0)
			e = read_rule(rules, &r);
	}
	if (e < 0) {
		rules_free(rules);
		return e;
	}
	*ret_rules = rules;
	return 0;
}

json_t *rules_schema(size_t most)
{
	json_t *checks = json_array(), *item;

	for (size_t i = 0; detector_checks[i]; i++)
		json_array_append_new(checks, json_string(detector_checks[i]));
	item = json_pack(
		"{s:s, s:[s], s:b, s:{s:{s:s, s:s}, s:{s:s, s:i, s:i, s:{s:s, s:i, s:i}}, "
		"s:{s:s, s:i, s:i}, s:{s:s, s:i, s:i}, s:{s:s, s:i, s:i}, s:{s:o}, "
		"s:{s:s, s:i, s:{s:s, s:i, s:i}}}}",
		"type", "object", "required", "name", "additionalProperties", 0, "properties",
		"name", "type", "string", "pattern", "^[A-Za-z0-9._-]{1,48}$", "keywords", "type",
		"array", "minItems", 1, "maxItems", DETECTOR_KEYWORDS, "items", "type", "string",
		"minLength", KEYWORD_LEAST, "maxLength", KEYWORD_MOST, "pattern", "type", "string",
		"minLength", 1, "maxLength", PATTERN_MOST, "back", "type", "integer", "minimum", 0,
		"maximum", BACK_MOST, "entropy", "type", "number", "minimum", 0, "maximum", 8,
		"check", "enum", checks, "allow", "type", "array", "maxItems", DETECTOR_EXAMPLES,
		"items", "type", "string", "minLength", ALLOW_LEAST, "maxLength", ALLOW_MOST);
	return json_pack("{s:s, s:I, s:o}", "type", "array", "maxItems", (json_int_t)most, "items",
			 item);
}
