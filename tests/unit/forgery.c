/*
 * What somebody does to a record who has more than an editor: the key of the moment, the front of
 * the record gone, a large record bent somewhere; and a disk that is full while it is signed, which
 * is nobody's forgery. ROUNDS is how many times a large record is bent.
 */
#include "signed_world.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#define SEGMENTED 400
#define LARGE 6000

static const struct journal_options several = {.segment_bytes = 8192, .block_bytes = 2048};

static enum verdict verdict_of(const struct host_world *h)
{
	return host_verify(h, SESSION_A).verdict;
}

/* ---- re-sealing with a newer key ---- */

/* Root took the key of the moment, wrote the record anew with one path changed, and signed all of
 * it with that key. The ledger's line vouches for the first key, and is public. */
static void a_newer_key_signs_nothing_older(void **state)
{
	struct host_world h = host_new();
	struct scratch dir = host_session(&h, SESSION_A), forged = scratch_new();
	uint8_t seed[SIGN_SEED_SIZE], public[SIGN_PUBLIC_SIZE], stolen[SIGN_SEED_SIZE];
	char name[LEDGER_NAME_MAX], line[LEDGER_LINE_MAX];
	struct checkpoints_key key = {.origin = name, .opened = line, .seed = seed};
	struct journal_options options = several;
	struct journal *j;
	const char *files[] = {"000000.vtj", "000001.vtj", "checkpoints"};

	(void)state;
	ledger_name(SESSION_A, name);
	assert_int_equal(sign_seed(seed) || sign_seed(stolen) || sign_public(seed, public), 0);
	assert_int_equal(ledger_add(h.state, LEDGER_OPEN, name, public, false, line), 0);
	options.session = SESSION_A;
	options.key = &key;
	assert_int_equal(journal_open(dir.fd, &options, &j), 0);
	host_fill(j, SEGMENTED - 1, 40);
	host_append(j, EVENT_session_end);
	host_end(&h, SESSION_A, j);
	assert_int_equal(verdict_of(&h), VERIFY_INTACT);

	/* Any later key is one that the first note does not name. */
	key.seed = stolen;
	assert_int_equal(journal_open(forged.fd, &options, &j), 0);
	host_fill(j, SEGMENTED - 2, 40);
	host_append(j, EVENT_file_delete);
	host_append(j, EVENT_session_end);
	assert_int_equal(journal_close(j), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		size_t size;
		uint8_t *bytes = scratch_read(&forged, files[i], &size);

		scratch_write(&dir, files[i], bytes, size);
		free(bytes);
	}
	assert_int_equal(verdict_of(&h), VERIFY_TAMPERED);
	scratch_free(&forged);
	close(dir.fd);
	host_free(&h);
}

/* ---- the front cut off ---- */

static void a_front_that_is_gone_is_missed(void **state)
{
	struct host_world h = host_new();
	struct scratch dir = host_session(&h, SESSION_A);
	size_t size, at;
	uint8_t *notes;

	(void)state;
	host_record(&h, SESSION_A, SEGMENTED, &several);
	notes = scratch_read(&dir, "checkpoints", &size);
	assert_int_equal(unlinkat(dir.fd, "000000.vtj", 0), 0);
	assert_int_equal(verdict_of(&h), VERIFY_TAMPERED);

	/* The notes about it, too. */
	for (at = 0; at < size / 2;) {
		struct note note;
		int length = note_read((struct bytes){notes + at, size - at}, &note);

		assert_true(length > 0);
		at += (size_t)length;
	}
	scratch_write(&dir, "checkpoints", notes + at, size - at);
	assert_int_equal(verdict_of(&h), VERIFY_TAMPERED);

	/* What is left moved to the front. */
	assert_int_equal(renameat(dir.fd, "000001.vtj", dir.fd, "000000.vtj"), 0);
	assert_int_equal(verdict_of(&h), VERIFY_TAMPERED);
	free(notes);
	close(dir.fd);
	host_free(&h);
}

/* ---- a large record, bent at random ---- */

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* One byte, a piece taken out, put in twice, or two pieces in each other's place. */
static size_t bend(uint8_t *bytes, size_t size, uint64_t *random, uint8_t *ret_bent)
{
	size_t length = 1 + next_random(random) % 300, from, to;

	from = next_random(random) % (size - 2 * length);
	to = from + length + next_random(random) % (size - from - 2 * length + 1);
	memcpy(ret_bent, bytes, size);
	switch (next_random(random) % 4) {
	case 0:
		ret_bent[from] ^= (uint8_t)(1 + next_random(random) % 255);
		return size;
	case 1:
		memmove(ret_bent + from, bytes + from + length, size - from - length);
		return size - length;
	case 2:
		memcpy(ret_bent + from + length, bytes + from, size - from);
		return size + length;
	default:
		memcpy(ret_bent + from, bytes + to, length);
		memcpy(ret_bent + to, bytes + from, length);
		return size;
	}
}

static void a_large_record_cannot_be_bent(void **state)
{
	const char *wanted = getenv("ROUNDS");
	size_t rounds = wanted ? strtoul(wanted, NULL, 10) : 16;
	struct host_world h = host_new();
	struct scratch dir = host_session(&h, SESSION_A);
	uint64_t random = 0x9e3779b97f4a7c15;

	(void)state;
	host_record(&h, SESSION_A, LARGE,
		    &(struct journal_options){.segment_bytes = 100000,
					      .block_bytes = 4096,
					      .compress = true,
					      .compress_least = 1});
	assert_int_equal(verdict_of(&h), VERIFY_INTACT);
	for (size_t i = 0; i < rounds; i++) {
		char name[32];
		size_t size, bent_size;
		uint8_t *bytes, *bent;

		snprintf(name, sizeof(name), "%06u.vtj", (unsigned)(next_random(&random) % 3));
		if (next_random(&random) % 4 == 0 || !scratch_has(&dir, name))
			snprintf(name, sizeof(name), "checkpoints");
		bytes = scratch_read(&dir, name, &size);
		bent = malloc(size + 1024);
		bent_size = bend(bytes, size, &random, bent);
		if (bent_size != size || memcmp(bent, bytes, size) != 0) {
			scratch_write(&dir, name, bent, bent_size);
			if (verdict_of(&h) == VERIFY_INTACT)
				fail_msg("round %zu: %s was bent, and is intact", i, name);
		}
		scratch_write(&dir, name, bytes, size);
		free(bent);
		free(bytes);
	}
	assert_int_equal(verdict_of(&h), VERIFY_INTACT);
	close(dir.fd);
	host_free(&h);
}

/* ---- a full disk ---- */

static void fill_disk(int dir_fd)
{
	static const char zeroes[4096];
	int fd = openat(dir_fd, "filler", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	for (size_t size = sizeof(zeroes); size; size /= 2)
		while (write(fd, zeroes, size) > 0)
			;
	close(fd);
}

/* Records go on while there is room for them and none for what signs them, again and again: nothing
 * of that is tampering, and with room again the record is whole. */
static void a_disk_that_is_full_is_no_forgery(void **state)
{
	struct host_world h;
	struct scratch dir;
	struct journal *j;
	uint64_t now_ns = 1, failures = 0;
	char path[128];

	(void)state;
	if (geteuid() || unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip();
	h = host_new();
	j = host_open(&h, SESSION_A, &several);
	assert_int_equal(journal_close(j), 0);
	snprintf(path, sizeof(path), "%s/sessions/%s", h.state, SESSION_A);
	dir = host_session(&h, SESSION_A);
	scratch_empty(dir.fd);
	close(dir.fd);
	assert_int_equal(mount("tmpfs", path, "tmpfs", 0, "size=256k"), 0);
	dir = host_session(&h, SESSION_A);
	j = host_open(&h, SESSION_A, &several);
	for (size_t round = 0; round < 20; round++) {
		host_append(j, EVENT_file_open);
		fill_disk(dir.fd);
		for (size_t i = 0; i < 30; i++) {
			int r = journal_flush(j, now_ns += 2000000000);

			failures += r == -ENOSPC;
			assert_true(r == 0 || r == -ENOSPC);
			assert_int_not_equal(verdict_of(&h), VERIFY_TAMPERED);
			if (r)
				break;
			host_append(j, EVENT_file_open);
		}
		assert_int_equal(unlinkat(dir.fd, "filler", 0), 0);
		assert_int_equal(journal_retry(j), 0);
		assert_int_not_equal(verdict_of(&h), VERIFY_TAMPERED);
	}
	assert_true(failures > 10);
	host_append(j, EVENT_session_end);
	host_end(&h, SESSION_A, j);
	assert_int_equal(verdict_of(&h), VERIFY_INTACT);
	close(dir.fd);
	assert_int_equal(umount2(path, MNT_DETACH), 0);
	host_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_newer_key_signs_nothing_older),
		cmocka_unit_test(a_front_that_is_gone_is_missed),
		cmocka_unit_test(a_large_record_cannot_be_bent),
		cmocka_unit_test(a_disk_that_is_full_is_no_forgery),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
