/*
 * Controllers of the v2 hierarchy. See cgroup_controllers.h.
 */
#include "cgroup_controllers.h"

#include "../record/cleanup.h"
#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/xattr.h>

#define NOTE "trusted.vitrine.controllers"
#define SUBTREE "cgroup.subtree_control"

/* What a file of a controller says that nobody has set: its first words. */
static const struct untouched {
	const char *file, *text;
} untouched[] = {
	{"max", "max"},	   {"high", "max"},	      {"low", "0"}, {"min", "0"}, {"max", ""},
	{"weight", "100"}, {"weight", "default 100"},
};

static ssize_t read_file(int dir_fd, const char *file, char *text, size_t room)
{
	cleanup(close_fd) int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, room - 1);

	text[n < 0 ? 0 : n] = 0;
	return n;
}

static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += length)
		if ((at == text || at[-1] == ' ') &&
		    (!at[length] || at[length] == ' ' || at[length] == '\n'))
			return true;
	return false;
}

static bool lists(int dir_fd, const char *file, const char *word)
{
	char text[1024];

	return read_file(dir_fd, file, text, sizeof(text)) > 0 && has_word(text, word);
}

void cgroup_controllers_noted(int fd, char ret_names[CONTROLLERS_ROOM])
{
	ssize_t n = fgetxattr(fd, NOTE, ret_names, CONTROLLERS_ROOM - 1);

	ret_names[n < 0 ? 0 : n] = 0;
}

/* First the note: what is on and not noted would stay on. */
static int note(int fd, const char *name)
{
	char names[CONTROLLERS_ROOM], more[CONTROLLERS_ROOM];

	cgroup_controllers_noted(fd, names);
	if (has_word(names, name))
		return 0;
	int n = snprintf(more, sizeof(more), "%s%s%s", names, *names ? " " : "", name);
	if (n >= (int)sizeof(more))
		return -ENOSPC;
	return fsetxattr(fd, NOTE, more, (size_t)n, 0) < 0 ? -errno : 0;
}

int cgroup_controller_enable(const struct cgroup_root *root, const char *name, char why[LIMITS_WHY])
{
	cleanup(close_fd) int mount_fd = open(root->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char word[16];
	int r = 0;

	/* Who takes back what it had enabled looks, under the same lock, whether others use it. */
	if (mount_fd < 0 || flock(mount_fd, LOCK_EX) < 0)
		return -errno;
	if (!lists(mount_fd, "cgroup.controllers", name))
		return -ENOENT;
	snprintf(word, sizeof(word), "+%s", name);
	if (!lists(root->fd, "cgroup.controllers", name)) {
		r = note(root->fd, name);
		if (r == 0 || r == -EOPNOTSUPP) /* without attributes it stays on */
			r = cgroup_write(mount_fd, SUBTREE, word);
	}
	if (r < 0) {
		snprintf(why, LIMITS_WHY, "%s/%s takes no %s", root->path, SUBTREE, word);
		return r;
	}
	r = cgroup_write(root->fd, SUBTREE, word);
	if (r < 0)
		snprintf(why, LIMITS_WHY, "%s/vitrine/%s takes no %s", root->path, SUBTREE, word);
	return r;
}

/* Does the cgroup @fd set anything by this file of a controller? */
static bool is_set(int fd, const char *controller, const char *file)
{
	char name[64], text[512];

	snprintf(name, sizeof(name), "%s.%s", controller, file);
	ssize_t n = read_file(fd, name, text, sizeof(text));
	if (n < 0)
		return false;
	for (size_t i = 0; i < sizeof(untouched) / sizeof(untouched[0]); i++) {
		size_t length = strlen(untouched[i].text);

		if (strcmp(untouched[i].file, file) == 0 &&
		    strncmp(text, untouched[i].text, length) == 0 &&
		    (!text[length] || text[length] == '\n' || text[length] == ' '))
			return false;
	}
	return true;
}

static bool is_used_by(int fd, const char *controller)
{
	for (size_t i = 0; i < sizeof(untouched) / sizeof(untouched[0]); i++)
		if (is_set(fd, controller, untouched[i].file))
			return true;
	return lists(fd, SUBTREE, controller);
}

static bool is_used(int mount_fd, const char *controller)
{
	int copy = openat(mount_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup(closedir) DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		cleanup(close_fd) int fd =
			openat(mount_fd, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && is_used_by(fd, controller))
			return true;
	}
	return !dir; /* who cannot look does not touch */
}

void cgroup_controllers_put_back(int mount_fd, const char *names)
{
	char rest[CONTROLLERS_ROOM], *at = rest, word[CONTROLLERS_ROOM + 1];

	snprintf(rest, sizeof(rest), "%s", names);
	for (char *name; (name = strsep(&at, " "));) {
		if (!*name || is_used(mount_fd, name))
			continue;
		snprintf(word, sizeof(word), "-%s", name);
		cgroup_write(mount_fd, SUBTREE, word);
	}
}
