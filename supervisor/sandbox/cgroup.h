/*
 * Control groups of the v2 hierarchy, by descriptors of their directories.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/*
 * Make cgroup @name below @parent_fd, and let @owner start processes in it (its cgroup.procs is
 * theirs, nothing else). *ret_id is what BPF knows it by. -EEXIST if it is there already.
 */
int cgroup_make(int parent_fd, const char *name, uid_t owner, int *ret_fd, uint64_t *ret_id);

/* 1: nothing lives in it and below; 0: something does; -errno. */
int cgroup_is_empty(int fd);
/*
 * Wait until nothing lives in it and below. @last_pidfd is of a process that ends last, or -1: to
 * wait for it is quicker. 0, -ETIMEDOUT or -errno.
 */
int cgroup_wait_empty(int fd, int last_pidfd);
/* The same when all of it was killed. */
int cgroup_kill(int fd, int last_pidfd);

/* Remove cgroup @name and those below it, which must be empty or about to be. 0 also if it is not
 * there. -EBUSY if something in it does not go. */
int cgroup_remove(int parent_fd, const char *name);

/* Write @text into file @name of a cgroup's directory. 0 or -errno. */
int cgroup_write(int dir_fd, const char *name, const char *text);

/*
 * As cgroup_make, and held (flock) as long as *ret_fd or a duplicate is open: sandbox_remove_strays
 * leaves it alone.
 */
int cgroup_make_held(int parent_fd, const char *name, uid_t owner, int *ret_fd, uint64_t *ret_id);

/* Value of "<key> <number>" in an open file of flat lines, read from its start. -ENODATA if the key
 * is not there. */
int cgroup_read_value(int fd, const char *key, uint64_t *ret_value);
/* The number that file @name of a cgroup's directory holds. */
int cgroup_read_number(int dir_fd, const char *name, uint64_t *ret_value);

/* Processor time of all that ran in it. *ret_memory_peak is 0 where the kernel does not say. */
int cgroup_usage(int fd, uint64_t *ret_cpu_ns, uint64_t *ret_memory_peak);
