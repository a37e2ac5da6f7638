/*
 * The file `turns` of a session: for each border between two segments what it takes to go on behind
 * it without the segments before (retention.h), one line each.
 *
 *   first BASE64                the payload of the first record
 *   turn SIZE PEAKS WAY         merkle_state of the SIZE records before the border; hashes one
 *                               behind the other in base64, "-" for none
 *
 * Nothing of it is signed, nor has to be: the root of a state is what the checkpoint at the border
 * signs, and the first record is under that. A border that is not here cannot be gone behind.
 */
#pragma once

#include "merkle.h"

#define TURNS_FILE "turns"

/* Both lines without their newline, owned by the caller; NULL: out of memory. */
char *turns_first_line(struct bytes payload);
char *turns_line(const struct merkle_state *state);

/* Note the border behind what @tree has; @first is the payload of the first record. 0 or -errno. */
int turns_add(int dir_fd, const struct merkle *tree, struct bytes first);

/* The state behind @size records. 0, -ENOENT or -errno. */
int turns_find(int dir_fd, uint64_t size, struct merkle_state *ret_state);

/* The payload of the first record; owned by the caller. 0, -ENOENT or -errno. */
int turns_first(int dir_fd, uint8_t **ret_payload, size_t *ret_size);
