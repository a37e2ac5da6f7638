/*
 * Why a process ended: the kernel's side noted who sent its signal, when it was sent, and marks its
 * own victims. Nothing is guessed from what happened at about the same time.
 */
#include "session_state.h"

#include <signal.h>

/* The kernel marks a victim right after the signal to it, so one that is quicker is not marked. Its
 * own count of victims is ahead of those that were seen then. */
static bool is_out_of_memory(const struct session *s, const struct session_exec *x,
			     const struct death *death)
{
	if (death->sender == SENDER_OOM)
		return true;
	return death->sender == SENDER_KERNEL && (death->status & 0x7f) == SIGKILL &&
	       (session_limits_untold(s, SANDBOX_MEMORY) > 0 ||
		(x && exec_limits_untold(x, SANDBOX_MEMORY) > 0));
}

static void name_sender(const struct session_exec *x, const struct death *death,
			struct verdict *ended)
{
	switch (death->sender) {
	case SENDER_SUPERVISOR:
		ended->by = x && x->signal_sent && x->signal_sent == ended->signal ? x->signal_by
										   : "vitrined";
		break;
	case SENDER_PROCESS:
		ended->by = "process";
		break;
	case SENDER_OUTSIDE:
		ended->by = "outside";
		break;
	case SENDER_KERNEL:
		ended->by = "kernel";
		break;
	}
	ended->sender_host_pid = death->sender_pid;
	ended->sender_pid = death->sender_ns_pid;
	ended->sender_start_ns = death->sender_start_ns;
}

void session_explain_death(struct session *s, const struct session_exec *x, struct verdict *ended)
{
	uint64_t cgroup = x ? x->cgroup : sandbox_info(s->sandbox)->cgroup;
	uint64_t file_size = s->request.policy.limits.file_size_bytes;
	struct death death;

	if (x && x->request->limits.file_size_bytes)
		file_size = x->request->limits.file_size_bytes;

	if (ended->reason == VERDICT_EXIT || sensors_death(s->host->sensors, cgroup, &death) < 0)
		return;
	if (is_out_of_memory(s, x, &death))
		*ended = (struct verdict){.reason = VERDICT_OOM, .limit = "memory"};
	else if (ended->signal == SIGXFSZ && death.sender == SENDER_KERNEL && file_size)
		*ended = (struct verdict){
			.reason = VERDICT_LIMIT, .limit = "file_size", .signal = SIGXFSZ};
	else
		name_sender(x, &death, ended);
}
