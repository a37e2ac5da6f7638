/*
 * Leaves stream data out of a record that goes out: its length and, under a key, its digest stand
 * for it, as for every value that is cut.
 */
#pragma once

#include "../../supervisor/record/event.h"

#define HIDE_KEY_MAX 4096

struct hide_key {
	uint8_t bytes[HIDE_KEY_MAX];
	size_t size; /* 0: no key, and then no digest */
};

/*
 * Read the key in @path: that of the deployment, under which the recorder makes its digests too.
 * 0 or -errno (-EINVAL: empty or too large).
 */
int hide_key_read(const char *path, struct hide_key *ret_key);

/*
 * The key "digest.key" in @dir_fd, made there, readable by its owner alone, where there is none:
 * for who has not got the deployment's. Nobody else may make it meanwhile. 0 or -errno.
 */
int hide_key_own(int dir_fd, struct hide_key *ret_key);

/* Empty the data of an `output` or `input`. Other kinds stay as they are. */
void hide_data(struct event *e, const struct hide_key *key);
