/*
 * How much of a journal is still to come.
 */
#pragma once

#include <stdint.h>

/* How many records the journal in @dir_fd (borrowed) has from number @next on. */
uint64_t pending_count(int dir_fd, uint64_t next);
