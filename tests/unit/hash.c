/* SHA-256 and HMAC against the vectors of FIPS 180-4 and RFC 4231. */
#include "../../supervisor/record/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../supervisor/record/printable.h"

static void assert_hash(const uint8_t hash[HASH_SIZE], const char *hex)
{
	char text[2 * HASH_SIZE + 1];

	for (size_t i = 0; i < HASH_SIZE; i++)
		snprintf(text + 2 * i, 3, "%02x", hash[i]);
	assert_string_equal(text, hex);
}

static void of_texts(void **state)
{
	static const struct {
		const char *text, *hash;
	} cases[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	uint8_t hash[HASH_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		hash_bytes(bytes_of(cases[i].text), hash);
		assert_hash(hash, cases[i].hash);
	}
}

static void of_pieces_and_of_a_copy(void **state)
{
	uint8_t hash[HASH_SIZE];
	struct hash h, copy;

	(void)state;
	hash_begin(&h);
	hash_add(&h, "a", 1);
	hash_add(&h, NULL, 0);
	copy = h;
	hash_add(&h, "bc", 2);
	hash_end(&h, hash);
	assert_hash(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	hash_add(&copy, "bc", 2);
	hash_end(&copy, hash);
	assert_hash(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void with_a_key(void **state)
{
	uint8_t key[131], hash[HASH_SIZE];

	(void)state;
	hash_keyed(bytes_of("Jefe"), bytes_of("what do ya want for nothing?"), hash);
	assert_hash(hash, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0x0b, 20);
	hash_keyed((struct bytes){key, 20}, bytes_of("Hi There"), hash);
	assert_hash(hash, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	memset(key, 0xaa, sizeof(key));
	hash_keyed((struct bytes){key, sizeof(key)},
		   bytes_of("Test Using Larger Than Block-Size Key - Hash Key First"), hash);
	assert_hash(hash, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_texts),
		cmocka_unit_test(of_pieces_and_of_a_copy),
		cmocka_unit_test(with_a_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
