/*
 * Rows of `users` as a type of setting. See grant.h.
 */
#include "grant.h"

#include <stddef.h>
#include <string.h>

#define SESSIONS_MAX 1024
#define USER_NAME_MAX 64

const struct grant_option grant_options[GRANT_OPTIONS] = {
#define AT(field) offsetof(struct grant, field)
	{"workspace", AT(workspace), "a directory of the user's own as /workspace", true},
	{"root", AT(root), "the session's root as the command's user", true},
	{"net_host", AT(net_host), "the host's network", false},
	{"seccomp", AT(seccomp), "system calls that are refused otherwise: seccomp_allow", false},
	{"record", AT(record), "a record of less than all: on_loss, output, redact_off, ...",
	 false},
#undef AT
};

const char grant_settings_allowed[] =
	"an object {\"NAME\", \"@GROUP\" or \"*\": {\"sessions\": a number from 0 to 1024, "
	"\"limits\": "
	"an object as in a policy, \"tenant\": a name, \"allow\": an array of workspace, root, "
	"net_host, seccomp and record}}";

static bool is_option(const json_t *value)
{
	for (size_t i = 0; json_is_string(value) && i < GRANT_OPTIONS; i++)
		if (!strcmp(grant_options[i].name, json_string_value(value)))
			return true;
	return false;
}

static bool check_allow(const json_t *list)
{
	const json_t *value;
	size_t i;

	if (!json_is_array(list))
		return false;
	json_array_foreach (list, i, value)
		if (!is_option(value))
			return false;
	return true;
}

static bool check_key(const struct setting *s, const char *key, json_t *value)
{
	struct setting_place inner = {.value = value};
	const struct setting tenant = {.type = SETTING_NAME, .max = USER_NAME_MAX};

	if (!strcmp(key, "sessions"))
		return json_is_integer(value) && json_integer_value(value) >= 0 &&
		       json_integer_value(value) <= SESSIONS_MAX;
	if (!strcmp(key, "limits"))
		return limit_settings_check(s, &inner);
	if (!strcmp(key, "tenant"))
		return setting_types[SETTING_NAME].check(&tenant, &inner);
	return !strcmp(key, "allow") && check_allow(value);
}

static bool is_who(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length <= USER_NAME_MAX && strcmp(name, "@") != 0;
}

bool grant_settings_check(const struct setting *s, struct setting_place *p)
{
	json_t *rows = (json_t *)p->value, *row, *value;
	const char *name, *key;

	if (!json_is_object(rows))
		return false;
	json_object_foreach (rows, name, row) {
		p->member = name;
		p->value = row;
		if (!is_who(name) || !json_is_object(row))
			return false;
		json_object_foreach (row, key, value)
			if (!check_key(s, key, value)) {
				p->value = value;
				return false;
			}
	}
	return true;
}

json_t *grant_settings_schema(const struct setting *s)
{
	json_t *names = json_array();

	for (size_t i = 0; i < GRANT_OPTIONS; i++)
		json_array_append_new(names, json_string(grant_options[i].name));
	return json_pack(
		"{s:s, s:{s:s, s:b, s:{s:{s:s, s:i, s:i}, s:o, s:{s:s}, s:{s:s, s:{s:o}}}}}",
		"type", "object", "additionalProperties", "type", "object", "additionalProperties",
		0, "properties", "sessions", "type", "integer", "minimum", 0, "maximum",
		SESSIONS_MAX, "limits", limit_settings_schema(s), "tenant", "type", "string",
		"allow", "type", "array", "items", "enum", names);
}
