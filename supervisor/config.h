/* The daemon's configuration: a JSON file (--config), and the options that override it. */
#pragma once

#include "settings.h"

extern const struct setting config_settings[];

struct config {
	json_t *values; /* owned; the texts below are borrowed from it */
	const char *state;
	const char *socket;
	const char *key_file;
	const char *readers_group;
	const char *recorder_user;
	uint64_t ring_bytes;
	uint32_t rings;
	uint32_t sessions_max;
	uint64_t retention_bytes, retention_days;
};

/*
 * Read @file (NULL: none), put @overrides (an object of settings; borrowed) over it and the
 * defaults under it. The key file, where none is given, is "<state>.key". 0 or -errno with a fault.
 */
int config_load(const char *file, const json_t *overrides, struct config *ret_config,
		struct fault *ret_fault);
void config_free(struct config *c);

/*
 * The deployment key of 32 bytes: read from @path, or made there (mode 0600) if there is no such
 * file. A file that is not root's own, that others may read or that is not 32 bytes long is
 * refused.
 */
int config_load_key(const char *path, uint8_t ret_key[32], struct fault *ret_fault);
