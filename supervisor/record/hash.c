/*
 * The functions of libcrypto from before EVP: those of EVP allocate, at the first use and for each
 * context, and fail when memory is short.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "hash.h"

#include <openssl/crypto.h>
#include <string.h>

void hash_begin(struct hash *h)
{
	SHA256_Init(&h->rounds);
}

void hash_add(struct hash *h, const void *data, size_t size)
{
	SHA256_Update(&h->rounds, data, size);
}

void hash_end(struct hash *h, uint8_t ret_hash[HASH_SIZE])
{
	SHA256_Final(ret_hash, &h->rounds);
}

void hash_bytes(struct bytes data, uint8_t ret_hash[HASH_SIZE])
{
	struct hash h;

	hash_begin(&h);
	hash_add(&h, data.data, data.size);
	hash_end(&h, ret_hash);
}

/* The hash of the key, xored with @mask and padded to a block, and of @data. */
static void keyed_pass(const uint8_t key[SHA256_CBLOCK], uint8_t mask, struct bytes data,
		       uint8_t ret_hash[HASH_SIZE])
{
	uint8_t block[SHA256_CBLOCK];
	struct hash h;

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = key[i] ^ mask;
	hash_begin(&h);
	hash_add(&h, block, sizeof(block));
	hash_add(&h, data.data, data.size);
	hash_end(&h, ret_hash);
	OPENSSL_cleanse(block, sizeof(block));
	OPENSSL_cleanse(&h, sizeof(h));
}

void hash_keyed(struct bytes key, struct bytes data, uint8_t ret_hash[HASH_SIZE])
{
	uint8_t block[SHA256_CBLOCK] = {0}, inner[HASH_SIZE];

	if (key.size > sizeof(block))
		hash_bytes(key, block);
	else if (key.size)
		memcpy(block, key.data, key.size);
	keyed_pass(block, 0x36, data, inner);
	keyed_pass(block, 0x5c, (struct bytes){inner, sizeof(inner)}, ret_hash);
	OPENSSL_cleanse(block, sizeof(block));
}
