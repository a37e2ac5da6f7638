/*
 * What is kept of one session's files between records: the paths of its last opens for writing, so
 * that a file_modify need not bring its path along, and the names that fanotify tells.
 */
#pragma once

#include "capture.h"
#include "names.h"

#include "../../bpf/file_wire.h"

/* Remember the path (components) of an open file description. What is longer than
 * REMEMBERED_PATH_MAX is not remembered; BPF knows and sends it again. */
void files_remember(struct files *f, uint64_t file_id, struct bytes components, uint32_t flags);

/* The components and enum path_flag of @file_id; {NULL, 0} if it is not remembered. Valid until the
 * next files_remember. */
struct bytes files_recall(const struct files *f, uint64_t file_id, uint32_t *ret_flags);

/* NULL where the session has no fanotify group. */
struct names *files_names(struct files *f);

/*
 * Should an open of @path for reading be recorded? A pattern that does not lead from the root (one
 * with two stars in front) does not reach below /usr, /lib*, /bin, /sbin, /proc, /sys and /dev.
 */
bool files_is_watched(const struct capture *c, struct bytes path);
