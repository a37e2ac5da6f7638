/*
 * Compression of whole files.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

struct compression {
	const char *name, *suffix;
	/* From @fd to @out_fd, to the end, or until *@stop: then -ECANCELED. 0 or -errno. */
	int (*pack)(int fd, int out_fd, const atomic_bool *stop);
};

/* The one called @name; NULL: there is none. */
const struct compression *compression_find(const char *name);
