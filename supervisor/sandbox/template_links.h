/*
 * Files of a tree that have more names than one: which of them came first.
 */
#pragma once

#include <sys/types.h>

struct template_links {
	void *tree;
};

/*
 * *ret_first is the name that the file @inode was first asked for by, or NULL if it is @path, now.
 * Valid until template_links_free. 0 or -ENOMEM.
 */
int template_links_first(struct template_links *links, ino_t inode, const char *path,
			 const char **ret_first);
void template_links_free(struct template_links *links);
