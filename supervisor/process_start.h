/* Which process a pid means: a pid is used again, a pid with its start time is not. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * When process @pid was started, in ticks since boot (field 22 of /proc/<pid>/stat). 0, -ESRCH or
 * -errno. One that is dead and waits to be reaped is none any more.
 */
int process_start(pid_t pid, uint64_t *ret_ticks);

/* True if the process that had this pid and start time still runs. */
bool process_is_alive(pid_t pid, uint64_t ticks);
