/*
 * A table of keys. What an environment variable cannot keep (who may read it, for how long) is not
 * promised of one: those keys are of files only.
 */
#include "secret_setting.h"

#include "limit_settings.h"
#include "record/jansson_cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#define NAME_MOST 256
#define PATH_MOST 255
#define TTL_MOST_MS (1000ull * 86400 * 365)
#define MODE_DEFAULT 0400

const char secret_setting_allowed[] = "an array of {\"name\": NAME, \"source\": \"env:VAR\", "
				      "\"file:PATH\" or \"fd:N\"}, and for a "
				      "file in the session \"as\": \"file\" with \"path\", "
				      "\"mode\", \"owner\", \"only\", \"ttl\"";

static bool is_env_name(const char *text)
{
	size_t length = 0;

	for (; text[length]; length++)
		if (!isascii(text[length]) || (!isalnum(text[length]) && text[length] != '_'))
			return false;
	return length > 0 && length <= NAME_MOST && !isdigit(*text);
}

static bool is_source(const char *text)
{
	if (!strncmp(text, "env:", 4))
		return is_env_name(text + 4);
	if (!strncmp(text, "fd:", 3))
		return text[3] && strlen(text) <= 7 &&
		       strspn(text + 3, "0123456789") == strlen(text) - 3;
	return !strncmp(text, "file:", 5) && text[5] && strlen(text) < PATH_MAX;
}

static bool is_as(const char *text)
{
	return !strcmp(text, "env") || !strcmp(text, "file");
}

/* Names below the directory, none of them empty or hidden: no "." and no "..". */
static bool is_path(const char *text)
{
	size_t head = strlen(SECRET_DIRECTORY);

	if (strncmp(text, SECRET_DIRECTORY, head) != 0 || text[head] != '/' ||
	    strlen(text) > PATH_MOST)
		return false;
	for (text += head; *text; text++)
		if (*text == '/' && (!text[1] || text[1] == '/' || text[1] == '.'))
			return false;
	return true;
}

static bool is_mode(const char *text)
{
	return strlen(text) >= 3 && strlen(text) <= 4 && strspn(text, "0246") == strlen(text) &&
	       (strlen(text) == 3 || *text == '0');
}

static bool is_owner(const char *text)
{
	return !strcmp(text, "agent") || !strcmp(text, "root");
}

static bool is_program(const char *text)
{
	return *text == '/' && text[1] && strlen(text) < PATH_MAX;
}

static bool is_ttl(const char *text)
{
	uint64_t ms;

	return limit_settings_time(text, &ms) && ms <= TTL_MOST_MS;
}

static const struct key {
	const char *name;
	bool (*check)(const char *text);
	bool is_needed, is_of_files;
	const char *pattern, *allowed;
} keys[] = {
	{"name", is_env_name, true, false, "^[A-Za-z_][A-Za-z0-9_]{0,255}$",
	 "a name of letters, digits and '_'"},
	{"source", is_source, true, false, "^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+|fd:[0-9]{1,4})$",
	 "env:VAR, file:PATH or fd:N"},
	{"as", is_as, false, false, "^(env|file)$", "env or file"},
	{"path", is_path, false, true, "^/run/secrets(/[^./][^/]*)+$",
	 "a path below " SECRET_DIRECTORY ", without names that begin with '.'"},
	{"mode", is_mode, false, true, "^0?[0246]{3}$", "permissions in octal, as 0400"},
	{"owner", is_owner, false, true, "^(agent|root)$", "agent or root"},
	{"only", is_program, false, true, "^/.+$", "the absolute path of a program in the session"},
	{"ttl", is_ttl, false, true, "^[0-9]+(\\.[0-9]+)?(ms|s|m|h)?$",
	 "a time, as 90s or 10m, at most a year"},
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

static const struct key *find_key(const char *name)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

static const char *text_of(const json_t *secret, const char *key)
{
	return json_string_value(json_object_get(secret, key));
}

static bool is_file(const json_t *secret)
{
	const char *as = text_of(secret, "as");

	return as && !strcmp(as, "file");
}

static bool is_clean(const json_t *value)
{
	const char *text = json_string_value(value);

	if (!text || strlen(text) != json_string_length(value))
		return false;
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

/* NULL, or what would be allowed in the place of what is wrong. */
static const char *what_is_wrong(const json_t *secret)
{
	const char *name;
	json_t *value;

	if (!json_is_object(secret))
		return secret_setting_allowed;
	json_object_foreach ((json_t *)secret, name, value) {
		const struct key *key = find_key(name);

		if (!key)
			return "the keys name, source, as, path, mode, owner, only and ttl";
		if (!is_clean(value) || !key->check(json_string_value(value)))
			return key->allowed;
		if (key->is_of_files && !is_file(secret))
			return "path, mode, owner, only and ttl with \"as\": \"file\" alone, "
			       "because "
			       "an environment variable is inherited and cannot be taken back";
	}
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (keys[i].is_needed && !json_object_get(secret, keys[i].name))
			return secret_setting_allowed;
	return NULL;
}

/* The file that two secrets would share, or the name. */
static bool clashes(const json_t *a, const json_t *b)
{
	const char *path_a = text_of(a, "path"), *path_b = text_of(b, "path");

	return !strcmp(text_of(a, "name"), text_of(b, "name")) ||
	       (path_a && path_b && !strcmp(path_a, path_b));
}

bool secret_setting_check(const struct setting *s, struct setting_place *p)
{
	const json_t *array = p->value, *secret;

	if (!json_is_array(array) || json_array_size(array) > (size_t)s->max)
		return false;
	json_array_foreach (array, p->item, secret) {
		const char *wrong = what_is_wrong(secret);

		for (size_t i = 0; !wrong && i < p->item; i++)
			if (clashes(json_array_get(array, i), secret))
				wrong = "a name and a path for each secret that no other has";
		if (wrong) {
			p->value = secret;
			p->allowed = wrong;
			p->item++;
			return false;
		}
	}
	return true;
}

json_t *secret_setting_schema(const struct setting *s)
{
	json_t *properties = json_object();

	for (size_t i = 0; i < KEY_COUNT; i++)
		json_object_set_new(
			properties, keys[i].name,
			json_pack("{s:s, s:s}", "type", "string", "pattern", keys[i].pattern));

	json_t *item = json_pack("{s:s, s:[s,s], s:b, s:o}", "type", "object", "required", "name",
				 "source", "additionalProperties", 0, "properties", properties);

	return json_pack("{s:s, s:I, s:o}", "type", "array", "maxItems", s->max, "items", item);
}

void secret_setting_read(const json_t *secret, struct secret_delivery *ret_delivery)
{
	const char *mode = text_of(secret, "mode"), *owner = text_of(secret, "owner");
	const char *ttl = text_of(secret, "ttl");
	struct secret_delivery d = {
		.as_file = is_file(secret),
		.path = text_of(secret, "path"),
		.mode = MODE_DEFAULT,
		.for_root = owner && !strcmp(owner, "root"),
		.only = text_of(secret, "only"),
	};

	if (mode) {
		d.mode = 0;
		for (; *mode; mode++)
			d.mode = d.mode * 8 + (mode_t)(*mode - '0');
	}
	if (ttl)
		limit_settings_time(ttl, &d.ttl_ms);
	*ret_delivery = d;
}

/* ---- the option ---- */

/* Where the last ",KEY=" of @text begins that is one of ours; NULL if there is none. */
static char *last_key(char *text)
{
	for (char *comma = strrchr(text, ','); comma; comma = memrchr(text, ',', comma - text)) {
		char *equals = strchr(comma, '=');

		if (!equals)
			continue;
		*equals = 0;
		bool is_key = find_key(comma + 1) && !find_key(comma + 1)->is_needed;
		*equals = '=';
		if (is_key)
			return comma;
	}
	return NULL;
}

int secret_setting_option(const char *text, json_t **ret_secret, struct fault *ret_fault)
{
	cleanup(free) char *rest = strdup(text);
	cleanup(json) json_t *secret = json_object();
	char *equals, *comma;

	if (!rest || !secret)
		return fault_set(ret_fault, -ENOMEM, "no_memory", "out of memory");
	while ((comma = last_key(rest))) {
		equals = strchr(comma, '=');
		*comma = *equals = 0;
		if (json_object_get(secret, comma + 1))
			return fault_set(ret_fault, -EINVAL, "usage",
					 "--secret %s: %s is given twice", rest, comma + 1);
		if (json_object_set_new(secret, comma + 1, json_string(equals + 1)) < 0)
			return fault_set(ret_fault, -EINVAL, "usage", "--secret %s: not text",
					 rest);
	}
	equals = strchr(rest, '=');
	if (!equals || equals == rest)
		return fault_set(ret_fault, -EINVAL, "usage",
				 "--secret %s: bad value; allowed: NAME=env:VAR, NAME=file:PATH or "
				 "NAME=fd:N, then ,KEY=VALUE with as, path, mode, owner, only, ttl",
				 rest);
	*equals = 0;
	if (json_object_set_new(secret, "name", json_string(rest)) < 0 ||
	    json_object_set_new(secret, "source", json_string(equals + 1)) < 0)
		return fault_set(ret_fault, -EINVAL, "usage", "--secret %s: not text", rest);

	const char *wrong = what_is_wrong(secret);
	if (wrong)
		return fault_set(ret_fault, -EINVAL, "usage",
				 "--secret %s=%s: bad value; allowed: %s", rest, equals + 1, wrong);
	*ret_secret = take(secret);
	return 0;
}
