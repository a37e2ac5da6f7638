/* A cgroup of a test's own, below that of vitrine. */
#pragma once

#include "../../supervisor/sandbox/cgroup.h"

#include "enclosure.h"

struct place {
	struct cgroup_root root;
	char name[32];
	int fd;
	uint64_t id;
};

static inline int open_place_owned(void **state, uid_t owner)
{
	static struct place p;
	char error[512];

	int r = cgroup_root_open(&p.root, error);
	if (r < 0)
		return r;
	snprintf(p.name, sizeof(p.name), "test-%d", getpid());
	*state = &p;
	return cgroup_make(p.root.fd, p.name, owner, &p.fd, &p.id);
}

static inline int close_place(void **state)
{
	struct place *p = *state;

	close(p->fd);
	int r = sandbox_remove_leftover(&p->root, p->name);
	cgroup_root_close(&p->root);
	return r;
}
