/*
 * vitrine-launcher: starts sessions for vitrined. Static, single-threaded and small, in a mount
 * namespace of about five mounts, because a fork copies all of that. It reads requests from
 * descriptor 3, of vitrined alone, and ends when that is closed. What it has started ends by
 * itself: the init of a session when its own socket closes.
 */
#include "../record/cleanup.h"
#include "launch.h"
#include "message.h"
#include "namespaces.h"
#include "networks.h"
#include "rootfs.h"
#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define SOCKET 3
#define QUIET_MS 10 /* after a session was started: it has the processors to itself */

static int map_workspace(const struct launch_request *request, int mount_fd)
{
	return namespaces_map_mount(mount_fd, request->workspace_uid, request->workspace_gid,
				    request->uid_base + request->workspace_owner);
}

/* The child is where its parent is: in a network of its own, or in the host's. */
static int start_init(struct session_start *start, pid_t *ret_pid, int *ret_pidfd,
		      enum setup_step *ret_step)
{
	bool has_own_net = start->request->flags & LAUNCH_OWN_NET;

	*ret_step = SETUP_network;
	int r = has_own_net ? networks_enter() : 0;
	if (r < 0)
		return r;
	r = namespaces_start(start, ret_pid, ret_pidfd, ret_step);
	if (has_own_net)
		networks_leave();
	return r;
}

static int start_session(const struct launch_request *request, const struct message_fds *fds,
			 struct rootfs *root, pid_t *ret_pid, int *ret_pidfd,
			 enum setup_step *ret_step)
{
	size_t next = LAUNCH_FD_FIXED;
	size_t workspace = request->flags & LAUNCH_WORKSPACE ? next++ : 0;
	size_t template = request->flags & LAUNCH_TEMPLATE ? next++ : 0;
	size_t secrets = request->flags & LAUNCH_SECRETS ? next++ : 0;
	if (fds->count != next + request->tasks_count)
		return -EBADMSG;

	int r = 0;
	if (workspace) {
		*ret_step = SETUP_workspace_ids;
		r = map_workspace(request, fds->fd[workspace]);
	}
	if (r == 0 && template) {
		*ret_step = SETUP_template_ids;
		r = namespaces_map_template(fds->fd[template], request->uid_base);
	}
	if (r < 0)
		return r;

	const struct rootfs_source from = {
		.template_fd = template ? fds->fd[template] : -1,
		.workspace_fd = workspace ? fds->fd[workspace] : -1,
		.secrets_fd = secrets ? fds->fd[secrets] : -1,
	};
	r = rootfs_make(request, &from, root, ret_step);
	if (r < 0)
		return r;

	struct session_start start = {
		.request = request,
		.cgroup_fd = fds->fd[LAUNCH_FD_CGROUP],
		.control_fd = fds->fd[LAUNCH_FD_CONTROL],
		.filter_fd = fds->fd[LAUNCH_FD_FILTER],
		.root_fd = root->mount_fd,
		.tasks_fds = fds->fd + next,
	};
	return start_init(&start, ret_pid, ret_pidfd, ret_step);
}

static int answer_session(const struct launch_request *request, const struct message_fds *fds)
{
	enum setup_step step = SETUP_launcher;
	struct rootfs root = ROOTFS_NONE;
	int pidfd = -1;
	pid_t pid = 0;

	int r = start_session(request, fds, &root, &pid, &pidfd, &step);
	struct launch_answer answer = {.error = -r, .step = step, .pid = pid};
	int out[LAUNCH_ANSWER_COUNT] = {
		[LAUNCH_ANSWER_ROOT] = root.mount_fd,
		[LAUNCH_ANSWER_PIDFD] = pidfd,
		[LAUNCH_ANSWER_STAGE] = root.stage_fd,
		[LAUNCH_ANSWER_LOWER] = root.lower_fd,
	};
	r = message_send(SOCKET, &answer, sizeof(answer), out, r < 0 ? 0 : LAUNCH_ANSWER_COUNT);
	for (int i = 0; i < LAUNCH_ANSWER_COUNT; i++)
		cleanup_close_fd(&out[i]);
	return r;
}

static int answer_skeleton(const struct message_fds *fds)
{
	int r = fds->count == 1 ? rootfs_set_skeleton(fds->fd[0]) : -EBADMSG;
	struct launch_answer answer = {.error = -r, .step = SETUP_skeleton};

	return message_send(SOCKET, &answer, sizeof(answer), NULL, 0);
}

/* The next thing that can be done while nobody asks for anything. Whether it was. */
static bool make_ahead(void)
{
	if (stage_is_wanted())
		return stage_make_ahead();
	return networks_want_more() && networks_make_ahead();
}

static int answer(const struct launch_request *request, const struct message_fds *fds)
{
	return request->kind == LAUNCH_SKELETON ? answer_skeleton(fds)
						: answer_session(request, fds);
}

/* Until the next request. To take a root away waits for grace periods of the kernel. */
static int keep_house(void)
{
	struct pollfd socket = {.fd = SOCKET, .events = POLLIN};

	if (poll(&socket, 1, QUIET_MS) == 0) {
		int r = rootfs_clear();
		if (r < 0)
			return r;
		while (poll(&socket, 1, 0) == 0 && make_ahead())
			;
	}
	return 0;
}

static int serve(void)
{
	for (;;) {
		cleanup(message_fds) struct message_fds fds = {.count = 0};
		struct launch_request request;

		int r = keep_house();
		if (r == 0)
			r = message_receive(SOCKET, true, &request, sizeof(request), &fds);
		if (r == 0)
			r = rootfs_clear();
		if (r == 0)
			r = answer(&request, &fds);
		if (r < 0)
			return r;
	}
}

/*
 * Sessions start with every signal at its default; the launcher does not wait for its children.
 * By number: libc keeps 32 and 33 for itself and leaves them ignored where they are.
 */
static void reset_signals(void)
{
	const unsigned long standard[4] = {
		0}; /* handler, flags, restorer, mask as the kernel has them */
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		syscall(SYS_rt_sigaction, s, standard, NULL, sizeof(standard[3]));
	signal(SIGCHLD, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * Of what a process inherits, what a session shall not have of whoever started vitrined: an
 * execution domain, and a rank among processes that it could not have asked for.
 */
static int reset_standing(void)
{
	const struct sched_param none = {0};

	if (personality(PER_LINUX) < 0 || sched_setscheduler(0, SCHED_OTHER, &none) < 0)
		return -errno;
	if (getpriority(PRIO_PROCESS, 0) < 0 && setpriority(PRIO_PROCESS, 0, 0) < 0)
		return -errno;
	return 0;
}

/* The host's /dev/null would hold the host's mounts in every session. */
static int replace_streams(void)
{
	cleanup(close_fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return -errno;

	for (int fd = 0; fd <= 2; fd++)
		if (dup2(null, fd) < 0)
			return -errno;
	return 0;
}

/*
 * A script of a session whose interpreter is /proc/self/exe gets here, too: as any program of the
 * session, so the first steps fail.
 */
int main(void)
{
	prctl(PR_SET_NAME, program_invocation_name);
	umask(022);
	reset_signals();

	int r = reset_standing();
	if (r == 0)
		r = rootfs_prepare();
	if (r == 0)
		r = replace_streams();
	if (r == 0)
		r = networks_open();
	struct launch_answer answer = {.error = -r, .step = SETUP_launcher};
	if (message_send(SOCKET, &answer, sizeof(answer), NULL, 0) < 0 || r < 0)
		return 1;
	return serve() == -ECONNRESET ? 0 : 1;
}
