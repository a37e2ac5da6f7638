/*
 * A page of metrics as memory: shared with who serves it, or private where nobody does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct metrics_page {
	void *cells; /* zeroed; never NULL once it was made */
	size_t size;
	int fd; /* to be handed to another writer; -1: the page is private */
};

#define METRICS_PAGE_NONE                                                                          \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Make a page of @size bytes, of which others can be given a part where @is_shared. 0 or -errno. */
int metrics_page_new(size_t size, bool is_shared, struct metrics_page *ret_page);
void metrics_page_free(struct metrics_page *p);

/* A descriptor through which the page can be read, and nothing else. >= 0 or -errno. */
int metrics_page_reader(const struct metrics_page *p);

/*
 * Map somebody's page of exactly @size bytes. -EINVAL if it is no page of that size, or one that
 * could be made smaller under our hands. @fd is borrowed and not kept.
 */
int metrics_page_map(int fd, size_t size, bool is_writable, struct metrics_page *ret_page);
