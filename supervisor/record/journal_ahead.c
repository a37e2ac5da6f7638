/* What of a journal can be made before it is known whose it will be. */
#include "checkpoints.h"
#include "cleanup.h"
#include "journal.h"
#include "journal_format.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int make_empty(int dir_fd, const char *name, uid_t uid, gid_t gid)
{
	cleanup(close_fd) int fd =
		openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);

	return fd < 0 || fchown(fd, uid, gid) ? -errno : 0;
}

int journal_make_ahead(int dir_fd, uid_t uid, gid_t gid)
{
	int r = make_empty(dir_fd, SEGMENT_AHEAD, uid, gid);

	return r ? r : make_empty(dir_fd, CHECKPOINTS_FILE, uid, gid);
}
