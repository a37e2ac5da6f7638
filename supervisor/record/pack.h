/*
 * Compresses segments that are complete, a block at a time: into a file of a temporary name that
 * takes the segment's place when it is whole and on disk.
 */
#pragma once

#include "journal.h"

#include <stdbool.h>
#include <stdint.h>

struct packer;

/* A packer for the segments in @dir_fd. Both are borrowed. 0 or -ENOMEM. */
int packer_new(int dir_fd, const struct journal_options *options, struct packer **ret_packer);
void packer_free(struct packer *p);

/*
 * Compress one block of the segments below @number; those that are compressed already or too small
 * are passed over, and so is one that fails. True if there is more to do.
 */
bool packer_step(struct packer *p, uint32_t number);
