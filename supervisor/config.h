/* The daemon's configuration: a JSON file (--config), and the options that override it. */
#pragma once

#include "settings.h"

#include <stdbool.h>

extern const struct setting config_settings[];

struct config {
	json_t *values; /* owned; the texts below are borrowed from it */
	const char *state;
	const char *socket;
	const char *key_file;
	const char *metrics; /* where they are served; NULL: nowhere */
	const char *readers_group;
	const char *recorder_user;
	const char *group; /* whose members may connect */
	const json_t *users;
	uint64_t ring_bytes;
	uint32_t rings;
	uint32_t sessions_max;
	uint64_t retention_bytes, retention_days;
	uint32_t pool;
	bool is_debugged; /* log_level is debug */
};

/*
 * Read @file (NULL: none), put @overrides (an object of settings; borrowed) over it and the
 * defaults under it. The key file, where none is given, is "<state>.key". 0 or -errno with a fault.
 */
int config_load(const char *file, const json_t *overrides, struct config *ret_config,
		struct fault *ret_fault);
void config_free(struct config *c);
