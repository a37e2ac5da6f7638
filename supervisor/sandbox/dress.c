/*
 * What one session asks for and another does not, given to a sandbox that was made without: its
 * workspace, limits, secrets, system call filter and the size of its upper. See sandbox.h.
 */
#include "../record/cleanup.h"
#include "../record/crash.h"
#include "message.h"
#include "mount.h"
#include "phases.h"
#include "sandbox_state.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define IO_PROGRAMS "/usr"

_Static_assert(INIT_DRESS_MAX == INIT_DRESS_FIXED + 2 + SANDBOX_CONTROLLERS, "tasks of all");
_Static_assert((int)INIT_DRESS_MAX <= MESSAGE_FDS_MAX, "one message");

/* Name of the file system that @fd is on, for an error. */
static void name_file_system(int fd, char *ret_name, size_t size)
{
	struct stat st;
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent entry;
	char line[8192];

	snprintf(ret_name, size, "its file system");
	if (!mounts)
		return;
	if (fstat(fd, &st) == 0)
		while (getmntent_r(mounts, &entry, line, sizeof(line))) {
			struct stat other;

			if (stat(entry.mnt_dir, &other) == 0 && other.st_dev == st.st_dev)
				snprintf(ret_name, size, "%s", entry.mnt_type);
		}
	endmntent(mounts);
}

int sandbox_fail_launch(const struct launch *launch, const struct sandbox_source *from, int r,
			struct sandbox_error *ret_error)
{
	char type[64];

	if (launch->step != SETUP_workspace_ids && launch->step != SETUP_template_ids)
		return sandbox_fail(ret_error, launch->step, r, "%s", "");
	name_file_system(from->fd, type, sizeof(type));
	return sandbox_fail(ret_error, launch->step, r, "%s is on %s", from->name, type);
}

/* ---- the workspace ---- */

static int ask_mapping(struct sandbox *s, const struct stat *st, uint32_t owner)
{
	struct launch_request request = {
		.kind = LAUNCH_MAP,
		.host_uid = st->st_uid,
		.host_gid = st->st_gid,
		.owner = s->info.uid_base + owner,
	};

	return launcher_ask(s->launcher, &request, &s->workspace.fd, 1, &s->mapping);
}

int sandbox_bring_workspace(struct sandbox *s, const struct sandbox_options *options,
			    struct sandbox_error *ret_error)
{
	const char *path = options->workspace;
	struct stat st;

	if (!path)
		return 0;
	cleanup(close_fd) int fd = !options->workspace_fd
					   ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)
					   : fcntl(*options->workspace_fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0 || fstat(fd, &st) < 0)
		return sandbox_fail(ret_error, SETUP_workspace, -errno, "%s", path);
	int r = mount_clone(fd, "", true, &s->workspace.fd);
	if (r == 0 && !(s->workspace.name = strdup(path)))
		r = -ENOMEM;
	if (r < 0)
		return sandbox_fail(ret_error, SETUP_workspace, r, "%s", path);

	s->info.workspace_dev = st.st_dev;
	s->has_others_mounts = true;
	r = ask_mapping(s, &st, options->workspace_for_root ? SESSION_ROOT : SESSION_AGENT);
	return r < 0 ? sandbox_fail(ret_error, SETUP_launcher, r, "%s", "") : 0;
}

/* ---- limits ---- */

/* The upper is memory; what is read from below it and what is bound to /workspace is on disks. */
static void find_io_places(const struct sandbox *s, struct sandbox_limits *limits)
{
	struct stat programs;

	if (stat(IO_PROGRAMS, &programs) == 0)
		limits->io_places[0] =
			(struct sandbox_io_place){IO_PROGRAMS, programs.st_dev, false};
	if (s->info.workspace_dev)
		limits->io_places[1] =
			(struct sandbox_io_place){"/workspace", s->info.workspace_dev, true};
}

static int set_limits(struct sandbox *s, const struct sandbox_options *options,
		      struct sandbox_error *ret_error)
{
	struct sandbox_limits limits = options->limits;
	char why[LIMITS_WHY] = "";

	find_io_places(s, &limits);
	int r = limits_open(s->cgroups, s->info.cgroup_fd, s->id, &limits, &s->limits, why);

	return r < 0 ? sandbox_fail(ret_error, SETUP_limits, r, "%s", why) : 0;
}

/* All that a session can write but the workspace is in its upper. */
static int size_upper(const struct sandbox *s, struct sandbox_error *ret_error)
{
	char size[24], inodes[24];

	if (s->info.upper_bytes == SESSION_UPPER_BYTES &&
	    s->info.upper_inodes == SESSION_UPPER_INODES)
		return 0;
	snprintf(size, sizeof(size), "%llu", (unsigned long long)s->info.upper_bytes);
	snprintf(inodes, sizeof(inodes), "%llu", (unsigned long long)s->info.upper_inodes);
	const struct mount_option options[] = {{"size", size}, {"nr_inodes", inodes}, {NULL, NULL}};

	int r = mount_reconfigure(s->info.stage_fd, options);
	/* Less than what furnishes it. */
	if (r == -EINVAL)
		r = -ENOSPC;
	return r < 0 ? sandbox_fail(ret_error, SETUP_upper, r, "%s bytes, %s files", size, inodes)
		     : 0;
}

/* ---- all of it ---- */

/* A filter of its own for a session whose policy changes the table. */
static int make_filter(struct sandbox *s, const struct sandbox_options *options)
{
	static const struct syscall_changes none;

	if (memcmp(&options->syscalls, &none, sizeof(none)) == 0)
		return 0;
	return launcher_filter(&options->syscalls, &s->filter_fd);
}

int sandbox_fit(struct sandbox *s, const struct sandbox_options *options,
		struct sandbox_error *ret_error)
{
	int r = set_limits(s, options, ret_error);

	crash_point();
	if (r < 0)
		return r;
	r = make_filter(s, options);
	if (r < 0)
		return sandbox_fail(ret_error, SETUP_filter, r, "%s", "");
	s->has_own_filter = s->filter_fd >= 0;
	s->info.upper_bytes = options->upper_bytes ? options->upper_bytes : SESSION_UPPER_BYTES;
	s->info.upper_inodes = options->upper_inodes ? options->upper_inodes : SESSION_UPPER_INODES;
	s->secrets_fd = options->secrets_fd ? options->secrets_fd : -1;
	s->is_dressed = true;
	s->is_ready = false;
	phases_mark(options->phases, "dressed");
	return 0;
}

int sandbox_dress(struct sandbox *s, const struct sandbox_options *options,
		  struct sandbox_error *ret_error)
{
	int r = sandbox_bring_workspace(s, options, ret_error);

	return r < 0 ? r : sandbox_fit(s, options, ret_error);
}

static int tell_init(const struct sandbox *s)
{
	struct init_request request = {.kind = INIT_DRESS};
	int fds[INIT_DRESS_MAX] = {
		[INIT_DRESS_FILTER] = s->filter_fd >= 0 ? s->filter_fd : s->launcher->filter_fd,
	};
	size_t count = INIT_DRESS_FIXED;

	if (s->workspace.fd >= 0) {
		request.flags |= INIT_WORKSPACE;
		fds[count++] = s->workspace.fd;
	}
	if (s->secrets_fd >= 0) {
		request.flags |= INIT_SECRETS;
		fds[count++] = s->secrets_fd;
	}
	count += limits_tasks(&s->limits, fds + count);
	return message_send(s->control_fd, &request, sizeof(request), fds, count);
}

int sandbox_hand_over(struct sandbox *s, struct sandbox_error *ret_error)
{
	int r = s->mapping.is_asked ? launcher_wait(s->launcher, &s->mapping) : 0;

	if (r < 0)
		return sandbox_fail_launch(&s->mapping, &s->workspace, r, ret_error);
	r = size_upper(s, ret_error);
	if (r < 0)
		return r;
	r = tell_init(s);
	crash_point();
	if (r < 0)
		return sandbox_fail(ret_error, SETUP_init, r, "%s", "");
	s->info.workspace_fd = take_fd(s->workspace.fd);
	sandbox_source_close(&s->workspace);
	cleanup_close_fd(&s->filter_fd);
	s->secrets_fd = -1;
	return 0;
}
