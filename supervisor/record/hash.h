/*
 * SHA-256 and HMAC-SHA-256 (FIPS 180-4, RFC 2104). The rounds are libcrypto's; nothing is
 * allocated, so that nothing here can fail: what is written into a record or a signature is never a
 * hash that was not made.
 */
#pragma once

#include "event.h"

#include <openssl/sha.h>

#define HASH_SIZE 32

struct hash {
	SHA256_CTX rounds;
};

/* Between hash_begin and hash_end a struct hash may be copied: the copy goes on from there. */
void hash_begin(struct hash *h);
void hash_add(struct hash *h, const void *data, size_t size);
void hash_end(struct hash *h, uint8_t ret_hash[HASH_SIZE]);

void hash_bytes(struct bytes data, uint8_t ret_hash[HASH_SIZE]);
void hash_keyed(struct bytes key, struct bytes data, uint8_t ret_hash[HASH_SIZE]);
