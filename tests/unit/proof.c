/*
 * Every record of a signed session can be proved, and nothing else.
 */
#include "signed_world.h"

#include "replay/proof.h"

#define RECORDS 23

static const struct journal_options small = {.segment_bytes = 1200, .block_bytes = 300};

struct world {
	struct host_world host;
	struct scratch dir;
	struct trusted_keys keys;
};

static int set_up(void **state)
{
	static struct world w;

	w.host = host_new();
	host_record(&w.host, SESSION_B, 4, NULL);
	host_record(&w.host, SESSION_A, RECORDS, &small);
	w.dir = host_session(&w.host, SESSION_A);
	w.keys = (struct trusted_keys){0};
	if (trusted_keys_read(&w.keys, w.host.key))
		return -1;
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	trusted_keys_free(&w->keys);
	close(w->dir.fd);
	host_free(&w->host);
	return 0;
}

static json_t *prove(const struct world *w, uint64_t seq)
{
	json_t *proof = NULL;

	assert_int_equal(proof_make(w->dir.fd, w->host.root.fd, "state/chain", seq, &proof), 0);
	return proof;
}

static enum verdict check(const struct world *w, const json_t *proof, const json_t *event)
{
	struct verify_result result;

	assert_int_equal(proof_check(proof, event, &w->keys, &result), 0);
	return result.verdict;
}

static void each_record_can_be_proved(void **state)
{
	const struct world *w = *state;

	for (uint64_t seq = 1; seq <= RECORDS; seq++) {
		json_t *proof = prove(w, seq), *event = json_object_get(proof, "event");

		assert_int_equal(check(w, proof, NULL), VERIFY_INTACT);
		assert_int_equal(check(w, proof, event), VERIFY_INTACT);
		json_object_set_new(event, "pid", json_integer(999));
		assert_int_equal(check(w, proof, NULL), VERIFY_TAMPERED);
		json_decref(proof);
	}
}

static void what_is_not_there_cannot(void **state)
{
	const struct world *w = *state;
	json_t *proof = NULL;

	assert_int_equal(proof_make(w->dir.fd, w->host.root.fd, "state/chain", RECORDS + 1, &proof),
			 -ENODATA);
	assert_int_equal(proof_make(w->dir.fd, w->host.root.fd, "state/chain", 0, &proof),
			 -ENODATA);
}

/* Parts of one proof do not go with those of another. */
static void proofs_do_not_mix(void **state)
{
	static const char *const parts[] = {"seq", "record", "event", "path"};
	const struct world *w = *state;
	json_t *one = prove(w, 5), *other = prove(w, 6);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		json_t *mixed = json_copy(one);

		json_object_set(mixed, parts[i], json_object_get(other, parts[i]));
		assert_int_equal(check(w, mixed, NULL), VERIFY_TAMPERED);
		json_decref(mixed);
	}
	assert_int_equal(check(w, one, json_object_get(other, "event")), VERIFY_TAMPERED);
	json_decref(one);
	json_decref(other);
}

static void no_byte_can_be_changed(void **state)
{
	const struct world *w = *state;
	json_t *proof = prove(w, 15);
	char *text = json_dumps(proof, JSON_COMPACT);
	size_t size = strlen(text);

	for (size_t at = 0; at < size; at++) {
		json_t *bent;

		text[at] ^= 1;
		bent = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
		if (bent && check(w, bent, NULL) == VERIFY_INTACT)
			fail_msg("byte %zu: %.40s", at, text + at);
		json_decref(bent);
		text[at] ^= 1;
	}
	free(text);
	json_decref(proof);
}

static void it_takes_the_host_s_key(void **state)
{
	struct world w = *(struct world *)*state;
	struct host_world other = host_new();
	json_t *proof = prove(&w, 3);

	w.keys = (struct trusted_keys){0};
	assert_int_equal(check(&w, proof, NULL), VERIFY_UNKNOWN);
	host_record(&other, SESSION_A, 3, NULL);
	assert_int_equal(trusted_keys_read(&w.keys, other.key), 0);
	assert_int_equal(check(&w, proof, NULL), VERIFY_UNKNOWN);
	w.keys.is_given = true;
	assert_int_equal(check(&w, proof, NULL), VERIFY_TAMPERED);
	trusted_keys_free(&w.keys);
	json_decref(proof);
	host_free(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_record_can_be_proved),
		cmocka_unit_test(what_is_not_there_cannot),
		cmocka_unit_test(proofs_do_not_mix),
		cmocka_unit_test(no_byte_can_be_changed),
		cmocka_unit_test(it_takes_the_host_s_key),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
