/*
 * Archives in the ustar format (POSIX.1-1988): regular files with short names, and always the same
 * bytes for the same files. What is read must have been written so, to the last byte.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TAR_BLOCK 512
#define TAR_NAME_MAX 100
#define TAR_SIZE_MAX UINT64_C(077777777777)

/* Write the head of a file of @size bytes; then tar_fill after its bytes. 0 or -errno. */
int tar_head(FILE *out, const char *name, uint64_t size);
/* Fill up the last block of a file of @size bytes. */
int tar_fill(FILE *out, uint64_t size);
int tar_end(FILE *out);

/*
 * The next file in @in, whose bytes are to be read from there, and tar_skip_fill after them. 1; 0
 * at the end of the archive, behind which nothing may stand; -EBADMSG or -errno.
 */
int tar_next(FILE *in, char ret_name[TAR_NAME_MAX + 1], uint64_t *ret_size);
int tar_skip_fill(FILE *in, uint64_t size);
