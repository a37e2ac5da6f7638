/*
 * Checks objects of settings against their table, and says what is wrong and what is allowed.
 */
#include "settings.h"

#include "record/jansson_cleanup.h"
#include "setting_types.h"
#include "settings_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX (1024 * 1024)

/* ---- what an error says ---- */

static void say_allowed(const struct setting *s, const struct setting_place *p, char *text,
			size_t room)
{
	size_t length = 0;

	if (p->allowed) {
		snprintf(text, room, "%s", p->allowed);
		return;
	}
	if (s->type == SETTING_NUMBER) {
		snprintf(text, room, "an integer from %lld to %lld", (long long)s->min,
			 (long long)s->max);
		return;
	}
	if (s->type != SETTING_CHOICE) {
		snprintf(text, room, "%s", setting_types[s->type].allowed);
		if (s->max > 0)
			snprintf(text + strlen(text), room - strlen(text), ", at most %lld",
				 (long long)s->max);
		return;
	}
	for (size_t i = 0; s->choices[i] && length < room; i++)
		length += snprintf(text + length, room - length, "%s%s", i ? ", " : "",
				   s->choices[i]);
}

static void say_all_names(const struct setting *table, char *text, size_t room)
{
	size_t length = 0;

	for (size_t i = 0; table[i].name && length < room; i++)
		length += snprintf(text + length, room - length, "%s%s", i ? ", " : "",
				   table[i].name);
}

/* A value as it stands in an error: JSON, in ASCII, not endless. */
static void say_value(const json_t *value, char *text, size_t room)
{
	cleanup(free) char *json =
		json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT);

	snprintf(text, room, "%.*s%s", (int)room - 4, json ? json : "?",
		 json && strlen(json) > room - 4 ? "..." : "");
}

static void say_key(const char *name, const struct setting_place *p, char *text, size_t room)
{
	if (p->member)
		snprintf(text, room, "%s.%.100s", name, p->member);
	else if (p->item)
		snprintf(text, room, "%s[%zu]", name, p->item - 1);
	else
		snprintf(text, room, "%s", name);
}

static const struct setting *find_setting(const struct setting *table, const char *name)
{
	for (; table->name; table++)
		if (!strcmp(table->name, name))
			return table;
	return NULL;
}

/* Check all keys; @prefix ("FILE:LINE: ") is made from the text that the object came from, if
 * there is one. */
static int check_object(const struct setting *table, const json_t *values, const char *file,
			const char *text, struct fault *f)
{
	char allowed[512], said[96], key[384], prefix[PATH_MAX + 32] = "";
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)values, name, value) {
		const struct setting *s = find_setting(table, name);
		struct setting_place p = {.value = value};

		if (s && setting_types[s->type].check(s, &p))
			continue;
		if (file)
			snprintf(prefix, sizeof(prefix), "%s:%d: ", file,
				 settings_line(text, name, s ? p.member : NULL, s ? p.item : 0));
		say_value(p.value, said, sizeof(said));
		if (!s) {
			say_all_names(table, allowed, sizeof(allowed));
			return fault_set(f, -EINVAL, "bad_setting",
					 "%s%.100s: %s: unknown key; allowed are: %s", prefix, name,
					 said, allowed);
		}
		say_allowed(s, &p, allowed, sizeof(allowed));
		say_key(name, &p, key, sizeof(key));
		return fault_set(f, -EINVAL, "bad_setting", "%s%s: %s: bad value; allowed: %s",
				 prefix, key, said, allowed);
	}
	return 0;
}

int settings_check(const struct setting *table, const json_t *values, struct fault *ret_fault)
{
	if (!json_is_object(values))
		return fault_set(ret_fault, -EINVAL, "bad_setting", "not a JSON object");
	return check_object(table, values, NULL, NULL, ret_fault);
}

int settings_parse(const struct setting *table, const char *file, const char *text, size_t size,
		   json_t **ret_values, struct fault *ret_fault)
{
	json_error_t e;
	cleanup(json) json_t *values = json_loadb(text, size, JSON_REJECT_DUPLICATES, &e);

	if (!values)
		return fault_set(ret_fault, -EINVAL, "bad_setting", "%s:%d: %s", file, e.line,
				 e.text);
	if (!json_is_object(values))
		return fault_set(ret_fault, -EINVAL, "bad_setting", "%s:1: not a JSON object",
				 file);

	cleanup(free) char *copy = strndup(text, size);
	if (!copy)
		return -ENOMEM;
	int r = check_object(table, values, file, copy, ret_fault);
	if (r < 0)
		return r;

	*ret_values = take(values);
	return 0;
}

int settings_read(const struct setting *table, const char *file, json_t **ret_values,
		  struct fault *ret_fault)
{
	struct stat st;
	cleanup(close_fd) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fault_set(ret_fault, -errno, "unreadable", "%s: %s", file, strerror(errno));
	if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
		return fault_set(ret_fault, -EINVAL, "unreadable", "%s: not a file", file);
	fcntl(fd, F_SETFL, O_RDONLY);

	cleanup(free) char *text = malloc(FILE_MAX + 1);
	if (!text)
		return fault_set(ret_fault, -ENOMEM, "unreadable", "%s: out of memory", file);
	size_t size = 0;
	while (size <= FILE_MAX) {
		ssize_t n = read(fd, text + size, FILE_MAX + 1 - size);
		if (n < 0)
			return fault_set(ret_fault, -errno, "unreadable", "%s: %s", file,
					 strerror(errno));
		if (n == 0)
			break;
		size += n;
	}
	if (size > FILE_MAX)
		return fault_set(ret_fault, -EFBIG, "unreadable", "%s: larger than 1 MiB", file);
	return settings_parse(table, file, text, size, ret_values, ret_fault);
}

int settings_complete(const struct setting *table, json_t *values)
{
	for (; table->name; table++) {
		if (!table->otherwise || json_object_get(values, table->name))
			continue;
		if (json_object_set_new(values, table->name,
					json_loads(table->otherwise, JSON_DECODE_ANY, NULL)) < 0)
			return -ENOMEM;
	}
	return 0;
}

json_t *settings_schema(const struct setting *table, const char *id, const char *title)
{
	json_t *properties = json_object();

	for (; table->name; table++) {
		json_t *s = setting_types[table->type].schema(table);

		json_object_set_new(s, "description", json_string(table->doc));
		if (table->otherwise)
			json_object_set_new(s, "default",
					    json_loads(table->otherwise, JSON_DECODE_ANY, NULL));
		json_object_set_new(properties, table->name, s);
	}
	return json_pack("{s:s, s:s, s:s, s:s, s:b, s:o}", "$schema",
			 "https://json-schema.org/draft/2020-12/schema", "$id", id, "title", title,
			 "type", "object", "additionalProperties", 0, "properties", properties);
}
