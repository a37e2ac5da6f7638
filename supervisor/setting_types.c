/*
 * The types of settings: each one a check, a schema that says the same, and the words for people.
 */
#include "setting_types.h"
#include "redact/rules.h"
#include "sandbox/syscall_policy.h"

#include "grant.h"
#include "limit_settings.h"
#include "metrics/listen.h"
#include "secret_setting.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#define GLOB_MAX 4096
#define LABEL_MAX 256
#define NAME_MAX_ENV 256

static bool is_clean_text(const json_t *value, size_t max)
{
	const char *text = json_string_value(value);

	if (!text || !*text || json_string_length(value) > max)
		return false;
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

static bool is_word(const char *text, size_t max, const char *others)
{
	size_t length = strlen(text);

	if (length == 0 || length > max)
		return false;
	for (; *text; text++)
		if (!isascii(*text) || (!isalnum(*text) && !strchr(others, *text)))
			return false;
	return true;
}

static bool is_env_name(const char *text)
{
	return is_word(text, NAME_MAX_ENV, "_") && !isdigit(*text);
}

static bool check_text(const struct setting *s, struct setting_place *p)
{
	return is_clean_text(p->value, s->max);
}

static bool check_name(const struct setting *s, struct setting_place *p)
{
	return json_is_string(p->value) && is_word(json_string_value(p->value), s->max, "._-");
}

static bool check_path(const struct setting *s, struct setting_place *p)
{
	(void)s;
	return is_clean_text(p->value, PATH_MAX - 1) && *json_string_value(p->value) == '/';
}

/* The name of a template, or a directory. */
static bool check_rootfs(const struct setting *s, struct setting_place *p)
{
	const char *text = json_string_value(p->value);

	if (text && *text == '/')
		return check_path(s, p);
	return text && *text != '.' && *text != '-' && check_name(s, p);
}

static bool check_choice(const struct setting *s, struct setting_place *p)
{
	for (size_t i = 0; json_is_string(p->value) && s->choices[i]; i++)
		if (!strcmp(s->choices[i], json_string_value(p->value)))
			return true;
	return false;
}

static bool check_number(const struct setting *s, struct setting_place *p)
{
	return json_is_integer(p->value) && json_integer_value(p->value) >= s->min &&
	       json_integer_value(p->value) <= s->max;
}

static bool check_globs(const struct setting *s, struct setting_place *p)
{
	const json_t *array = p->value, *value;

	if (!json_is_array(array) || json_array_size(array) > (size_t)s->max)
		return false;
	json_array_foreach (array, p->item, value) {
		p->value = value;
		if (!is_clean_text(value, GLOB_MAX)) {
			p->item++;
			return false;
		}
	}
	return true;
}

static bool check_names_of_calls(const struct setting *s, struct setting_place *p, bool to_allow)
{
	const json_t *array = p->value, *value;

	if (!json_is_array(array) || json_array_size(array) > (size_t)s->max)
		return false;
	json_array_foreach (array, p->item, value) {
		int call = json_is_string(value) ? syscall_number(json_string_value(value)) : -1;

		p->value = value;
		if (call < 0 || (to_allow && !syscall_allowable((uint32_t)call))) {
			p->item++;
			return false;
		}
	}
	return true;
}

static bool check_calls(const struct setting *s, struct setting_place *p)
{
	return check_names_of_calls(s, p, false);
}

static bool check_allowed_calls(const struct setting *s, struct setting_place *p)
{
	return check_names_of_calls(s, p, true);
}

static bool check_map(const struct setting *s, struct setting_place *p, bool env)
{
	json_t *object = (json_t *)p->value, *value;
	const char *name;

	if (!json_is_object(object) || json_object_size(object) > (size_t)s->max)
		return false;
	json_object_foreach (object, name, value) {
		bool good =
			env ? is_env_name(name) && json_is_string(value)
			    : is_word(name, LABEL_MAX, "._/-") && is_clean_text(value, LABEL_MAX);
		if (!good) {
			p->member = name;
			p->value = value;
			return false;
		}
	}
	return true;
}

static bool check_env(const struct setting *s, struct setting_place *p)
{
	return check_map(s, p, true);
}

static bool check_labels(const struct setting *s, struct setting_place *p)
{
	return check_map(s, p, false);
}

/* What stands in the objects is checked where it is understood, with the reason. */
static bool check_rules(const struct setting *s, struct setting_place *p)
{
	const json_t *array = p->value, *value;

	if (!json_is_array(array) || json_array_size(array) > (size_t)s->max)
		return false;
	json_array_foreach (array, p->item, value) {
		p->value = value;
		if (!json_is_object(value)) {
			p->item++;
			return false;
		}
	}
	return true;
}

static bool check_listen(const struct setting *s, struct setting_place *p)
{
	(void)s;
	return is_clean_text(p->value, PATH_MAX) &&
	       metrics_listen_is_valid(json_string_value(p->value));
}

static json_t *schema_text(const struct setting *s)
{
	return json_pack("{s:s, s:i, s:I, s:s}", "type", "string", "minLength", 1, "maxLength",
			 s->max, "pattern", "^[^\\u0000-\\u001f\\u007f]+$");
}

static json_t *schema_name(const struct setting *s)
{
	return json_pack("{s:s, s:I, s:s}", "type", "string", "maxLength", s->max, "pattern",
			 "^[A-Za-z0-9._-]+$");
}

static json_t *schema_path(const struct setting *s)
{
	(void)s;
	return json_pack("{s:s, s:i, s:s}", "type", "string", "maxLength", PATH_MAX - 1, "pattern",
			 "^/[^\\u0000-\\u001f\\u007f]*$");
}

static json_t *schema_rootfs(const struct setting *s)
{
	char pattern[96];

	snprintf(pattern, sizeof(pattern),
		 "^([A-Za-z0-9_][A-Za-z0-9._-]{0,%d}|/[^\\u0000-\\u001f\\u007f]*)$",
		 (int)s->max - 1);
	return json_pack("{s:s, s:i, s:s}", "type", "string", "maxLength", PATH_MAX - 1, "pattern",
			 pattern);
}

static json_t *schema_choice(const struct setting *s)
{
	json_t *choices = json_array();

	for (size_t i = 0; s->choices[i]; i++)
		json_array_append_new(choices, json_string(s->choices[i]));
	return json_pack("{s:o}", "enum", choices);
}

static json_t *schema_number(const struct setting *s)
{
	return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", s->min, "maximum",
			 s->max);
}

static json_t *schema_globs(const struct setting *s)
{
	return json_pack("{s:s, s:I, s:{s:s, s:i, s:i}}", "type", "array", "maxItems", s->max,
			 "items", "type", "string", "minLength", 1, "maxLength", GLOB_MAX);
}

static json_t *schema_calls(const struct setting *s)
{
	return json_pack("{s:s, s:I, s:{s:s, s:s}}", "type", "array", "maxItems", s->max, "items",
			 "type", "string", "pattern", "^[a-z0-9_]+$");
}

static json_t *schema_allowed_calls(const struct setting *s)
{
	json_t *names = json_array();

	for (size_t i = 0; i < syscall_rule_count; i++)
		if (syscall_rules[i].price)
			json_array_append_new(names, json_string(syscall_rules[i].name));
	return json_pack("{s:s, s:I, s:{s:o}}", "type", "array", "maxItems", s->max, "items",
			 "enum", names);
}

static json_t *schema_env(const struct setting *s)
{
	return json_pack("{s:s, s:I, s:{s:s}, s:{s:s}}", "type", "object", "maxProperties", s->max,
			 "propertyNames", "pattern", "^[A-Za-z_][A-Za-z0-9_]{0,255}$",
			 "additionalProperties", "type", "string");
}

static json_t *schema_labels(const struct setting *s)
{
	return json_pack("{s:s, s:I, s:{s:s}, s:{s:s, s:i, s:i}}", "type", "object",
			 "maxProperties", s->max, "propertyNames", "pattern",
			 "^[A-Za-z0-9._/-]{1,256}$", "additionalProperties", "type", "string",
			 "minLength", 1, "maxLength", LABEL_MAX);
}

static json_t *schema_rules(const struct setting *s)
{
	return rules_schema((size_t)s->max);
}

static json_t *schema_listen(const struct setting *s)
{
	(void)s;
	return json_pack("{s:s, s:s}", "type", "string", "pattern",
			 "^(unix:/[^\\u0000-\\u001f\\u007f]+|(127(\\.[0-9]{1,3}){3}|\\[::1\\]):"
			 "[0-9]{1,5})$");
}

const struct setting_type_info setting_types[] = {
	[SETTING_TEXT] = {check_text, schema_text, "a string without control characters"},
	[SETTING_NAME] = {check_name, schema_name, "letters, digits, '.', '_' and '-'"},
	[SETTING_PATH] = {check_path, schema_path, "an absolute path"},
	[SETTING_CHOICE] = {check_choice, schema_choice, NULL},
	[SETTING_NUMBER] = {check_number, schema_number, NULL},
	[SETTING_GLOBS] = {check_globs, schema_globs, "an array of patterns, none of them empty"},
	[SETTING_ROOTFS] = {check_rootfs, schema_rootfs,
			    "\"host\", the name of a template, or an absolute path"},
	[SETTING_CALLS] = {check_calls, schema_calls,
			   "an array of names of system calls that vitrine seccomp prints"},
	[SETTING_ALLOWED_CALLS] = {check_allowed_calls, schema_allowed_calls,
				   "an array of names of system calls that vitrine seccomp prints "
				   "as allowable"},
	[SETTING_ENV] = {check_env, schema_env,
			 "an object {\"NAME\": \"value\"}, names of letters, digits and '_'"},
	[SETTING_LABELS] =
		{check_labels, schema_labels,
		 "an object {\"label\": \"value\"}, labels of letters, digits, '.', '_', "
		 "'/' and '-', values of at most 256 bytes"},
	[SETTING_LIMITS] = {limit_settings_check, limit_settings_schema, limit_settings_allowed},
	[SETTING_COMMAND_LIMITS] = {limit_settings_check_command, limit_settings_schema_command,
				    limit_settings_allowed_command},
	[SETTING_LISTEN] = {check_listen, schema_listen, METRICS_LISTEN_ALLOWED},
	[SETTING_USERS] = {grant_settings_check, grant_settings_schema, grant_settings_allowed},
	[SETTING_RULES] = {check_rules, schema_rules,
			   "an array of objects {\"name\", \"keywords\", \"pattern\", ...}"},
	[SETTING_SECRETS] = {secret_setting_check, secret_setting_schema, secret_setting_allowed},
};
