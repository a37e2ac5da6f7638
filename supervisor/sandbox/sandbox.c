/*
 * One sandbox: creation, end and what lies between. See sandbox.h; commands are in exec.c.
 *
 * A sandbox is taken apart by sandbox_free whatever was made of it, so creation just stops where it
 * fails.
 */
#include "../record/cleanup.h"
#include "../record/crash.h"
#include "cgroup.h"
#include "message.h"
#include "mount.h"
#include "phases.h"
#include "sandbox_state.h"
#include "watch.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

_Static_assert(SANDBOX_UIDS == SESSION_IDS, "all ids of a session are its own");
#define SLOTS ((UINT32_MAX - SANDBOX_UID_FIRST) / SANDBOX_UIDS)
#define READY_TIMEOUT_MS 30000
#define PIDFD_MOUNT_NAMESPACE _IO(0xff, 3) /* linux/pidfd.h since 6.11 */

/* What is needed while a sandbox is made, and not after. */
struct making {
	struct launcher *launcher;
	const struct cgroup_root *root;
	const struct sandbox_options *options;
	struct sandbox_error *error;
	struct launch_request request;
	int init_cgroup_fd;
};

static void cleanup_making(struct making *m)
{
	cleanup_close_fd(&m->init_cgroup_fd);
}

static void cleanup_sandbox(struct sandbox **s)
{
	sandbox_free(*s);
}

int sandbox_fail(struct sandbox_error *ret_error, unsigned step, int r, const char *format, ...)
{
	const char *need = setup_step_need(step);
	char subject[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(subject, sizeof(subject), format, arguments);
	va_end(arguments);

	ret_error->step = setup_step_name(step);
	ret_error->error = -r;
	snprintf(ret_error->text, sizeof(ret_error->text), "%s%s%s: %s%s%s", setup_step_act(step),
		 *subject ? ": " : "", subject, strerror(-r), *need ? "; " : "", need);
	return r;
}

/* A session id becomes a name of a directory and a host name. */
static bool id_is_valid(const char *id)
{
	size_t length = strlen(id);

	if (length == 0 || length >= LAUNCH_ID_MAX || !isalnum((unsigned char)id[0]))
		return false;
	for (const char *c = id; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_')
			return false;
	return true;
}

static struct sandbox *sandbox_new(const struct sandbox_options *options)
{
	struct sandbox *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;

	s->info = (struct sandbox_info){
		.cgroup_fd = -1,
		.freeze_fd = -1,
		.fanotify_fd = -1,
		.root_mount_fd = -1,
		.stage_fd = -1,
		.lower_fd = -1,
		.workspace_fd = -1,
		.uid_base = sandbox_uid_base(options->slot),
		.uid_count = SESSION_IDS,
	};
	s->limits = LIMITS_NONE;
	s->workspace.fd = s->template.fd = s->filter_fd = s->secrets_fd = -1;
	s->launch = s->mapping = (struct launch){.fds = LAUNCH_ANSWER_NONE};
	s->root_fd = s->control_fd = s->pidfd = s->status_fd = s->mounts_fd = -1;
	for (size_t i = 0; i < INIT_COMMANDS_MAX; i++)
		s->execs[i] = SANDBOX_EXEC_NONE;
	strncpy(s->id, options->id, sizeof(s->id) - 1);
	return s;
}

static int make_cgroups(struct sandbox *s, struct making *m)
{
	uint64_t init_id;

	s->root_fd = fcntl(m->root->fd, F_DUPFD_CLOEXEC, 0);
	int r = s->root_fd < 0 ? -errno
			       : cgroup_make_held(s->root_fd, s->id, s->info.uid_base,
						  &s->info.cgroup_fd, &s->info.cgroup);
	if (r == 0) {
		s->made_cgroup = true;
		s->info.freeze_fd =
			openat(s->info.cgroup_fd, "cgroup.freeze", O_WRONLY | O_CLOEXEC);
		r = s->info.freeze_fd < 0 ? -errno
					  : cgroup_make(s->info.cgroup_fd, INIT_CGROUP, 0,
							&m->init_cgroup_fd, &init_id);
	}
	if (r < 0)
		return sandbox_fail(m->error, SETUP_cgroup, r, "%s/vitrine/%s", m->root->path,
				    s->id);
	return 0;
}

/* The session's ids are mapped on a copy of its own. */
static int open_template(struct sandbox *s, struct making *m)
{
	const struct sandbox_template *t = m->options->template;

	if (!t)
		return 0;
	int r = mount_clone(t->fd, "", false, &s->template.fd);
	if (r == 0 && !(s->template.name = strdup(t->name)))
		r = -ENOMEM;
	if (r < 0)
		return sandbox_fail(m->error, SETUP_template_ids, r, "%s", t->name);
	m->request.flags |= LAUNCH_TEMPLATE;
	return 0;
}

/* With the host's network its resolver is reached as the host does; else one on loopback, if any.
 */
static int fill_resolv(struct launch_request *request, enum sandbox_net net)
{
	static const char own[] = "nameserver 127.0.0.1\n";

	if (net == SANDBOX_NET_NONE) {
		memcpy(request->resolv, own, sizeof(own) - 1);
		request->resolv_length = sizeof(own) - 1;
		return 0;
	}

	struct stat st;
	cleanup(close_fd) int fd = open("/etc/resolv.conf", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || !(st.st_mode & S_IROTH))
		return 0;
	ssize_t n = read(fd, request->resolv, sizeof(request->resolv));
	if (n < 0)
		return -errno;
	request->resolv_length = (uint32_t)n;
	return 0;
}

static int call_launcher(struct sandbox *s, struct making *m)
{
	struct launcher *l = m->launcher;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return sandbox_fail(m->error, SETUP_launcher, -errno, "socketpair");
	s->control_fd = pair[0];
	cleanup(close_fd) int theirs = pair[1];

	int fds[LAUNCH_FD_MAX] = {
		[LAUNCH_FD_CGROUP] = m->init_cgroup_fd,
		[LAUNCH_FD_CONTROL] = theirs,
	};
	size_t count = LAUNCH_FD_FIXED;
	if (s->template.fd >= 0)
		fds[count++] = s->template.fd;
	int r = launcher_ask(l, &m->request, fds, count, &s->launch);
	if (r < 0)
		return sandbox_fail(m->error, SETUP_launcher, r, "%s", "");

	return 0;
}

/* Where the kernel gives the root no file handles, or no more groups, names come from what calls
 * were given. */
static int start_watching(struct sandbox *s, int root_mount_fd, struct sandbox_error *ret_error)
{
	int r = watch_open(root_mount_fd, s->info.uid_base, &s->info.fanotify_fd);
	if (r == -EOPNOTSUPP || r == -ENODEV || r == -EXDEV || r == -EMFILE)
		return 0;
	if (r == 0) {
		s->info.root_mount_fd =
			openat(root_mount_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = s->info.root_mount_fd < 0 ? -errno : 0;
	}
	return r < 0 ? sandbox_fail(ret_error, SETUP_watch, r, "%s", "") : 0;
}

static int make_status_fd(struct sandbox *s)
{
	struct epoll_event event = {.events = EPOLLIN};

	s->status_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->status_fd < 0 || epoll_ctl(s->status_fd, EPOLL_CTL_ADD, s->control_fd, &event) < 0)
		return -errno;
	return 0;
}

int sandbox_report(struct sandbox *s, int timeout_ms, struct init_report *ret_report, int *ret_fd)
{
	cleanup(message_fds) struct message_fds fds = {.count = 0};
	struct pollfd p = {.fd = s->control_fd, .events = POLLIN};

	int n = poll(&p, 1, timeout_ms);
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (n == 0)
		return -ETIMEDOUT;
	int r = message_receive(s->control_fd, false, ret_report, sizeof(*ret_report), &fds);
	if (r == 0 && ret_fd && fds.count == 1)
		*ret_fd = take_fd(fds.fd[0]);
	return r;
}

/* What it waits for may be on its way while it says that it waits. */
static int wait_ready(struct sandbox *s, struct sandbox_error *ret_error)
{
	const uint32_t awaited = s->is_dressed ? INIT_READY : INIT_WAITING;
	struct init_report report = {0};
	int r;

	do
		r = sandbox_report(s, READY_TIMEOUT_MS, &report, NULL);
	while (r == -EAGAIN || (r == 0 && s->is_dressed && report.kind == INIT_WAITING));
	if (r < 0)
		return sandbox_fail(ret_error, SETUP_init, r, "no word from it");
	if (report.kind == INIT_SETUP_FAILED)
		return sandbox_fail(ret_error, report.step, -report.error, "%s", "");
	return report.kind == awaited ? 0 : sandbox_fail(ret_error, SETUP_init, -EBADMSG, "%s", "");
}

static int build(struct sandbox *s, struct making *m)
{
	int r = launcher_refresh(m->launcher);
	if (r < 0)
		return sandbox_fail(m->error, SETUP_skeleton, r, "%s", "");
	r = fill_resolv(&m->request, m->options->net);
	if (r < 0)
		return sandbox_fail(m->error, SETUP_skeleton, r, "/etc/resolv.conf");

	struct phases *phases = m->options->phases;

	phases_mark(phases, "skeleton");
	r = make_cgroups(s, m);
	phases_mark(phases, "cgroups");
	crash_point();
	if (r == 0)
		r = open_template(s, m);
	if (r == 0)
		r = call_launcher(s, m);
	crash_point();
	phases_mark(phases, "asked");
	return r;
}

static void fill_request(const struct sandbox *s, const struct sandbox_options *o,
			 struct launch_request *request)
{
	request->kind = LAUNCH_SESSION;
	request->flags = o->net == SANDBOX_NET_NONE ? LAUNCH_OWN_NET : 0;
	request->uid_base = s->info.uid_base;
	memcpy(request->id, s->id, sizeof(request->id));
}

/* With @is_dressed for this session, which has all it asks for; else for any. */
static int begin(struct launcher *l, const struct cgroup_root *root,
		 const struct sandbox_options *options, bool is_dressed,
		 struct sandbox **ret_sandbox, struct sandbox_error *ret_error)
{
	if (!id_is_valid(options->id))
		return sandbox_fail(ret_error, SETUP_options, -EINVAL, "session id");
	if (options->slot >= SLOTS)
		return sandbox_fail(ret_error, SETUP_options, -ERANGE, "slot %u", options->slot);

	cleanup(sandbox) struct sandbox *s = sandbox_new(options);
	if (!s)
		return sandbox_fail(ret_error, SETUP_options, -ENOMEM, "%s", "");
	cleanup(making) struct making m = {
		.launcher = l,
		.root = root,
		.options = options,
		.error = ret_error,
		.init_cgroup_fd = -1,
	};
	s->launcher = l;
	s->cgroups = root;
	s->has_others_mounts = options->template != NULL;
	fill_request(s, options, &m.request);
	int r = is_dressed ? sandbox_bring_workspace(s, options, ret_error) : 0;
	if (r == 0)
		r = build(s, &m);
	if (r == 0 && is_dressed)
		r = sandbox_fit(s, options, ret_error);
	if (r < 0)
		return r;

	s->skeleton = l->skeleton;
	*ret_sandbox = take(s);
	return 0;
}

int sandbox_prepare(struct launcher *l, const struct cgroup_root *root,
		    const struct sandbox_options *options, struct sandbox **ret_sandbox,
		    struct sandbox_error *ret_error)
{
	return begin(l, root, options, false, ret_sandbox, ret_error);
}

int sandbox_begin(struct launcher *l, const struct cgroup_root *root,
		  const struct sandbox_options *options, struct sandbox **ret_sandbox,
		  struct sandbox_error *ret_error)
{
	return begin(l, root, options, true, ret_sandbox, ret_error);
}

static int take_launched(struct sandbox *s, struct sandbox_error *ret_error)
{
	int r = launcher_wait(s->launcher, &s->launch);

	crash_point();
	if (r == 0 &&
	    (s->launch.fds[LAUNCH_ANSWER_ROOT] < 0 || s->launch.fds[LAUNCH_ANSWER_PIDFD] < 0))
		r = -EBADMSG;
	if (r < 0)
		return sandbox_fail_launch(&s->launch, &s->template, r, ret_error);

	s->info.init_pid = s->launch.pid;
	s->pidfd = take_fd(s->launch.fds[LAUNCH_ANSWER_PIDFD]);
	cleanup(close_fd) int root_mount_fd = take_fd(s->launch.fds[LAUNCH_ANSWER_ROOT]);
	s->info.stage_fd = take_fd(s->launch.fds[LAUNCH_ANSWER_STAGE]);
	s->info.lower_fd = take_fd(s->launch.fds[LAUNCH_ANSWER_LOWER]);
	sandbox_source_close(&s->template);
	return start_watching(s, root_mount_fd, ret_error);
}

int sandbox_launched(struct sandbox *s, struct sandbox_error *ret_error)
{
	int r = s->launch.is_asked ? take_launched(s, ret_error) : 0;

	return r == 0 && s->is_dressed ? sandbox_hand_over(s, ret_error) : r;
}

/*
 * A process whose death drops its mounts dies only after a grace period of the kernel: not so when
 * they are held. What is somebody's to unmount afterwards is not held.
 */
static void hold_mounts(struct sandbox *s)
{
	if (s->is_dressed && !s->has_others_mounts)
		s->mounts_fd = ioctl(s->pidfd, PIDFD_MOUNT_NAMESPACE, 0); /* older kernels: none */
}

int sandbox_ready(struct sandbox *s, struct sandbox_error *ret_error)
{
	int r = wait_ready(s, ret_error);

	crash_point();
	if (r < 0)
		return r;

	hold_mounts(s);
	r = s->status_fd < 0 ? make_status_fd(s) : 0;
	s->is_ready = r == 0;
	return r < 0 ? sandbox_fail(ret_error, SETUP_init, r, "epoll") : 0;
}

int sandbox_ready_fd(const struct sandbox *s)
{
	return s->is_ready ? -1 : s->control_fd;
}

bool sandbox_is_current(struct sandbox *s)
{
	struct pollfd ended = {.fd = s->status_fd, .events = POLLIN};

	return launcher_refresh(s->launcher) == 0 && s->skeleton == s->launcher->skeleton &&
	       poll(&ended, 1, 0) == 0;
}

int sandbox_create(struct launcher *l, const struct cgroup_root *root,
		   const struct sandbox_options *options, struct sandbox **ret_sandbox,
		   struct sandbox_error *ret_error)
{
	cleanup(sandbox) struct sandbox *s = NULL;

	int r = sandbox_begin(l, root, options, &s, ret_error);
	if (!s)
		return r;

	r = sandbox_launched(s, ret_error);
	if (r == 0)
		r = sandbox_ready(s, ret_error);
	if (r < 0)
		return r;

	*ret_sandbox = take(s);
	return 0;
}

const struct sandbox_info *sandbox_info(const struct sandbox *s)
{
	return &s->info;
}

int sandbox_status_fd(const struct sandbox *s)
{
	return s->status_fd;
}

int sandbox_usage(struct sandbox *s, uint64_t *ret_cpu_ns, uint64_t *ret_memory_peak)
{
	int r = cgroup_usage(s->info.cgroup_fd, ret_cpu_ns, ret_memory_peak);
	uint64_t peak = limits_memory_peak(&s->limits);

	if (r == 0 && peak > *ret_memory_peak)
		*ret_memory_peak = peak;
	return r;
}

bool sandbox_is_full(const struct sandbox *s, bool *ret_inodes)
{
	struct statfs st;

	if (s->info.root_mount_fd < 0 || fstatfs(s->info.root_mount_fd, &st) < 0)
		return false;
	*ret_inodes = st.f_files > 0 && st.f_ffree == 0;
	return *ret_inodes || st.f_bavail == 0;
}

void sandbox_exec_close(struct sandbox_exec *e)
{
	cleanup_close_fd(&e->cgroup_fd);
	cleanup_close_fd(&e->words_fd);
	cleanup_close_fd(&e->init_words_fd);
	cleanup_close_fd(&e->payload_fd);
	cleanup_close_fd(&e->tty_fd);
	limits_close_files(&e->limits);
	*e = SANDBOX_EXEC_NONE;
}
