/*
 * What a session finds in its root beside the files of the host's system or of a template: places
 * that it may write to, mount points, and the few files that name it.
 */
#pragma once

#include "launch.h"

#include <sys/types.h>

/*
 * Put it into the empty directory @base_fd, which will be laid over the lower layer, for the
 * session whose ids begin with @uid_base. @template_fd is the root of the template, as a mount
 * whose ids are mapped; -1: the host's system. 0 or -errno.
 */
int furniture_make(uid_t uid_base, int template_fd, int base_fd);
/* And what only the session's request says: its names, and a place for its secrets. */
int furniture_name(const struct launch_request *request, int base_fd);
