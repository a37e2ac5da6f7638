/*
 * The tree against the vectors that implementations of RFC 6962 share, and proofs from every leaf
 * of every size.
 */
#include "supervisor/record/merkle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
/* cmocka wants the two above */
#include <cmocka.h>

#define COUNT 8
#define LARGEST 70

static const struct bytes inputs[COUNT] = {
	{"", 0},
	{"\x00", 1},
	{"\x10", 1},
	{"\x20\x21", 2},
	{"\x30\x31", 2},
	{"\x40\x41\x42\x43", 4},
	{"\x50\x51\x52\x53\x54\x55\x56\x57", 8},
	{"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f", 16},
};

static const char *const roots[COUNT + 1] = {
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
	"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
	"aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
	"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
	"4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
	"76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
	"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
	"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
};

static struct merkle *new_tree(void)
{
	struct merkle *m = NULL;

	assert_int_equal(merkle_new(&m), 0);
	return m;
}

static void assert_root(struct merkle *m, const char *hex)
{
	uint8_t root[HASH_SIZE];
	char text[2 * HASH_SIZE + 1];

	merkle_root(m, root);
	for (size_t i = 0; i < HASH_SIZE; i++)
		snprintf(text + 2 * i, 3, "%02x", root[i]);
	assert_string_equal(text, hex);
}

static void roots_are_those_of_the_rfc(void **state)
{
	struct merkle *m = new_tree();

	(void)state;
	assert_root(m, roots[0]);
	for (size_t i = 0; i < COUNT; i++) {
		merkle_add(m, inputs[i]);
		assert_int_equal(merkle_size(m), i + 1);
		assert_root(m, roots[i + 1]);
	}
	merkle_free(m);
}

static void a_lost_record_is_no_leaf_of_any(void **state)
{
	struct merkle *lost = new_tree();
	uint8_t one[HASH_SIZE], other[HASH_SIZE];

	(void)state;
	merkle_add_lost(lost);
	merkle_root(lost, one);
	for (size_t i = 0; i < COUNT; i++) {
		merkle_leaf(inputs[i], other);
		assert_memory_not_equal(one, other, HASH_SIZE);
	}
	merkle_free(lost);
}

/* A proof holds for its own leaf, place, size and root, and for no other. */
static void assert_proof(struct merkle *m, const uint8_t (*leaves)[HASH_SIZE], uint64_t count,
			 uint64_t index)
{
	uint8_t path[MERKLE_PATH_MAX][HASH_SIZE], root[HASH_SIZE];
	const uint8_t(*way)[HASH_SIZE] = (const uint8_t(*)[HASH_SIZE])path;
	size_t length = merkle_prove(leaves, count, index, path);

	merkle_root(m, root);
	assert_true(merkle_check(leaves[index], index, count, way, length, root));
	assert_false(merkle_check(leaves[index], index, count, way, length + 1, root));
	assert_false(merkle_check(leaves[index], count, count, way, length, root));
	if (count > 1) {
		assert_false(merkle_check(leaves[index], index, count, way, length - 1, root));
		assert_false(
			merkle_check(leaves[(index + 1) % count], index, count, way, length, root));
		path[length / 2][7] ^= 1;
		assert_false(merkle_check(leaves[index], index, count, way, length, root));
		path[length / 2][7] ^= 1;
	}
	root[0] ^= 1;
	assert_false(merkle_check(leaves[index], index, count, way, length, root));
}

static void every_leaf_can_be_proved(void **state)
{
	struct merkle *m = new_tree();
	uint8_t leaves[LARGEST][HASH_SIZE];

	(void)state;
	for (uint64_t count = 1; count <= LARGEST; count++) {
		merkle_leaf((struct bytes){&count, sizeof(count)}, leaves[count - 1]);
		merkle_add_leaf(m, leaves[count - 1]);
		for (uint64_t index = 0; index < count; index++)
			assert_proof(m, (const uint8_t(*)[HASH_SIZE])leaves, count, index);
	}
	merkle_free(m);
}

/* Behind any border a tree goes on to the same root, and what is behind it can be proved. */
static void a_tree_goes_on_without_its_leaves(void **state)
{
	uint8_t leaves[LARGEST][HASH_SIZE], path[MERKLE_PATH_MAX][HASH_SIZE], root[HASH_SIZE],
		other[HASH_SIZE];
	const uint8_t(*way)[HASH_SIZE] = (const uint8_t(*)[HASH_SIZE])path;

	(void)state;
	for (uint64_t i = 0; i < LARGEST; i++)
		merkle_leaf((struct bytes){&i, sizeof(i)}, leaves[i]);
	for (uint64_t border = 0; border < LARGEST; border++) {
		struct merkle *whole = new_tree(), *behind = new_tree();
		struct merkle_state kept;

		for (uint64_t i = 0; i < border; i++)
			merkle_add_leaf(whole, leaves[i]);
		merkle_save(whole, &kept);
		assert_true(merkle_load(behind, &kept));
		assert_true(border == 0 || merkle_is_first(&kept, leaves[0]));
		assert_false(merkle_is_first(&kept, leaves[1]));
		for (uint64_t count = border + 1; count <= LARGEST; count++) {
			merkle_add_leaf(whole, leaves[count - 1]);
			merkle_add_leaf(behind, leaves[count - 1]);
			merkle_root(whole, root);
			merkle_root(behind, other);
			assert_memory_equal(root, other, HASH_SIZE);
			for (uint64_t index = 0; index < count; index++) {
				int length = merkle_prove_behind(
					&kept, (const uint8_t(*)[HASH_SIZE])leaves + border, count,
					index, path);

				if (index && index < border)
					assert_int_equal(length, -1);
				else
					assert_true(merkle_check(leaves[index], index, count, way,
								 (size_t)length, root));
			}
		}
		kept.peak_count++;
		assert_false(merkle_load(behind, &kept));
		merkle_free(whole);
		merkle_free(behind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roots_are_those_of_the_rfc),
		cmocka_unit_test(a_lost_record_is_no_leaf_of_any),
		cmocka_unit_test(every_leaf_can_be_proved),
		cmocka_unit_test(a_tree_goes_on_without_its_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
