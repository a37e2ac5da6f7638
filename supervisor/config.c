/*
 * The table of the configuration's keys, and the deployment key that it names.
 */
#include "config.h"

#include "control.h"
#include "record/cleanup.h"
#include "record/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define KEY_SIZE 32

const struct setting config_settings[] = {
	{"key_file", SETTING_PATH,
	 .doc = "The deployment key, under which digests and tags in records are made; outside the "
		"state directory. Default: the name of the state directory and .key."},
	{"readers_group", SETTING_NAME, .max = 32, .otherwise = "\"vitrine-export\"",
	 .doc = "Group that may read records. Where the host has none of this name, only root and "
		"the "
		"recorder may."},
	{"recorder_user", SETTING_NAME, .max = 32, .otherwise = "\"vitrine-recorder\"",
	 .doc = "User that the recorder runs as. Where the host has none of this name it runs as "
		"uid and gid 64742."},
	{"retention_bytes", SETTING_NUMBER, .min = 0, .max = INT64_MAX, .otherwise = "0",
	 .doc = "The oldest records are removed until all together are no larger; 0: no limit."},
	{"retention_days", SETTING_NUMBER, .min = 0, .max = 36500, .otherwise = "0",
	 .doc = "Records of sessions that ended more days ago are removed; 0: never."},
	{"ring_bytes", SETTING_NUMBER, .min = 4 << 20, .max = 1 << 30, .otherwise = "16777216",
	 .doc = "Size of each session's ring between kernel and recorder; a power of two."},
	{"rings", SETTING_NUMBER, .min = 1, .max = 1024, .otherwise = "4",
	 .doc = "Rings that are made ahead."},
	{"sessions_max", SETTING_NUMBER, .min = 1, .max = 1024, .otherwise = "1024",
	 .doc = "Sessions that may live at once."},
	{"socket", SETTING_PATH, .otherwise = "\"" CONTROL_SOCKET "\"",
	 .doc = "Where clients connect."},
	{"state", SETTING_PATH, .otherwise = "\"" STORE_DEFAULT_STATE "\"",
	 .doc = "The state directory, which holds the records."},
	{NULL},
};

void config_free(struct config *c)
{
	json_decref(c->values);
	*c = (struct config){0};
}

static void cleanup_config(struct config *c)
{
	config_free(c);
}

static int name_key_file(json_t *values)
{
	const char *state = json_string_value(json_object_get(values, "state"));
	size_t length = strlen(state);

	if (json_object_get(values, "key_file"))
		return 0;
	while (length > 1 && state[length - 1] == '/')
		length--;
	return json_object_set_new(values, "key_file",
				   json_sprintf("%.*s.key", (int)length, state));
}

static void borrow_values(struct config *c)
{
	c->state = json_string_value(json_object_get(c->values, "state"));
	c->socket = json_string_value(json_object_get(c->values, "socket"));
	c->key_file = json_string_value(json_object_get(c->values, "key_file"));
	c->readers_group = json_string_value(json_object_get(c->values, "readers_group"));
	c->recorder_user = json_string_value(json_object_get(c->values, "recorder_user"));
	c->ring_bytes = json_integer_value(json_object_get(c->values, "ring_bytes"));
	c->rings = json_integer_value(json_object_get(c->values, "rings"));
	c->retention_bytes = json_integer_value(json_object_get(c->values, "retention_bytes"));
	c->retention_days = json_integer_value(json_object_get(c->values, "retention_days"));
	c->sessions_max = json_integer_value(json_object_get(c->values, "sessions_max"));
}

int config_load(const char *file, const json_t *overrides, struct config *ret_config,
		struct fault *ret_fault)
{
	cleanup(config) struct config c = {0};

	if (file) {
		int r = settings_read(config_settings, file, &c.values, ret_fault);
		if (r < 0)
			return r;
	} else {
		c.values = json_object();
	}
	int r = settings_check(config_settings, overrides, ret_fault);
	if (r < 0)
		return r;

	if (json_object_update(c.values, (json_t *)overrides) < 0 ||
	    settings_complete(config_settings, c.values) < 0 || name_key_file(c.values) < 0)
		return fault_set(ret_fault, -ENOMEM, "no_memory", "out of memory");
	borrow_values(&c);
	if (c.ring_bytes & (c.ring_bytes - 1))
		return fault_set(ret_fault, -EINVAL, "bad_setting",
				 "ring_bytes: %llu: bad value; allowed: a power of two",
				 (unsigned long long)c.ring_bytes);

	*ret_config = c;
	c = (struct config){0};
	return 0;
}

/* Write a new key under a name of its own, whole and on disk before it gets @path. */
static int write_key(const char *name, uint8_t ret_key[KEY_SIZE])
{
	cleanup(close_fd) int fd =
		open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;

	if (getrandom(ret_key, KEY_SIZE, 0) != KEY_SIZE)
		return -EIO;
	ssize_t n = write(fd, ret_key, KEY_SIZE);
	if (n != KEY_SIZE)
		return n < 0 ? -errno : -ENOSPC;
	return fsync(fd) < 0 ? -errno : 0;
}

/* Of two daemons that start at once one makes the key, and the other reads it. */
static int make_key(const char *path, struct fault *ret_fault)
{
	char name[PATH_MAX];
	uint8_t key[KEY_SIZE];

	if (snprintf(name, sizeof(name), "%s.%d", path, getpid()) >= (int)sizeof(name))
		return fault_set(ret_fault, -ENAMETOOLONG, "no_key", "%s: name is too long", path);
	unlink(name);
	int r = write_key(name, key);
	if (r == 0 && link(name, path) < 0 && errno != EEXIST)
		r = -errno;
	unlink(name);
	explicit_bzero(key, sizeof(key));
	return r < 0 ? fault_set(ret_fault, r, "no_key", "%s: %s", path, strerror(-r)) : 0;
}

int config_load_key(const char *path, uint8_t ret_key[32], struct fault *ret_fault)
{
	struct stat st;
	uint8_t key[KEY_SIZE + 1];

	if (access(path, F_OK) < 0) {
		int r = make_key(path, ret_fault);
		if (r < 0)
			return r;
	}
	cleanup(close_fd) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fault_set(ret_fault, -errno, "no_key", "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return fault_set(ret_fault, -EPERM, "no_key",
				 "%s: the deployment key has to be a file of root with mode 0600",
				 path);
	ssize_t n = read(fd, key, sizeof(key));
	if (n != KEY_SIZE)
		return fault_set(ret_fault, -EINVAL, "no_key",
				 "%s: the deployment key has to be 32 bytes long", path);
	memcpy(ret_key, key, KEY_SIZE);
	explicit_bzero(key, sizeof(key));
	return 0;
}
