/*
 * fanotify on the file system of a session's root. See watch.h.
 */
#include "watch.h"

#include "../record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/securebits.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GROUP                                                                                      \
	(FAN_CLASS_NOTIF | FAN_REPORT_DFID_NAME | FAN_REPORT_TID | FAN_UNLIMITED_QUEUE |           \
	 FAN_UNLIMITED_MARKS | FAN_NONBLOCK | FAN_CLOEXEC)
#define EVENTS (FAN_CREATE | FAN_DELETE | FAN_ATTRIB | FAN_ONDIR)

static int mark(int fd, int mount_fd, uint64_t mask)
{
	if (fanotify_mark(fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, mask, mount_fd, ".") < 0)
		return -errno;
	return 0;
}

static int become(uid_t effective)
{
	return syscall(SYS_setresuid, -1, effective, -1) < 0 ? -errno : 0;
}

static int new_group(void)
{
	int fd = fanotify_init(GROUP | FAN_REPORT_FID | FAN_REPORT_TARGET_FID,
			       O_RDONLY | O_LARGEFILE | O_CLOEXEC);

	if (fd < 0 && errno == EINVAL)
		fd = fanotify_init(GROUP, O_RDONLY | O_LARGEFILE | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * The kernel charges the effective user, who may have no more than fs.fanotify.max_user_groups: so
 * each session's own is charged, by this thread alone, which keeps its capabilities.
 */
static int open_group(uid_t uid)
{
	unsigned long bits = (unsigned long)prctl(PR_GET_SECUREBITS);
	uid_t before = geteuid();

	if (prctl(PR_SET_SECUREBITS, bits | SECBIT_NO_SETUID_FIXUP) < 0)
		return -errno;
	int r = become(uid);
	int fd = r < 0 ? r : new_group();
	/* As somebody else nothing more may be done. */
	if ((r == 0 && become(before) < 0) || prctl(PR_SET_SECUREBITS, bits) < 0)
		abort();
	return fd;
}

int watch_open(int mount_fd, uid_t uid, int *ret_fanotify_fd)
{
	cleanup(close_fd) int fd = open_group(uid);
	if (fd < 0)
		return fd;

	int r = mark(fd, mount_fd, EVENTS | FAN_RENAME);
	if (r == -EINVAL)
		r = mark(fd, mount_fd, EVENTS | FAN_MOVED_FROM | FAN_MOVED_TO);
	if (r < 0)
		return r;

	*ret_fanotify_fd = take_fd(fd);
	return 0;
}
