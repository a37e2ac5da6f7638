/*
 * The file `turns` of a session (record/turns.h), held against the tree as it grows: what stands
 * there for retention is what was signed, and nothing else.
 */
#pragma once

#include "../supervisor/record/merkle.h"
#include "verify.h"

struct borders {
	char **lines; /* owned: what is expected, in order */
	size_t count, room;
};

void borders_free(struct borders *b);

/* The first record, and the tree at a border. 0 or -ENOMEM. */
int borders_add_first(struct borders *b, struct bytes payload);
int borders_add(struct borders *b, const struct merkle *tree);

/* Judge the file in @dir_fd, when all else is judged. 0 or -errno. */
int borders_judge(const struct borders *b, int dir_fd, struct verify_result *result);
