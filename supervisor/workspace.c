/*
 * What may be bound as /workspace. See workspace.h.
 *
 * Directories are compared by what they are and not by their names: up from each to the root.
 */
#include "workspace.h"

#include "record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define LEVELS_MAX 4096

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Is @above the directory @path, or one above it? */
static bool holds(const struct stat *above, const char *path)
{
	struct stat st, last = {0};
	cleanup(close_fd) int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; fd >= 0 && i < LEVELS_MAX && fstat(fd, &st) == 0; i++) {
		if (same(&st, above))
			return true;
		if (i > 0 && same(&st, &last))
			return false;
		last = st;
		int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = up;
	}
	return false;
}

int workspace_check(const char *path, const struct kept_place *kept, size_t count, struct fault *f)
{
	struct stat workspace, keep;

	if (stat(path, &workspace) < 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (stat(kept[i].path, &keep) < 0)
			continue;
		if (holds(&workspace, kept[i].path))
			return fault_set(
				f, -EINVAL, "workspace",
				"workspace %s: holds %s, which no session may write; give a "
				"directory of its own",
				path, kept[i].path);
		if (kept[i].whole && holds(&keep, path))
			return fault_set(
				f, -EINVAL, "workspace",
				"workspace %s: lies in %s, which no session may write; give "
				"a directory of its own",
				path, kept[i].path);
	}
	return 0;
}
