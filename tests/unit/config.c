/* The daemon's configuration and its deployment key. */
#include "../../supervisor/config.h"
#include "../../supervisor/deployment_key.h"

#include "../../supervisor/record/jansson_cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

struct place {
	char dir[64], key[96], file[96];
};

static int make_place(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	strncpy(p->dir, "/tmp/vitrine-config-XXXXXX", sizeof(p->dir) - 1);
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->key, sizeof(p->key), "%s/state.key", p->dir);
	snprintf(p->file, sizeof(p->file), "%s/config.json", p->dir);
	*state = p;
	return 0;
}

static int remove_place(void **state)
{
	struct place *p = *state;

	unlink(p->key);
	unlink(p->file);
	assert_int_equal(rmdir(p->dir), 0);
	free(p);
	return 0;
}

static void write_file(const char *path, const void *data, size_t size, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static void options_override_the_file_and_the_file_the_defaults(void **state)
{
	struct place *p = *state;
	struct config c;
	struct fault f;
	static const char text[] = "{\"state\": \"/srv/a\", \"socket\": \"/run/a\"}";
	cleanup(json) json_t *overrides = json_pack("{s:s}", "state", "/srv/b//");

	write_file(p->file, text, strlen(text), 0644);
	assert_int_equal(config_load(p->file, overrides, &c, &f), 0);
	assert_string_equal(c.state, "/srv/b//");
	assert_string_equal(c.socket, "/run/a");
	assert_string_equal(c.key_file, "/srv/b.key");
	assert_int_equal(c.rings, 8);
	config_free(&c);
}

static void bad_values_are_refused(void **state)
{
	struct place *p = *state;
	struct config c;
	struct fault f;
	static const char text[] = "{\n\"rings\": 0}";
	cleanup(json) json_t *none = json_object();
	cleanup(json) json_t *odd = json_pack("{s:i}", "ring_bytes", (4 << 20) + 1);

	write_file(p->file, text, strlen(text), 0644);
	assert_int_equal(config_load(p->file, none, &c, &f), -EINVAL);
	assert_non_null(strstr(f.text, "config.json:2: rings: 0: "));
	assert_int_equal(config_load(NULL, odd, &c, &f), -EINVAL);
	assert_non_null(strstr(f.text, "a power of two"));
}

/* What was set and is no default is there for whoever works in the state directory later. */
static void settings_of_records_are_kept_beside_them(void **state)
{
	struct place *p = *state;
	struct config c;
	struct fault f;
	char kept[128];
	static const char text[] = "{\"key_file\": \"/srv/key\", \"readers_group\": \"auditors\", "
				   "\"rings\": 3}";
	cleanup(json) json_t *here = json_pack("{s:s}", "state", p->dir);
	int fd = open(p->dir, O_RDONLY | O_DIRECTORY);

	snprintf(kept, sizeof(kept), "%s/" CONFIG_KEPT, p->dir);
	write_file(p->file, text, strlen(text), 0644);
	assert_int_equal(config_load(p->file, here, &c, &f), 0);
	assert_int_equal(config_keep(fd, &c), 0);
	config_free(&c);
	assert_int_equal(config_load_kept(here, &c, &f), 0);
	assert_string_equal(c.key_file, "/srv/key");
	assert_string_equal(c.readers_group, "auditors");
	assert_string_equal(c.recorder_user, "vitrine-recorder");
	assert_int_equal(c.rings, 8);
	config_free(&c);

	assert_int_equal(chmod(kept, 0622), 0);
	assert_int_equal(config_load_kept(here, &c, &f), -EPERM);
	assert_non_null(strstr(f.text, kept));

	assert_int_equal(config_load(NULL, here, &c, &f), 0); /* the defaults: nothing is to keep */
	assert_int_equal(config_keep(fd, &c), 0);
	config_free(&c);
	assert_int_equal(access(kept, F_OK), -1);
	assert_int_equal(config_load_kept(here, &c, &f), 0);
	assert_string_equal(c.readers_group, "vitrine-export");
	config_free(&c);
	close(fd);
}

static void the_key_is_made_once_and_kept(void **state)
{
	struct place *p = *state;
	struct fault f;
	struct stat st;
	uint8_t first[32] = {0}, second[32] = {0}, zero[32] = {0};

	assert_int_equal(deployment_key_load(p->key, first, &f), 0);
	assert_int_equal(stat(p->key, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, 32);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(deployment_key_load(p->key, second, &f), 0);
	assert_memory_equal(first, second, 32);
	assert_memory_not_equal(first, zero, 32);
}

static void a_key_that_others_may_read_or_that_is_short_is_refused(void **state)
{
	struct place *p = *state;
	struct fault f;
	uint8_t key[32];

	write_file(p->key, "0123456789abcdef0123456789abcdef", 32, 0644);
	assert_int_equal(deployment_key_load(p->key, key, &f), -EPERM);
	write_file(p->key, "short", 5, 0600);
	assert_int_equal(deployment_key_load(p->key, key, &f), -EINVAL);
	unlink(p->key);
	assert_int_equal(symlink("/etc/passwd", p->key), 0);
	assert_true(deployment_key_load(p->key, key, &f) < 0);
	assert_int_equal(deployment_key_load("/no/such/dir/key", key, &f), -ENOENT);
}

static int count_keys(void *context, const uint8_t key[32], const char *id)
{
	size_t *count = context;

	(void)key;
	assert_int_equal(strlen(id), DEPLOYMENT_KEY_ID);
	(*count)++;
	return 0;
}

/* A new key takes the place, and the old one stays where its id says. */
static void a_key_can_be_replaced(void **state)
{
	struct place *p = *state;
	char old_id[DEPLOYMENT_KEY_ID + 1], new_id[DEPLOYMENT_KEY_ID + 1], path[PATH_MAX];
	uint8_t before[32], after[32], kept[32];
	size_t count = 0;
	struct fault f;

	assert_int_equal(deployment_key_rotate(p->key, old_id, new_id, &f), -ENOENT);
	assert_int_equal(deployment_key_load(p->key, before, &f), 0);
	assert_int_equal(deployment_key_rotate(p->key, old_id, new_id, &f), 0);
	assert_string_not_equal(old_id, new_id);
	assert_int_equal(deployment_key_load(p->key, after, &f), 0);
	assert_memory_not_equal(before, after, 32);
	snprintf(path, sizeof(path), "%s.%s", p->key, old_id);
	assert_int_equal(deployment_key_load(path, kept, &f), 0);
	assert_memory_equal(before, kept, 32);
	assert_int_equal(deployment_key_each(p->key, count_keys, &count, &f), 0);
	assert_int_equal(count, 2);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(options_override_the_file_and_the_file_the_defaults,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(bad_values_are_refused, make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_key_can_be_replaced, make_place, remove_place),
		cmocka_unit_test_setup_teardown(settings_of_records_are_kept_beside_them,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(the_key_is_made_once_and_kept, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(
			a_key_that_others_may_read_or_that_is_short_is_refused, make_place,
			remove_place),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
