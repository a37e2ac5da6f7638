/* The table of the configuration's keys. */
#include "config.h"

#include "control.h"
#include "record/cleanup.h"
#include "record/jansson_cleanup.h"
#include "record/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const log_levels[] = {"notice", "debug", NULL};

const struct setting config_settings[] = {
	{"group", SETTING_NAME, .max = 32, .otherwise = "\"vitrine\"",
	 .doc = "Group whose members may connect; where the host has none of this name only root "
		"may."},
	{"key_file", SETTING_PATH,
	 .doc = "The deployment key, under which digests and tags in records are made; outside the "
		"state directory. Default: the name of the state directory and .key."},
	{"metrics", SETTING_LISTEN,
	 .doc = "Where metrics are served: unix:/PATH, or a loopback address and port. Default: "
		"nowhere."},
	{"log_level", SETTING_CHOICE, log_levels, .otherwise = "\"notice\"",
	 .doc = "How much is logged; debug tells of each session how long its steps took."},
	{"pool", SETTING_NUMBER, .min = 0, .max = 256, .otherwise = "0",
	 .doc = "Sandboxes that are made ahead, for sessions to start at once: all but those with "
		"rootfs or net host. Each takes ring_bytes of memory, and about a megabyte more."},
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
	{"rings", SETTING_NUMBER, .min = 1, .max = 1024, .otherwise = "8",
	 .doc = "Rings that are made ahead."},
	{"sessions_max", SETTING_NUMBER, .min = 1, .max = 1024, .otherwise = "1024",
	 .doc = "Sessions that may live at once."},
	{"socket", SETTING_PATH, .otherwise = "\"" CONTROL_SOCKET "\"",
	 .doc = "Where clients connect."},
	{"state", SETTING_PATH, .otherwise = "\"" STORE_DEFAULT_STATE "\"",
	 .doc = "The state directory, which holds the records."},
	{"users", SETTING_USERS, .otherwise = "{\"@vitrine\": {}}",
	 .doc = "What users other than root may ask for: of NAME, @GROUP or * the sessions at "
		"once, "
		"the most of each limit, the tenant and what is allowed beside; the first row that "
		"a user belongs to counts."},
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

/* "<state>.key" */
static json_t *key_beside(const char *state)
{
	size_t length = strlen(state);

	while (length > 1 && state[length - 1] == '/')
		length--;
	return json_sprintf("%.*s.key", (int)length, state);
}

static int name_key_file(json_t *values)
{
	const char *state = json_string_value(json_object_get(values, "state"));

	if (json_object_get(values, "key_file"))
		return 0;
	return json_object_set_new(values, "key_file", key_beside(state));
}

static void borrow_values(struct config *c)
{
	c->state = json_string_value(json_object_get(c->values, "state"));
	c->socket = json_string_value(json_object_get(c->values, "socket"));
	c->key_file = json_string_value(json_object_get(c->values, "key_file"));
	c->metrics = json_string_value(json_object_get(c->values, "metrics"));
	c->readers_group = json_string_value(json_object_get(c->values, "readers_group"));
	c->recorder_user = json_string_value(json_object_get(c->values, "recorder_user"));
	c->is_debugged =
		strcmp(json_string_value(json_object_get(c->values, "log_level")), "debug") == 0;
	c->group = json_string_value(json_object_get(c->values, "group"));
	c->users = json_object_get(c->values, "users");
	c->ring_bytes = json_integer_value(json_object_get(c->values, "ring_bytes"));
	c->rings = json_integer_value(json_object_get(c->values, "rings"));
	c->retention_bytes = json_integer_value(json_object_get(c->values, "retention_bytes"));
	c->retention_days = json_integer_value(json_object_get(c->values, "retention_days"));
	c->pool = json_integer_value(json_object_get(c->values, "pool"));
	c->sessions_max = json_integer_value(json_object_get(c->values, "sessions_max"));
}

/* Put @overrides over the values of @c and the defaults under them, and hand it over. */
static int complete(struct config *c, const json_t *overrides, struct config *ret_config,
		    struct fault *ret_fault)
{
	int r = settings_check(config_settings, overrides, ret_fault);
	if (r < 0)
		return r;

	if (!c->values || json_object_update(c->values, (json_t *)overrides) < 0 ||
	    settings_complete(config_settings, c->values) < 0 || name_key_file(c->values) < 0)
		return fault_set(ret_fault, -ENOMEM, "no_memory", "out of memory");
	borrow_values(c);
	if (c->ring_bytes & (c->ring_bytes - 1))
		return fault_set(ret_fault, -EINVAL, "bad_setting",
				 "ring_bytes: %llu: bad value; allowed: a power of two",
				 (unsigned long long)c->ring_bytes);

	*ret_config = *c;
	*c = (struct config){0};
	return 0;
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
	return complete(&c, overrides, ret_config, ret_fault);
}

/* ---- what is kept ---- */

static bool is_kept(const char *name)
{
	return !strcmp(name, "key_file") || !strcmp(name, "readers_group") ||
	       !strcmp(name, "recorder_user");
}

/* Those of @c that are to be kept, without their defaults. NULL: out of memory. */
static json_t *kept_of(const struct config *c)
{
	cleanup(json) json_t *kept = json_object(), *usual = json_object();
	const struct setting *s = config_settings;

	if (!kept || settings_complete(config_settings, usual) < 0 ||
	    json_object_set_new(usual, "key_file", key_beside(c->state)) < 0)
		return NULL;
	for (; s->name; s++) {
		json_t *value = json_object_get(c->values, s->name);

		if (is_kept(s->name) && !json_equal(value, json_object_get(usual, s->name)) &&
		    json_object_set(kept, s->name, value) < 0)
			return NULL;
	}
	return json_incref(kept);
}

static int write_kept(int state_fd, const json_t *kept)
{
	cleanup(free) char *text = json_dumps(kept, JSON_INDENT(2) | JSON_SORT_KEYS);
	cleanup(close_fd) int fd =
		openat(state_fd, CONFIG_KEPT ".tmp",
		       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (!text)
		return -ENOMEM;
	if (fd < 0 || dprintf(fd, "%s\n", text) < 0 || fsync(fd) < 0 ||
	    renameat(state_fd, CONFIG_KEPT ".tmp", state_fd, CONFIG_KEPT) < 0)
		return -errno;
	return 0;
}

int config_keep(int state_fd, const struct config *c)
{
	cleanup(json) json_t *kept = kept_of(c);

	if (!kept)
		return -ENOMEM;
	if (json_object_size(kept))
		return write_kept(state_fd, kept);
	return unlinkat(state_fd, CONFIG_KEPT, 0) < 0 && errno != ENOENT ? -errno : 0;
}

/* What @state keeps, if there is anything; who may write there but root could name another key. */
static int read_kept(const char *state, json_t **ret_values, struct fault *f)
{
	char path[PATH_MAX];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/" CONFIG_KEPT, state) >= (int)sizeof(path))
		return fault_set(f, -ENAMETOOLONG, "state", "%s: name is too long", state);
	if (lstat(path, &st) < 0 && errno == ENOENT) {
		*ret_values = json_object();
		return 0;
	}
	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 022))
		return fault_set(f, -EPERM, "state",
				 "%s: has to be a file that belongs to root and is writable by "
				 "nobody else; start vitrined, which writes it anew, or remove it",
				 path);
	return settings_read(config_settings, path, ret_values, f);
}

int config_load_kept(const json_t *overrides, struct config *ret_config, struct fault *ret_fault)
{
	const char *state = json_string_value(json_object_get(overrides, "state"));
	cleanup(config) struct config c = {0};
	int r = read_kept(state ? state : STORE_DEFAULT_STATE, &c.values, ret_fault);

	return r < 0 ? r : complete(&c, overrides, ret_config, ret_fault);
}
