/*
 * Closed files: their names, and their compression beside the loop.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct rotated {
	bool is_working;
	pthread_t worker;
	char *path; /* of the worker */
};

/*
 * Call the file @path "PATH.FIRST_LAST" from now on, and compress it if @gzip, in a thread of its
 * own, to that name and ".gz". A file of that name that is there already is another one of the same
 * records: a digit is added. 0 or -errno.
 */
int rotated_add(struct rotated *r, const char *path, const char *first, const char *last,
		bool gzip);

/* Wait for the worker. */
void rotated_wait(struct rotated *r);

/* The id of the first record in @fd, in whatever form the line is; "unknown" where none is seen. */
void rotated_first_id(int fd, char ret_id[64]);
