/*
 * What somebody who may read the keys does with them. A value is read from standard input, where no
 * list of processes shows it, and forgotten.
 */
#include "redact_key.h"

#include "config.h"
#include "deployment_key.h"
#include "record/jansson_cleanup.h"
#include "redact/secrets.h"
#include "redact/vault.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VALUE_MOST (64 * 1024)

static int print_id(void *context, const uint8_t key[DEPLOYMENT_KEY_SIZE], const char *id)
{
	bool *is_old = context;

	(void)key;
	printf("%s%s\n", id, *is_old ? "  replaced" : "");
	*is_old = true;
	return 0;
}

static int print_tag(void *context, const uint8_t key[DEPLOYMENT_KEY_SIZE], const char *id)
{
	const struct bytes *value = context;
	struct secrets *none;
	int r = secrets_new(key, NULL, 0, &none);

	if (r < 0)
		return r;
	printf("%s  %08x\n", id, secrets_tag(none, *value));
	secrets_free(none);
	return 0;
}

/* All of standard input; a newline at its end is not part of it. */
static ssize_t read_value(uint8_t *room)
{
	size_t size = 0;
	ssize_t n;

	while (size <= VALUE_MOST && (n = read(STDIN_FILENO, room + size, VALUE_MOST + 1 - size)))
		if (n > 0)
			size += (size_t)n;
		else if (errno != EINTR)
			return -errno;
	if (size > VALUE_MOST)
		return -EFBIG;
	return (ssize_t)(size && room[size - 1] == '\n' ? size - 1 : size);
}

static int print_tags(const char *path, struct fault *f)
{
	size_t room_size;
	uint8_t *room;
	int r = vault_new(VALUE_MOST + 1, &room, &room_size);

	if (r < 0)
		return fault_set(f, r, "no_memory", "no memory that can be locked: %s",
				 strerror(-r));
	ssize_t size = read_value(room);
	struct bytes value = {room, size > 0 ? (size_t)size : 0};
	if (size <= 0)
		r = fault_set(f, size < 0 ? (int)size : -EINVAL, "value",
			      "the value is read from standard input: %s",
			      size < 0 ? strerror((int)-size) : "it is empty");
	else
		r = deployment_key_each(path, print_tag, &value, f);
	vault_free(room, room_size);
	return r;
}

static int rotate(const char *path, struct fault *f)
{
	char old_id[DEPLOYMENT_KEY_ID + 1], new_id[DEPLOYMENT_KEY_ID + 1];
	int r = deployment_key_rotate(path, old_id, new_id, f);

	if (r < 0)
		return r;
	printf("%s replaces %s, which is kept as %s.%s\n", new_id, old_id, path, old_id);
	printf("A vitrined that runs goes on with the old one until it is started again.\n");
	return 0;
}

int redact_key_run(const char *act, const char *state)
{
	char path[PATH_MAX];
	cleanup(json) json_t *values =
		json_pack("{s:s}", "state", realpath(state, path) ? path : state);
	struct config config = {0};
	bool is_old = false;
	struct fault f = {0};
	int r = config_load_kept(values, &config, &f);

	if (r == 0 && !strcmp(act, "rotate"))
		r = rotate(config.key_file, &f);
	else if (r == 0 && !strcmp(act, "tag"))
		r = print_tags(config.key_file, &f);
	else if (r == 0)
		r = deployment_key_each(config.key_file, print_id, &is_old, &f);
	config_free(&config);
	if (r < 0)
		fprintf(stderr, "vitrine redact %s: %s\n", act, *f.text ? f.text : strerror(-r));
	return r < 0 ? 2 : 0;
}
