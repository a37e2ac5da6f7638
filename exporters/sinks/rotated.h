/*
 * Closed files: their names, and their compression in a thread beside the loop.
 */
#pragma once

struct rotated;

/* "gzip", "zstd", "none"; closed by NULL. */
extern const char *const rotated_ways[];

/*
 * For the closed files of @path, compressed in the @way of the table above (both borrowed). Those
 * that a process before left uncompressed are taken up. 0 or -errno.
 */
int rotated_new(const char *path, const char *way, struct rotated **ret_rotated);

/* What is not compressed yet is left to the next process. */
void rotated_free(struct rotated *r);

/*
 * Call the file "PATH.FIRST_LAST" from now on, and have it compressed to that name and ".gz" or
 * ".zst". A file of that name that is there already is another one of the same records: a digit is
 * added. 0 or -errno; never waits.
 */
int rotated_add(struct rotated *r, const char *first, const char *last);
