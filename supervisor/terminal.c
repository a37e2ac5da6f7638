/* The user's own terminal: its size, raw mode, and its real name. */
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PTS_MAJOR 136

bool terminal_size(int fd, uint16_t *ret_columns, uint16_t *ret_rows)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0 || size.ws_row == 0)
		return false;
	*ret_columns = size.ws_col;
	*ret_rows = size.ws_row;
	return true;
}

int terminal_make_raw(int fd, struct terminal *t)
{
	struct termios raw;

	if (!isatty(fd))
		return 0;
	if (tcgetattr(fd, &t->saved) < 0)
		return -errno;
	raw = t->saved;
	cfmakeraw(&raw);
	if (tcsetattr(fd, TCSADRAIN, &raw) < 0)
		return -errno;
	t->fd = fd;
	return 0;
}

void terminal_restore(struct terminal *t)
{
	if (t->fd >= 0)
		tcsetattr(t->fd, TCSADRAIN, &t->saved);
	t->fd = -1;
}

int terminal_real(int fd)
{
	char path[32];
	struct stat st;
	unsigned int device = 0;

	if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(5, 0))
		return -1;
	if (ioctl(fd, TIOCGDEV, &device) < 0 || major(device) != PTS_MAJOR)
		return -1;
	snprintf(path, sizeof(path), "/dev/pts/%u", minor(device));
	return open(path, (fcntl(fd, F_GETFL) & O_ACCMODE) | O_NOCTTY | O_CLOEXEC);
}
