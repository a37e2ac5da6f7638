/*
 * Checks configurations against their tables.
 */
#include "knob.h"

#include "../../supervisor/metrics/listen.h"
#include "../../supervisor/record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

#define SECRET_MAX 65536

/* ---- faults ---- */

int knob_fault_set(struct knob_fault *f, const char *key, const char *format, ...)
{
	va_list arguments;

	snprintf(f->key, sizeof(f->key), "%s", key);
	va_start(arguments, format);
	vsnprintf(f->text, sizeof(f->text), format, arguments);
	va_end(arguments);
	for (char *at = f->text; *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = '?';
	return -EINVAL;
}

/* A value as it stands in an error: JSON, in ASCII, not endless. */
static void say_value(const json_t *value, char *text, size_t room)
{
	cleanup(free) char *json =
		json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT);

	snprintf(text, room, "%.*s%s", (int)room - 4, json ? json : "?",
		 json && strlen(json) > room - 4 ? "..." : "");
}

static void say_choices(const char *const *choices, char *text, size_t room)
{
	size_t length = strlen(text);

	for (size_t i = 0; choices[i] && length < room; i++)
		length += (size_t)snprintf(text + length, room - length, "%s%s", i ? ", " : "",
					   choices[i]);
}

static void say_allowed(const struct knob *s, char *text, size_t room)
{
	static const char *const words[] = {
		[KNOB_NAME] = "1 to 64 letters, digits, '.', '_' and '-', not a dot first",
		[KNOB_TEXT] = "1 to 1024 bytes without control characters",
		[KNOB_PATH] = "an absolute path",
		[KNOB_URL] = "http:// or https:// and a host",
		[KNOB_CHOICE] = "",
		[KNOB_BOOL] = "true or false",
		[KNOB_TEXTS] = "an array of texts",
		[KNOB_LISTEN] = METRICS_LISTEN_ALLOWED,
		[KNOB_SECRET] = "{\"file\": PATH} or {\"env\": NAME}",
		[KNOB_SINKS] = "an array of 1 to 64 objects",
	};

	if (s->type == KNOB_NUMBER) {
		snprintf(text, room, "an integer from %lld to %lld", (long long)s->min,
			 (long long)s->max);
		return;
	}
	snprintf(text, room, "%s", words[s->type]);
	if (s->choices) {
		if (s->type == KNOB_TEXTS)
			snprintf(text, room, "an array of: ");
		say_choices(s->choices, text, room);
	}
}

/* ---- one value ---- */

static bool is_clean(const char *text, size_t length, size_t max)
{
	if (length == 0 || length > max || strlen(text) != length)
		return false;
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return true;
}

static bool is_text(const json_t *value)
{
	return json_is_string(value) &&
	       is_clean(json_string_value(value), json_string_length(value), 1024);
}

static bool is_name(const json_t *value)
{
	const char *text = json_string_value(value);
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";

	return is_text(value) && strspn(text, allowed) == strlen(text) && strlen(text) <= 64 &&
	       text[0] != '.';
}

static bool is_path(const json_t *value)
{
	return is_text(value) && json_string_value(value)[0] == '/';
}

static bool is_url(const json_t *value)
{
	const char *text = json_string_value(value), *host;

	if (!is_text(value) || strpbrk(text, " \"<>\\^`{|}#"))
		return false;
	host = !strncmp(text, "http://", 7)    ? text + 7
	       : !strncmp(text, "https://", 8) ? text + 8
					       : "";
	return *host && *host != '/' && *host != ':';
}

static bool is_choice(const struct knob *s, const json_t *value)
{
	if (!json_is_string(value))
		return false;
	for (size_t i = 0; s->choices[i]; i++)
		if (!strcmp(s->choices[i], json_string_value(value)))
			return true;
	return false;
}

static bool is_texts(const struct knob *s, const json_t *value)
{
	const json_t *item;
	size_t i;

	if (!json_is_array(value) || json_array_size(value) > 1024)
		return false;
	json_array_foreach (value, i, item)
		if (s->choices ? !is_choice(s, item) : !is_text(item))
			return false;
	return true;
}

static bool is_secret(const json_t *value)
{
	const json_t *file = json_object_get(value, "file"), *env = json_object_get(value, "env");

	return json_object_size(value) == 1 && (file ? is_path(file) : is_text(env));
}

static bool is_allowed(const struct knob *s, const json_t *value)
{
	switch (s->type) {
	case KNOB_NAME:
		return is_name(value);
	case KNOB_TEXT:
		return is_text(value);
	case KNOB_PATH:
		return is_path(value);
	case KNOB_URL:
		return is_url(value);
	case KNOB_CHOICE:
		return is_choice(s, value);
	case KNOB_NUMBER:
		return json_is_integer(value) && json_integer_value(value) >= s->min &&
		       json_integer_value(value) <= s->max;
	case KNOB_BOOL:
		return json_is_boolean(value);
	case KNOB_TEXTS:
		return is_texts(s, value);
	case KNOB_LISTEN:
		return is_text(value) && metrics_listen_is_valid(json_string_value(value));
	case KNOB_SECRET:
		return is_secret(value);
	case KNOB_SINKS:
		return json_is_array(value) && json_array_size(value) >= 1 &&
		       json_array_size(value) <= 64;
	}
	return false;
}

/* ---- objects ---- */

static const struct knob *find_knob(const struct knob *const *tables, const char *name)
{
	for (; *tables; tables++)
		for (const struct knob *s = *tables; s->name; s++)
			if (!strcmp(s->name, name))
				return s;
	return NULL;
}

static int refuse_unknown(const struct knob *const *tables, const char *name, const char *value,
			  struct knob_fault *f)
{
	char names[768] = "";
	size_t length = 0;

	for (; *tables; tables++)
		for (const struct knob *s = *tables; s->name && length < sizeof(names); s++)
			length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
						   length ? ", " : "", s->name);
	return knob_fault_set(f, name, "%.100s: %s: unknown key; allowed are: %s", name, value,
			      names);
}

int knobs_check(const struct knob *const *tables, const json_t *object,
		struct knob_fault *ret_fault)
{
	char said[96], allowed[512];
	const char *name;
	json_t *value;

	if (!json_is_object(object))
		return knob_fault_set(ret_fault, "", "not a JSON object");
	json_object_foreach ((json_t *)object, name, value) {
		const struct knob *s = find_knob(tables, name);

		if (s && is_allowed(s, value))
			continue;
		say_value(value, said, sizeof(said));
		if (!s)
			return refuse_unknown(tables, name, said, ret_fault);
		say_allowed(s, allowed, sizeof(allowed));
		return knob_fault_set(ret_fault, name, "%s: %s: bad value; allowed: %s", name, said,
				      allowed);
	}
	for (; *tables; tables++)
		for (const struct knob *s = *tables; s->name; s++)
			if (s->is_required && !json_object_get(object, s->name)) {
				say_allowed(s, allowed, sizeof(allowed));
				return knob_fault_set(ret_fault, "",
						      "%s: missing; it has to be: %s", s->name,
						      allowed);
			}
	return 0;
}

int knobs_complete(const struct knob *const *tables, json_t *object)
{
	for (; *tables; tables++)
		for (const struct knob *s = *tables; s->name; s++) {
			if (!s->otherwise || json_object_get(object, s->name))
				continue;
			if (json_object_set_new(object, s->name,
						json_loads(s->otherwise, JSON_DECODE_ANY, NULL)))
				return -ENOMEM;
		}
	return 0;
}

const char *knob_text(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

int64_t knob_number(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

bool knob_bool(const json_t *object, const char *name)
{
	return json_is_true(json_object_get(object, name));
}

/* ---- secrets ---- */

static int read_secret(const char *name, const char *path, char **ret_text, struct knob_fault *f)
{
	cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	cleanup(free) char *text = calloc(1, SECRET_MAX + 2);
	ssize_t n;

	if (!text)
		return -ENOMEM;
	n = fd < 0 ? -1 : read(fd, text, SECRET_MAX + 1);
	if (n < 0)
		return knob_fault_set(f, name, "%s: %s: %s", name, path, strerror(errno));
	if (n > 0 && text[n - 1] == '\n')
		text[n - 1] = 0;
	*ret_text = take(text);
	return 0;
}

int knob_secret(const json_t *object, const char *name, char **ret_secret,
		struct knob_fault *ret_fault)
{
	const json_t *where = json_object_get(object, name);
	const char *file = knob_text(where, "file"), *env = knob_text(where, "env");
	cleanup(free) char *text = NULL;
	int r;

	*ret_secret = NULL;
	if (!where)
		return 0;
	const char *value = env ? getenv(env) : NULL;

	if (value)
		text = strdup(value);
	if (!file && !text)
		return knob_fault_set(ret_fault, name, "%s: $%s is not set", name, env ? env : "");
	r = file ? read_secret(name, file, &text, ret_fault) : 0;
	if (r < 0)
		return r;
	/* Also what keeps a secret from adding headers of its own. */
	if (!text || !is_clean(text, strlen(text), SECRET_MAX))
		return knob_fault_set(
			ret_fault, name,
			"%s: the secret is empty, too long, or holds control characters", name);
	*ret_secret = take(text);
	return 0;
}
