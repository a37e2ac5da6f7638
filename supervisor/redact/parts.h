/* The parts of a secret that are secret by themselves. */
#pragma once

#include "../record/event.h"

/*
 * Call @take with the whole of @value, then, if it is JSON, with each string and number in it,
 * then, if it has more than one line, with each line. Parts of less than @least bytes are left out,
 * and lines that only name what follows (-----BEGIN ...-----).
 */
typedef void part_take(void *context, struct bytes part);
void parts_of_secret(struct bytes value, size_t least, part_take *take, void *context);
