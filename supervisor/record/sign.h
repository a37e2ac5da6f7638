/*
 * Ed25519 keys, their ratchet, and what is signed with them. libcrypto's, with nothing of ours but
 * the sizes.
 *
 * A private key is a seed of 32 bytes. sign_ratchet replaces it by one that is derived from it and
 * from which it cannot be found again: what was signed before stays signed by a key that is gone.
 */
#pragma once

#include "event.h"

#define SIGN_SEED_SIZE 32
#define SIGN_PUBLIC_SIZE 32
#define SIGN_SIZE 64
#define SIGN_ALGORITHM "ed25519" /* as it is named in files; another one may follow */

/* A new random seed. 0 or -EIO. */
int sign_seed(uint8_t ret_seed[SIGN_SEED_SIZE]);

/* The public key of @seed. 0 or -EIO. */
int sign_public(const uint8_t seed[SIGN_SEED_SIZE], uint8_t ret_public[SIGN_PUBLIC_SIZE]);

/* The same seed always has the same successor. */
void sign_ratchet(uint8_t seed[SIGN_SEED_SIZE]);

int sign_make(const uint8_t seed[SIGN_SEED_SIZE], struct bytes text,
	      uint8_t ret_signature[SIGN_SIZE]);
bool sign_check(const uint8_t public[SIGN_PUBLIC_SIZE], struct bytes text,
		const uint8_t signature[SIGN_SIZE]);
