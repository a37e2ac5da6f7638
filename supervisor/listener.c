/* The control socket: one daemon a path; its owner can connect, and the members of a group. */
#include "listener.h"

#include "record/cleanup.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 64
#define GROUP_ROOM 65536 /* a group may have many members */

static int new_socket(const char *path, struct sockaddr_un *ret_address, int *ret_fd,
		      struct fault *f)
{
	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(ret_address->sun_path))
		return fault_set(f, -ENAMETOOLONG, "socket", "socket %s: name is too long", path);
	memcpy(ret_address->sun_path, path, strlen(path) + 1);
	*ret_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return *ret_fd < 0 ? fault_set(f, -errno, "socket", "socket: %s", strerror(errno)) : 0;
}

int listener_refuse_second(const char *path, struct fault *ret_fault)
{
	struct sockaddr_un address;
	cleanup(close_fd) int fd = -1;
	int r = new_socket(path, &address, &fd, ret_fault);

	if (r < 0)
		return r;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fault_set(ret_fault, -EADDRINUSE, "socket",
				 "socket %s: another vitrined listens there", path);
	return 0;
}

/* It is nobody's but ours until it is the group's. */
static int give_to_group(const char *path, const char *name)
{
	char room[GROUP_ROOM];
	struct group group, *found = NULL;

	if (!name || getgrnam_r(name, &group, room, sizeof(room), &found) != 0 || !found)
		return 0;
	if (chown(path, (uid_t)-1, group.gr_gid) < 0 || chmod(path, 0660) < 0)
		return -errno;
	return 0;
}

int listener_open(const char *path, const char *group, int *ret_fd, struct fault *ret_fault)
{
	struct sockaddr_un address;
	cleanup(close_fd) int fd = -1;
	int r = listener_refuse_second(path, ret_fault);

	if (r == 0)
		r = new_socket(path, &address, &fd, ret_fault);
	if (r < 0)
		return r;
	unlink(path);
	mode_t mask = umask(0177);
	r = bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	umask(mask);
	if (r == 0)
		r = give_to_group(path, group);
	if (r == 0 && listen(fd, BACKLOG) < 0)
		r = -errno;
	if (r < 0)
		return fault_set(ret_fault, r, "socket", "socket %s: %s", path, strerror(-r));
	*ret_fd = take_fd(fd);
	return 0;
}
