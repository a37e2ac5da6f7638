/* Names of addresses: the last one counts, and old ones make room. */
#include "../../supervisor/capture/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static int set_up(void **state)
{
	struct hosts *h;

	assert_int_equal(hosts_new(&h), 0);
	*state = h;
	return 0;
}

static int tear_down(void **state)
{
	hosts_free(*state);
	return 0;
}

static void learn(struct hosts *h, uint32_t address, const char *name)
{
	hosts_learn(h, (const uint8_t *)&address, sizeof(address),
		    (struct bytes){name, strlen(name)});
}

static host_ref find(const struct hosts *h, uint32_t address)
{
	return hosts_find(h, (const uint8_t *)&address, sizeof(address));
}

static void expect(const struct hosts *h, host_ref ref, const char *name)
{
	struct bytes have = hosts_name(h, ref);

	if (!name) {
		assert_null(have.data);
		return;
	}
	assert_int_equal(have.size, strlen(name));
	assert_memory_equal(have.data, name, have.size);
}

static void the_last_name_counts(void **state)
{
	struct hosts *h = *state;

	expect(h, find(h, 1), NULL);
	learn(h, 1, "one.test");
	learn(h, 2, "two.test");
	expect(h, find(h, 1), "one.test");
	host_ref before = find(h, 1);
	learn(h, 1, "one.test");
	assert_true(find(h, 1) == before);
	learn(h, 1, "other.test");
	expect(h, find(h, 1), "other.test");
	expect(h, before, NULL);
	expect(h, find(h, 2), "two.test");
	expect(h, 0, NULL);
}

static void v4_and_v4_mapped_are_one_address(void **state)
{
	static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff, [12] = 9, 9, 9, 9};
	struct hosts *h = *state;

	learn(h, 0x09090909, "nine.test");
	expect(h, hosts_find(h, mapped, sizeof(mapped)), "nine.test");
}

static void names_without_an_end_are_not_kept(void **state)
{
	char name[HOST_NAME_MAX_SHOWN + 2];
	struct hosts *h = *state;

	memset(name, 'a', sizeof(name));
	name[HOST_NAME_MAX_SHOWN + 1] = 0;
	learn(h, 1, name);
	learn(h, 2, "");
	expect(h, find(h, 1), NULL);
	expect(h, find(h, 2), NULL);
	name[HOST_NAME_MAX_SHOWN] = 0;
	learn(h, 1, name);
	expect(h, find(h, 1), name);
}

static void the_oldest_makes_room(void **state)
{
	struct hosts *h = *state;
	host_ref first;

	for (uint32_t i = 1; i <= HOSTS_MAX; i++)
		learn(h, i, "early.test");
	first = find(h, 1);
	expect(h, first, "early.test");
	for (uint32_t i = 1; i <= 100; i++)
		learn(h, HOSTS_MAX + i, "late.test");
	for (uint32_t i = 1; i <= 100; i++) {
		expect(h, find(h, i), NULL);
		expect(h, find(h, HOSTS_MAX + i), "late.test");
	}
	expect(h, first, NULL);
	expect(h, find(h, 101), "early.test");
	for (uint32_t i = 1; i <= 3 * HOSTS_MAX; i++)
		learn(h, i * 7919, "churn.test");
	expect(h, find(h, 3 * HOSTS_MAX * 7919), "churn.test");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(the_last_name_counts),
		TEST(v4_and_v4_mapped_are_one_address),
		TEST(names_without_an_end_are_not_kept),
		TEST(the_oldest_makes_room),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
