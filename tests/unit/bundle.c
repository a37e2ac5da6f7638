/*
 * Bundles: the same bytes each time, verified as they are, and not one byte of them can be changed.
 */
#include "signed_world.h"

#include "replay/commands.h"
#include "replay/evidence.h"
#include "replay/tar.h"

#if defined(__SANITIZE_ADDRESS__)
#define STEP 199 /* a place in so many is tried; STEP=1 in the environment tries all */
#else
#define STEP 23
#endif

static const struct journal_options small = {.segment_bytes = 1200, .block_bytes = 300};

struct world {
	struct host_world host;
	char bundle[128];
	uint8_t *bytes;
	size_t size;
};

static void write_manifest(const struct host_world *h)
{
	static const char manifest[] =
		"{\"id\": \"" SESSION_A "\", \"command\": [\"true\"], \"state\": \"ended\", "
		"\"reason\": \"exit\", \"exit_code\": 0, \"started_ns\": 1, \"ended_ns\": 2, "
		"\"records\": 9, \"lost\": 0, \"supervisor\": {\"pid\": 1, \"start\": 1}}\n";
	struct scratch dir = host_session(h, SESSION_A);

	scratch_write(&dir, "manifest.json", manifest, sizeof(manifest) - 1);
	close(dir.fd);
}

static int run(const struct command *c, const char *const *arguments)
{
	char *argv[16] = {(char *)c->name};
	int argc = 1;

	for (; arguments[argc - 1]; argc++)
		argv[argc] = (char *)arguments[argc - 1];
	return command_main("vitrine", c, argc, argv);
}

static int make_bundle(const struct world *w, const char *file, bool is_signed)
{
	return run(&command_bundle,
		   (const char *const[]){"--state", w->host.state, "--key", w->host.key, "--output",
					 file, SESSION_A, is_signed ? "--sign" : NULL, NULL});
}

static int verify(const struct world *w)
{
	return run(&command_verify,
		   (const char *const[]){"--quiet", "--key", w->host.key, "--state", w->host.state,
					 w->bundle, NULL});
}

static int set_up_signed(void **state, bool is_signed)
{
	struct world *w = calloc(1, sizeof(*w));

	w->host = host_new();
	host_record(&w->host, SESSION_B, 3, NULL);
	host_record(&w->host, SESSION_A, 9, &small);
	write_manifest(&w->host);
	snprintf(w->bundle, sizeof(w->bundle), "%s/bundle.tar", w->host.root.path);
	if (make_bundle(w, w->bundle, is_signed))
		return -1;
	w->bytes = scratch_read(&w->host.root, "bundle.tar", &w->size);
	*state = w;
	return 0;
}

static int set_up(void **state)
{
	return set_up_signed(state, false);
}

static int set_up_with_envelope(void **state)
{
	return set_up_signed(state, true);
}

static int tear_down(void **state)
{
	struct world *w = *state;

	free(w->bytes);
	host_free(&w->host);
	free(w);
	return 0;
}

static void the_same_session_makes_the_same_bytes(void **state)
{
	const struct world *w = *state;
	char again[128];
	uint8_t *bytes;
	size_t size;

	snprintf(again, sizeof(again), "%s/again.tar", w->host.root.path);
	assert_int_equal(make_bundle(w, again, false), 0);
	bytes = scratch_read(&w->host.root, "again.tar", &size);
	assert_int_equal(size, w->size);
	assert_memory_equal(bytes, w->bytes, size);
	free(bytes);
}

static size_t step(void)
{
	const char *text = getenv("STEP");

	return text ? strtoul(text, NULL, 10) : STEP;
}

static void no_byte_can_be_changed(void **state)
{
	const struct world *w = *state;

	assert_int_equal(verify(w), VERIFY_INTACT);
	for (size_t at = 0; at < w->size; at += step()) {
		w->bytes[at] ^= (uint8_t)(1 << (at % 7));
		scratch_write(&w->host.root, "bundle.tar", w->bytes, w->size);
		if (verify(w) == VERIFY_INTACT)
			fail_msg("byte %zu does not count", at);
		w->bytes[at] ^= (uint8_t)(1 << (at % 7));
	}
}

static void no_end_can_be_cut_and_none_put_on(void **state)
{
	const struct world *w = *state;
	uint8_t *longer = calloc(1, w->size + 1);

	for (size_t size = 0; size < w->size; size += 17 * step()) {
		scratch_write(&w->host.root, "bundle.tar", w->bytes, size);
		assert_int_not_equal(verify(w), VERIFY_INTACT);
	}
	memcpy(longer, w->bytes, w->size);
	scratch_write(&w->host.root, "bundle.tar", longer, w->size + 1);
	assert_int_not_equal(verify(w), VERIFY_INTACT);
	free(longer);
}

static void an_import_reads_as_the_session_did(void **state)
{
	const struct world *w = *state;
	char there[128];

	snprintf(there, sizeof(there), "%s/there", w->host.root.path);
	const char *const import[] = {"--state", there, "--key", w->host.key, w->bundle, NULL};
	assert_int_equal(run(&command_import, import), 0);
	assert_int_equal(
		run(&command_verify, (const char *const[]){"--quiet", "--state", there, "--key",
							   w->host.key, SESSION_A, NULL}),
		VERIFY_INTACT);
	assert_int_equal(run(&command_verify,
			     (const char *const[]){"--quiet", "--state", there, SESSION_A, NULL}),
			 VERIFY_UNKNOWN);
	assert_int_equal(run(&command_import, import), 1); /* it is there already */

	w->bytes[w->size / 2] ^= 4;
	scratch_write(&w->host.root, "bundle.tar", w->bytes, w->size);
	snprintf(there, sizeof(there), "%s/elsewhere", w->host.root.path);
	assert_int_equal(run(&command_import, import), 1);
	w->bytes[w->size / 2] ^= 4;
}

/* What a bundle may not bring along: names that lead elsewhere, or twice. */
static void strange_members_are_refused(void **state)
{
	static const char *const names[][2] = {
		{"../escape", "manifest.json"},	     {"/tmp/escape", "manifest.json"},
		{"manifest.json", "manifest.json"},  {"sub/manifest.json", "checkpoints"},
		{"000000.vtj.tmp", "manifest.json"}, {"", "manifest.json"},
	};
	const struct world *w = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		FILE *out = fopen(w->bundle, "we");

		for (size_t k = 0; k < 2; k++) {
			assert_int_equal(tar_head(out, names[i][k], 2), 0);
			fputs("{}", out);
			assert_int_equal(tar_fill(out, 2), 0);
		}
		assert_int_equal(tar_end(out), 0);
		fclose(out);
		assert_int_equal(verify(w), VERIFY_TAMPERED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_same_session_makes_the_same_bytes, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(no_byte_can_be_changed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_byte_can_be_changed, set_up_with_envelope,
						tear_down),
		cmocka_unit_test_setup_teardown(no_end_can_be_cut_and_none_put_on, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(an_import_reads_as_the_session_did, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(strange_members_are_refused, set_up, tear_down),
	};

	/* Each verdict unpacks the bundle: in memory, where that can be. */
	if (!access("/dev/shm", W_OK))
		setenv("TMPDIR", "/dev/shm", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
