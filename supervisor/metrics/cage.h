/* What vitrine-metrics gives up before it hears a stranger. */
#pragma once

#include <sys/types.h>

/* Become @uid and @gid (0: stay who we are), without any capability. 0 or -errno. */
int cage_drop(uid_t uid, gid_t gid);

/* From here on, in all threads: no new file, socket, process or executable memory. 0 or -errno. */
int cage_close(void);
