/*
 * The kernel side's memory of files that sessions have open for writing: what a session has left
 * there must not meet the next one that gets its slot.
 */
#pragma once

#include <stdint.h>

/* Forget all that belongs to @slot. Both maps are those of bpf/file_maps.h; borrowed. */
void written_files_forget(int written_files_fd, int file_counts_fd, uint32_t slot);
