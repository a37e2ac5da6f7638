/*
 * Descriptors of clients. See passed.h.
 *
 * O_NONBLOCK belongs to the open file description, which the client shares with its shell and
 * whatever else has that terminal or pipe. So pipes and character devices are opened again, for a
 * description of our own; sockets have MSG_DONTWAIT, and files and /dev/null do not block.
 *
 * To open again is to ask anew, as root and as another process. So it is done only where that
 * cannot give more than the client has: not with the right to write if the client may only read,
 * not on a terminal that was taken from the client, and not on a device that is another one for
 * each who opens it.
 */
#include "passed.h"

#include "record/cleanup.h"
#include "sandbox/slow_close.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#define MEMORY_MAJOR 1
#define NULL_MINOR 3
#define FUSE_MAGIC 0x65735546

/* The kernel knows it already: a file system in user space is not asked. */
static int type_of(int fd, mode_t *ret_type, dev_t *ret_device)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) < 0)
		return -errno;
	*ret_type = st.stx_mode & S_IFMT;
	*ret_device = makedev(st.stx_rdev_major, st.stx_rdev_minor);
	return 0;
}

/* Root could open again for writing what the client may only read: the mode it has is the limit. */
static bool allows(int fd, int mode)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (flags & O_PATH))
		return false;
	return (flags & O_ACCMODE) == O_RDWR || (flags & O_ACCMODE) == mode;
}

/* A file whose bytes come from a process, which may keep who reads or writes waiting. */
static bool is_of_a_process(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 || fs.f_type == FUSE_MAGIC || fs.f_type == PROC_SUPER_MAGIC;
}

static int open_again(int fd, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int again = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

/* One that nobody reads any more can be opened for writing only while somebody reads it. */
static int open_pipe_again(int fd, int mode)
{
	int again = open_again(fd, mode);

	if (again != -ENXIO || mode != O_WRONLY)
		return again;
	cleanup(close_fd) int reader = open_again(fd, O_RDONLY);
	return reader < 0 ? reader : open_again(fd, mode);
}

/*
 * Which line a terminal is on. /dev/tty is that of whoever opens it, /dev/ptmx a new one each time,
 * and what was hung up is none any more for who had it, but for who opens it.
 */
static int line_of(int fd, unsigned int *ret_line)
{
	return ioctl(fd, TIOCGDEV, ret_line) < 0 ? -errno : 0;
}

static int open_terminal_again(int fd, int mode)
{
	unsigned int line, again_line;
	int r = line_of(fd, &line);

	if (r < 0)
		return r == -ENOTTY ? -EINVAL : r;
	cleanup(close_fd) int again = open_again(fd, mode);
	if (again < 0)
		return again;
	r = line_of(again, &again_line);
	if (r < 0)
		return r;
	return again_line == line ? take_fd(again) : -ENXIO;
}

static int copy_of(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return copy < 0 ? -errno : copy;
}

/* /dev/null is as good as a file: it does not block. */
static int open_device_again(int fd, int mode, dev_t device)
{
	if (device == makedev(MEMORY_MAJOR, NULL_MINOR))
		return copy_of(fd);
	return major(device) == MEMORY_MAJOR ? open_again(fd, mode) : open_terminal_again(fd, mode);
}

/* A close shall not wait until a peer has taken everything. */
static int pass_socket(int fd)
{
	const struct linger none = {0};

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	return copy_of(fd);
}

int passed_description(int fd, int mode, bool root, int *ret_fd)
{
	mode_t type = 0;
	dev_t device = 0;
	int r = type_of(fd, &type, &device);

	if (r < 0)
		return r;
	if (type == S_IFDIR || type == S_IFBLK)
		return -EINVAL;
	if (!allows(fd, mode))
		return -EBADF;
	if (!root && (type == S_IFREG || type == S_IFIFO) && is_of_a_process(fd))
		return -EOPNOTSUPP;

	if (type == S_IFIFO)
		r = open_pipe_again(fd, mode);
	else if (type == S_IFCHR)
		r = open_device_again(fd, mode, device);
	else if (type == S_IFSOCK)
		r = pass_socket(fd);
	else
		r = type == S_IFREG ? copy_of(fd) : -EINVAL;
	if (r < 0)
		return r;
	*ret_fd = r;
	return 0;
}

const char *passed_error(int error)
{
	switch (error) {
	case -EOPNOTSUPP:
		return "its file system is a process's (FUSE, /proc), which could keep all "
		       "sessions "
		       "waiting: put a pipe between (| cat >FILE)";
	case -ENXIO:
		return "it is another terminal for each who opens it: give the one that tty(1) "
		       "tells by its name";
	case -EBUSY:
		return "its device lets nobody open it a second time: put a pipe between "
		       "(cat DEVICE |, | cat >DEVICE)";
	case -EINVAL:
		return "it is no pipe, file, socket or terminal: put a pipe between (cat DEVICE |, "
		       "| cat >DEVICE)";
	default:
		return strerror(-error);
	}
}

/* ---- the end ---- */

/* What no one waits for, whatever the owner does: it has no file system behind it. */
static bool closes_at_once(int fd)
{
	mode_t type = 0;
	dev_t device = 0;
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && (flags & O_PATH))
		return true;
	return type_of(fd, &type, &device) == 0 && (type == S_IFIFO || type == S_IFCHR);
}

void passed_close(const int *fds, size_t count)
{
	int slow[SLOW_CLOSE_MAX];
	size_t slow_count = 0;

	for (size_t i = 0; i < count; i++) {
		if (fds[i] < 0)
			continue;
		if (closes_at_once(fds[i])) {
			close(fds[i]);
			continue;
		}
		slow[slow_count++] = fds[i];
		if (slow_count == SLOW_CLOSE_MAX) {
			slow_close(slow, slow_count);
			slow_count = 0;
		}
	}
	if (slow_count > 0)
		slow_close(slow, slow_count);
}
