/* Directories of sessions: made, locked and removed below held descriptors, never through a path.
 */
#include "session_dir.h"
#include "record/crash.h"

#include "record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

int session_dir_make_id(char ret_id[SESSION_ID_LENGTH + 1])
{
	unsigned char random[SESSION_ID_LENGTH / 2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(ret_id + 2 * i, 3, "%02x", random[i]);
	return 0;
}

static int open_directory(int sessions_fd, const char *id)
{
	int fd = openat(sessions_fd, id, O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* With the group's bit on a directory, what is made in it is the group's, whoever makes it. */
static int give(int fd, const struct session_dir_owner *owner)
{
	if (fchown(fd, owner->uid, owner->gid) < 0)
		return -errno;
	return owner->group_reads && fchmod(fd, S_ISGID | 0750) < 0 ? -errno : 0;
}

void session_dir_close(struct session_dir *dir)
{
	cleanup_close_fd(&dir->fd);
	cleanup_close_fd(&dir->manifest_fd);
}

int session_dir_make(int sessions_fd, const char *name, const struct session_dir_owner *owner,
		     struct session_dir *ret_dir)
{
	struct session_dir dir = SESSION_DIR_NONE;

	if (mkdirat(sessions_fd, name, 0700) < 0)
		return -errno;
	crash_point();
	cleanup(close_fd) int fd = open_directory(sessions_fd, name);
	if (fd == -ENOENT)
		return -EEXIST;
	int r = fd < 0 ? fd : 0;
	if (r == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EEXIST : -errno;
	if (r == 0)
		r = give(fd, owner);
	if (r == 0)
		r = manifest_prepare(fd, &dir.manifest_fd);
	if (r < 0) {
		unlinkat(sessions_fd, name, AT_REMOVEDIR);
		return r;
	}
	dir.fd = take_fd(fd);
	*ret_dir = dir;
	return 0;
}

int session_dir_open(int sessions_fd, const char *id, int *ret_fd)
{
	cleanup(close_fd) int fd = open_directory(sessions_fd, id);
	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;

	*ret_fd = take_fd(fd);
	return 0;
}

void session_dir_remove(int sessions_fd, int fd, const char *id)
{
	int copy = openat(fd, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	cleanup(closedir) DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			unlinkat(fd, entry->d_name, 0);
	unlinkat(sessions_fd, id, AT_REMOVEDIR);
}

static bool has_content(int fd, const char *name)
{
	struct stat st;

	return fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0;
}

/* Nothing was begun in it: its supervisor died over making it. */
static bool is_empty(int fd)
{
	int copy = openat(fd, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	cleanup(closedir) DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, MANIFEST_TEMPORARY) != 0 &&
		    has_content(fd, entry->d_name))
			return false;
	return dir != NULL;
}

static bool is_spare(const char *name)
{
	return strncmp(name, SPARE_PREFIX, strlen(SPARE_PREFIX)) == 0;
}

void session_dir_tidy(int sessions_fd)
{
	int copy = openat(sessions_fd, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	cleanup(closedir) DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		cleanup(close_fd) int fd = -1;

		if (!(session_id_is_valid(entry->d_name) || is_spare(entry->d_name)) ||
		    session_dir_open(sessions_fd, entry->d_name, &fd) < 0)
			continue;
		if (is_spare(entry->d_name) || is_empty(fd))
			session_dir_remove(sessions_fd, fd, entry->d_name);
		else
			manifest_settle_again(fd); /* readers do not mind */
	}
}
