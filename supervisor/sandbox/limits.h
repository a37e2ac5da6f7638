/*
 * The limits of a session that controllers of cgroups hold, on whichever hierarchy the host has
 * them: in v2 on the session's own cgroup, in v1 on one of the controller's hierarchy that its init
 * enters by itself before it does anything else.
 */
#pragma once

#include "sandbox.h"

#define LIMITS_WHY 384

struct controller_limit {
	int dir_fd;   /* the cgroup with the limit; -1: none was asked for */
	int tasks_fd; /* v1: where init enters; -1 on v2 */
	int hits_fd;  /* the file that counts hits; -1: nothing does */
};

struct limits {
	struct sandbox_limits asked;
	bool has_init; /* it counts among the processes */
	struct controller_limit by[SANDBOX_CONTROLLERS];
};

#define LIMITS_NONE                                                                                \
	((struct limits){.by = {{-1, -1, -1}, {-1, -1, -1}, {-1, -1, -1}, {-1, -1, -1}}})

/* The controllers' names on v1, closed by NULL, and that of one on v2. */
extern const char *const limits_controllers[SANDBOX_CONTROLLERS + 1];
const char *limits_controller_v2(enum sandbox_controller c);

/*
 * Set what is asked for session @id, whose v2 cgroup is @cgroup_fd. Each limit holds when this
 * returns 0; else -errno, with the controller, file or resource that is missing in @ret_why. In
 * any case limits_close gives back what was made.
 */
int limits_open(const struct cgroup_root *root, int cgroup_fd, const char *id,
		const struct sandbox_limits *asked, struct limits *l, char ret_why[LIMITS_WHY]);
/*
 * The same for command @name of session @id, below what limits the session: on v2 in the command's
 * own cgroup @cgroup_fd, a child of @session_fd; in v1 in a child of the session's that the
 * command's process enters by itself.
 */
int limits_open_command(const struct cgroup_root *root, int session_fd, int cgroup_fd,
			const char *id, const char *name, const struct sandbox_limits *asked,
			struct limits *l, char ret_why[LIMITS_WHY]);

/* Descriptors that init has to write "0" into, at most SANDBOX_CONTROLLERS; they stay ours. */
size_t limits_tasks(const struct limits *l, int *ret_fds);

/* How often the limit was hit. 0, -ENODATA (none was asked for) or -errno. */
int limits_hits(const struct limits *l, enum sandbox_controller c, uint64_t *ret_hits);

/* Whether that counts what was hit below it, too. */
bool limits_counts_below(const struct limits *l, enum sandbox_controller c);

/* Most memory that was in use at once, where a v1 controller knows; else 0. */
uint64_t limits_memory_peak(const struct limits *l);

/* Close what is open of it; what was made stays. */
void limits_close_files(struct limits *l);
/* Give back what was made for @id, or for its command as @id/name, whose processes have ended. */
void limits_close(struct limits *l, const char *id);
/* Remove the v1 cgroups of @id (or of one of its commands), whose processes have ended. */
int limits_remove(const char *id);
