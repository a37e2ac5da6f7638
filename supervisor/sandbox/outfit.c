/*
 * What a session has of its own. See outfit.h.
 *
 * The wall is last: behind it nothing can be mounted.
 */
#include "outfit.h"

#include "../record/cleanup.h"
#include "command.h"
#include "landlock_wall.h"
#include "message.h"
#include "mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>

static int wait_for(struct init_request *ret_request, struct message_fds *ret_fds)
{
	const struct init_report waiting = {.kind = INIT_WAITING};
	int r = message_receive(INIT_FD_CONTROL, false, ret_request, sizeof(*ret_request), ret_fds);

	if (r != -EAGAIN)
		return r;
	r = message_send(INIT_FD_CONTROL, &waiting, sizeof(waiting), NULL, 0);
	if (r < 0)
		return r;
	return message_receive(INIT_FD_CONTROL, true, ret_request, sizeof(*ret_request), ret_fds);
}

static int load_filter(int fd, struct sock_fprog *ret_filter)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;

	ret_filter->filter = map;
	ret_filter->len = (unsigned short)((size_t)st.st_size / sizeof(struct sock_filter));
	return 0;
}

static int put_on(uint32_t flags, const struct message_fds *fds, struct sock_fprog *ret_filter,
		  enum setup_step *ret_step)
{
	size_t next = INIT_DRESS_FIXED;
	size_t workspace = flags & INIT_WORKSPACE ? next++ : 0;
	size_t secrets = flags & INIT_SECRETS ? next++ : 0;
	int r = fds->count < next ? -EBADMSG : 0;

	*ret_step = SETUP_limits;
	if (r == 0)
		r = command_enter_cgroups(fds->fd + next, fds->count - next);
	if (r == 0) {
		*ret_step = SETUP_workspace;
		r = workspace ? mount_place(fds->fd[workspace], "/workspace") : 0;
	}
	if (r == 0) {
		*ret_step = SETUP_mounts;
		r = secrets ? mount_place(fds->fd[secrets], "/run/secrets") : 0;
	}
	if (r == 0) {
		*ret_step = SETUP_init;
		r = load_filter(fds->fd[INIT_DRESS_FILTER], ret_filter);
	}
	if (r == 0) {
		*ret_step = SETUP_wall;
		r = landlock_wall_raise();
	}
	return r;
}

int outfit_put_on(struct sock_fprog *ret_filter, enum setup_step *ret_step)
{
	cleanup(message_fds) struct message_fds fds = {.count = 0};
	struct init_request request;

	*ret_step = SETUP_init;
	int r = wait_for(&request, &fds);
	if (r == 0 && request.kind != INIT_DRESS)
		r = -EBADMSG;
	return r < 0 ? r : put_on(request.flags, &fds, ret_filter, ret_step);
}
