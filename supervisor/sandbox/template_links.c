/*
 * Files with several names. See template_links.h.
 */
#include "template_links.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

struct linked {
	ino_t inode;
	char *path;
};

static int compare(const void *a, const void *b)
{
	const struct linked *x = a, *y = b;

	return (x->inode > y->inode) - (x->inode < y->inode);
}

static void free_linked(void *node)
{
	struct linked *l = node;

	free(l->path);
	free(l);
}

static int add(struct template_links *links, ino_t inode, const char *path)
{
	struct linked *l = malloc(sizeof(*l));
	if (!l)
		return -ENOMEM;
	*l = (struct linked){inode, strdup(path)};
	if (!l->path || !tsearch(l, &links->tree, compare)) {
		free_linked(l);
		return -ENOMEM;
	}
	/* cppcheck-suppress memleak; the tree has it */
	return 0;
}

int template_links_first(struct template_links *links, ino_t inode, const char *path,
			 const char **ret_first)
{
	const struct linked key = {.inode = inode};
	struct linked *const *found = tfind(&key, &links->tree, compare);
	int r = found ? 0 : add(links, inode, path);

	if (r == 0)
		*ret_first = found ? (*found)->path : NULL;
	return r;
}

void template_links_free(struct template_links *links)
{
	tdestroy(links->tree, free_linked);
	links->tree = NULL;
}
