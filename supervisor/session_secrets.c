/*
 * One vault for all: each secret's "NAME=value" with a NUL behind it, so that the same bytes serve
 * as value and as entry of an environment.
 */
#include "session_secrets.h"

#include "control.h"
#include "record/jansson_cleanup.h"
#include "redact/vault.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

void session_secrets_free(struct session_secrets *s)
{
	vault_free(s->vault, s->vault_size);
	free(s->items);
	json_decref(s->settings);
	*s = (struct session_secrets){0};
}

static void cleanup_secrets(struct session_secrets *s)
{
	session_secrets_free(s);
}

static int refuse(struct fault *f, const char *allowed)
{
	return fault_set(f, -EINVAL, "bad_request", "secrets: bad value; allowed: %s", allowed);
}

static bool is_env_name(const char *name)
{
	if (!*name || isdigit((unsigned char)*name))
		return false;
	for (; *name; name++)
		if (!isascii(*name) || (!isalnum(*name) && *name != '_'))
			return false;
	return true;
}

static const json_t *setting_of(const json_t *settings, const char *name)
{
	json_t *setting;
	size_t i;

	json_array_foreach ((json_t *)settings, i, setting) {
		const char *its = json_string_value(json_object_get(setting, "name"));

		if (its && !strcmp(its, name))
			return setting;
	}
	return NULL;
}

/* ---- one by one ---- */

static int check(const struct session_secret *secret, const char *value, size_t size,
		 struct fault *f)
{
	if (size < SESSION_SECRET_MIN)
		return fault_set(
			f, -EINVAL, "bad_request",
			"secret %s: a value of %zu bytes is too short to be found in a record "
			"without doubt; at least %d are needed",
			secret->name, size, SESSION_SECRET_MIN);
	if (size > SESSION_SECRET_MAX)
		return fault_set(f, -EINVAL, "bad_request", "secret %s: larger than 64 KiB",
				 secret->name);
	if (!secret->delivery.as_file && memchr(value, 0, size))
		return fault_set(f, -EINVAL, "bad_request",
				 "secret %s: the value holds a NUL byte, so it cannot be an "
				 "environment variable; it can be a file (as=file)",
				 secret->name);
	return 0;
}

static uint8_t *put(uint8_t *at, const void *bytes, size_t size)
{
	return mempcpy(at, bytes, size);
}

static uint8_t *put_text(uint8_t *at, const char *text)
{
	return put(at, text, strlen(text));
}

/* Behind what is in the vault. Returns where the next may begin. */
static uint8_t *store(struct session_secret *secret, const char *value, size_t size, uint8_t *at)
{
	const char *path = secret->delivery.path;

	secret->entry = (char *)at;
	at = put_text(put_text(at, secret->name), "=");
	secret->value = at;
	secret->size = size;
	at = put(at, value, size) + 1;
	if (!secret->delivery.as_file)
		return at;

	snprintf(secret->path, sizeof(secret->path), "%s%s%s", path ? path : SECRET_DIRECTORY,
		 path ? "" : "/", path ? "" : secret->name);
	secret->entry = (char *)at;
	at = put_text(put_text(at, secret->name), "_FILE=");
	return put_text(at, secret->path) + 1;
}

/* What one needs in the vault, at most. */
static size_t room_of(const json_t *item)
{
	const json_t *value = json_object_get(item, "value");
	const json_t *base64 = json_object_get(value, "b64");

	return json_string_length(base64 ? base64 : value) +
	       2 * json_string_length(json_object_get(item, "name")) + SECRET_PATH_ROOM + 16;
}

static int read_one(const json_t *item, struct session_secrets *s, uint8_t **at, struct fault *f)
{
	struct session_secret *secret = &s->items[s->count];
	const char *name = json_string_value(json_object_get(item, "name"));
	char *value = NULL;
	size_t size = 0;

	if (!name || strlen(name) > SECRET_NAME_MOST || !is_env_name(name) ||
	    json_object_size(item) != 2)
		return refuse(f, "[{\"name\": NAME, \"value\": value}]");
	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->items[i].name, name))
			return fault_set(f, -EINVAL, "bad_request", "secret %s is given twice",
					 name);
	if (control_get_bytes(json_object_get(item, "value"), &value, &size) < 0)
		return refuse(f, "[{\"name\": NAME, \"value\": value}]");

	memcpy(secret->name, name, strlen(name));
	secret_setting_read(setting_of(s->settings, name), &secret->delivery);
	int r = check(secret, value, size, f);
	if (r == 0) {
		*at = store(secret, value, size, *at);
		s->count++;
	}
	explicit_bzero(value, size);
	free(value);
	return r;
}

int session_secrets_read(const json_t *values, const json_t *settings,
			 struct session_secrets *ret_secrets, struct fault *ret_fault)
{
	cleanup(secrets) struct session_secrets s = {.settings = json_incref((json_t *)settings)};
	size_t i, room = 0;
	json_t *item;

	if (values && (!json_is_array(values) || json_array_size(values) > SESSION_SECRETS_MAX))
		return refuse(ret_fault, "an array of at most 256");
	json_array_foreach ((json_t *)values, i, item)
		room += room_of(item);
	s.items = calloc(json_array_size(values) + 1, sizeof(*s.items));
	if (!s.items)
		return fault_set(ret_fault, -ENOMEM, "no_memory", "out of memory");
	int r = room ? vault_new(room, &s.vault, &s.vault_size) : 0;
	if (r < 0)
		return fault_set(
			ret_fault, r, "no_memory",
			"secrets: no memory that can be locked: %s; raise RLIMIT_MEMLOCK or "
			"give CAP_IPC_LOCK",
			strerror(-r));

	uint8_t *at = s.vault;
	json_array_foreach ((json_t *)values, i, item) {
		r = read_one(item, &s, &at, ret_fault);
		if (r < 0)
			return r;
	}
	*ret_secrets = s;
	s = (struct session_secrets){0};
	return 0;
}

/* ---- for others ---- */

json_t *session_secrets_values(const struct session_secrets *s)
{
	cleanup(json) json_t *list = json_array();

	for (size_t i = 0; list && i < s->count; i++) {
		const struct session_secret *secret = &s->items[i];

		if (json_array_append_new(
			    list, json_pack("{s:s, s:o}", "name", secret->name, "value",
					    control_bytes(secret->value, secret->size))) < 0)
			return NULL;
	}
	return take(list);
}

struct redact_secret *session_secrets_list(const struct session_secrets *s)
{
	struct redact_secret *list = calloc(s->count + 1, sizeof(*list));

	for (size_t i = 0; list && i < s->count; i++)
		list[i] = (struct redact_secret){s->items[i].name, s->items[i].value,
						 s->items[i].size};
	return list;
}

/* The variable that @entry sets, is it set by a secret too? */
static bool is_secret(const struct session_secrets *s, const char *entry)
{
	size_t length = strcspn(entry, "=") + 1;

	for (size_t i = 0; i < s->count; i++)
		if (!strncmp(s->items[i].entry, entry, length))
			return true;
	return false;
}

const char **session_secrets_env(const struct session_secrets *s, char *const *env)
{
	size_t count = 0, kept = 0;

	while (env && env[count])
		count++;
	const char **all = calloc(count + s->count + 1, sizeof(*all));
	for (size_t i = 0; all && i < count; i++)
		if (!is_secret(s, env[i]))
			all[kept++] = env[i];
	for (size_t i = 0; all && i < s->count; i++)
		all[kept++] = s->items[i].entry;
	return all;
}
