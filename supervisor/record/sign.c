/*
 * Signatures by libcrypto.
 */
#include "sign.h"
#include "hash.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static void cleanup_pkey(EVP_PKEY **key)
{
	EVP_PKEY_free(*key);
}

static void cleanup_context(EVP_MD_CTX **context)
{
	EVP_MD_CTX_free(*context);
}

#define owned(what) __attribute__((cleanup(cleanup_##what)))

int sign_seed(uint8_t ret_seed[SIGN_SEED_SIZE])
{
	return getrandom(ret_seed, SIGN_SEED_SIZE, 0) == SIGN_SEED_SIZE ? 0 : -EIO;
}

static int make_public(const uint8_t seed[SIGN_SEED_SIZE], uint8_t ret_public[SIGN_PUBLIC_SIZE])
{
	owned(pkey) EVP_PKEY *key =
		EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, SIGN_SEED_SIZE);
	size_t size = SIGN_PUBLIC_SIZE;

	return key && EVP_PKEY_get_raw_public_key(key, ret_public, &size) == 1 ? 0 : -EIO;
}

/*
 * Who adds to a ledger asks for the same keys again and again, and each costs as much as a
 * signature. Known are those asked for last, by the hash of their seed: no seed is kept.
 */
static struct known {
	uint8_t hash[HASH_SIZE], public[SIGN_PUBLIC_SIZE];
} known[4];
static size_t oldest;
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

static bool find_known(const uint8_t hash[HASH_SIZE], uint8_t ret_public[SIGN_PUBLIC_SIZE])
{
	bool found = false;

	pthread_mutex_lock(&known_lock);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known) && !found; i++) {
		found = !memcmp(known[i].hash, hash, HASH_SIZE);
		if (found)
			memcpy(ret_public, known[i].public, SIGN_PUBLIC_SIZE);
	}
	pthread_mutex_unlock(&known_lock);
	return found;
}

static void remember(const uint8_t hash[HASH_SIZE], const uint8_t public[SIGN_PUBLIC_SIZE])
{
	pthread_mutex_lock(&known_lock);
	memcpy(known[oldest].hash, hash, HASH_SIZE);
	memcpy(known[oldest].public, public, SIGN_PUBLIC_SIZE);
	oldest = (oldest + 1) % (sizeof(known) / sizeof(*known));
	pthread_mutex_unlock(&known_lock);
}

int sign_public(const uint8_t seed[SIGN_SEED_SIZE], uint8_t ret_public[SIGN_PUBLIC_SIZE])
{
	uint8_t hash[HASH_SIZE];

	hash_bytes((struct bytes){seed, SIGN_SEED_SIZE}, hash);
	if (find_known(hash, ret_public))
		return 0;
	int r = make_public(seed, ret_public);
	if (r == 0)
		remember(hash, ret_public);
	return r;
}

void sign_ratchet(uint8_t seed[SIGN_SEED_SIZE])
{
	static const char label[] = "vitrine: the next signing key";
	uint8_t next[HASH_SIZE];

	hash_keyed((struct bytes){seed, SIGN_SEED_SIZE}, (struct bytes){label, sizeof(label) - 1},
		   next);
	memcpy(seed, next, SIGN_SEED_SIZE);
	OPENSSL_cleanse(next, sizeof(next));
}

int sign_make(const uint8_t seed[SIGN_SEED_SIZE], struct bytes text,
	      uint8_t ret_signature[SIGN_SIZE])
{
	owned(pkey) EVP_PKEY *key =
		EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, SIGN_SEED_SIZE);
	owned(context) EVP_MD_CTX *context = EVP_MD_CTX_new();
	size_t size = SIGN_SIZE;

	if (!key || !context || EVP_DigestSignInit(context, NULL, NULL, NULL, key) != 1 ||
	    EVP_DigestSign(context, ret_signature, &size, text.data, text.size) != 1)
		return -EIO;
	return 0;
}

bool sign_check(const uint8_t public[SIGN_PUBLIC_SIZE], struct bytes text,
		const uint8_t signature[SIGN_SIZE])
{
	owned(pkey) EVP_PKEY *key =
		EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public, SIGN_PUBLIC_SIZE);
	owned(context) EVP_MD_CTX *context = EVP_MD_CTX_new();

	/* That there is no memory must not look like a signature that is wrong. */
	if (!key || !context || EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) != 1)
		abort();
	return EVP_DigestVerify(context, signature, SIGN_SIZE, text.data, text.size) == 1;
}
