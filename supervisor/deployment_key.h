/*
 * The deployment key: digests of cut values and tags of redacted ones are made under it, so that
 * equal values can be told in all records of a host, and none can be guessed. Keys that were
 * replaced stay beside it as <path>.<id>, for as long as their tags have to be made again.
 */
#pragma once

#include "fault.h"

#include <stddef.h>
#include <stdint.h>

#define DEPLOYMENT_KEY_SIZE 32
#define DEPLOYMENT_KEY_ID 8 /* characters */

/*
 * Read it from @path, or make it there (mode 0600) if there is no such file. A file that is not the
 * user's own, that others may read or that is not 32 bytes long is refused. 0 or -errno with a
 * fault.
 */
int deployment_key_load(const char *path, uint8_t ret_key[DEPLOYMENT_KEY_SIZE],
			struct fault *ret_fault);

/* What names a key in records: nothing of it can be told from that. */
void deployment_key_id(const uint8_t key[DEPLOYMENT_KEY_SIZE], char ret_id[DEPLOYMENT_KEY_ID + 1]);

/*
 * Put a new key in the place of the one at @path, which is kept under its id. Who has loaded the
 * old one goes on with it. 0 or -errno with a fault.
 */
int deployment_key_rotate(const char *path, char ret_old_id[DEPLOYMENT_KEY_ID + 1],
			  char ret_new_id[DEPLOYMENT_KEY_ID + 1], struct fault *ret_fault);

/*
 * Call @taker with each key: that at @path, then those that it replaced and that were kept. Returns
 * 0 or the first error, with a fault.
 */
typedef int deployment_key_take(void *context, const uint8_t key[DEPLOYMENT_KEY_SIZE],
				const char *id);
int deployment_key_each(const char *path, deployment_key_take *taker, void *context,
			struct fault *ret_fault);
