/* The daemon's configuration: a JSON file (--config), and the options that override it. */
#pragma once

#include "settings.h"

#include <stdbool.h>

#define CONFIG_FILE "/etc/vitrine/vitrined.json" /* of the host's own vitrined */

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

/*
 * What the vitrined that serves a state directory was told of its records (key_file, readers_group,
 * recorder_user) stands in <state>/settings.json as far as it is not the default, so that whoever
 * works there without it does the same.
 */
#define CONFIG_KEPT "settings.json"

/* Write it. 0 or -errno. */
int config_keep(int state_fd, const struct config *c);
/* As config_load without a file, but what is kept in the state directory lies under @overrides. */
int config_load_kept(const json_t *overrides, struct config *ret_config, struct fault *ret_fault);
