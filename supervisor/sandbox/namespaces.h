/*
 * The namespaces of a session, as the launcher makes them.
 */
#pragma once

#include "launch.h"

#include <sys/types.h>

/* What the child that becomes a session's init starts with. All descriptors are borrowed. */
struct session_start {
	const struct launch_request *request;
	int cgroup_fd, control_fd, filter_fd;
	int root_fd;	      /* the root that was made for it */
	int home_fd;	      /* root of the launcher */
	const int *tasks_fds; /* request->tasks_count of them */
	int go_fd;	      /* readable when the ids are mapped */
};

/*
 * Start pid 1 of a session in namespaces of its own, its ids mapped. It goes on by itself and
 * reports on control_fd. *ret_pid is its pid on the host. On failure *ret_step says what.
 */
int namespaces_start(struct session_start *start, pid_t *ret_pid, int *ret_pidfd,
		     enum setup_step *ret_step);

/* Let files of @host_uid and @host_gid in a detached mount appear as those of @owner (a host id).
 */
int namespaces_map_mount(int mount_fd, uid_t host_uid, gid_t host_gid, uid_t owner);

/* Let files of ids 0 to SESSION_IDS - 1 in a detached mount appear as those from @uid_base on, and
 * make it read-only. */
int namespaces_map_template(int mount_fd, uid_t uid_base);
