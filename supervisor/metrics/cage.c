/*
 * What is not on the list gets EPERM. All that is there to serve is open by then.
 */
#include "cage.h"

#include <errno.h>
#include <grp.h>
#include <seccomp.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

static const int allowed[] = {
	/* connections */
	SCMP_SYS(accept4), SCMP_SYS(accept), SCMP_SYS(recvfrom), SCMP_SYS(recvmsg),
	SCMP_SYS(sendto), SCMP_SYS(sendmsg), SCMP_SYS(shutdown), SCMP_SYS(setsockopt),
	SCMP_SYS(getsockopt), SCMP_SYS(getsockname), SCMP_SYS(getpeername), SCMP_SYS(fcntl),
	SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(close),
	/* waiting */
	SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2), SCMP_SYS(epoll_ctl),
	SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(futex), SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep), SCMP_SYS(sched_yield), SCMP_SYS(restart_syscall),
	/* memory, time, threads, signals, the end */
	SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk),
	SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(getrandom), SCMP_SYS(getpid),
	SCMP_SYS(gettid), SCMP_SYS(tgkill), SCMP_SYS(rseq), SCMP_SYS(set_robust_list),
	SCMP_SYS(prctl), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack), SCMP_SYS(exit), SCMP_SYS(exit_group)};

static int drop_capabilities(void)
{
	cap_t none = cap_init();
	int r = none && cap_set_proc(none) == 0 ? 0 : -errno;

	cap_free(none);
	if (r == 0 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		r = -errno;
	return r;
}

int cage_drop(uid_t uid, gid_t gid)
{
	const struct rlimit no_core = {0, 0};

	if (setrlimit(RLIMIT_CORE, &no_core) < 0)
		return -errno;
	if (uid && (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
		    setresuid(uid, uid, uid) < 0))
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return drop_capabilities();
}

static int add_rules(scmp_filter_ctx filter)
{
	static const int maps[] = {SCMP_SYS(mmap), SCMP_SYS(mprotect)};
	int r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);

	for (size_t i = 0; r == 0 && i < sizeof(allowed) / sizeof(allowed[0]); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; r == 0 && i < sizeof(maps) / sizeof(maps[0]); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, maps[i], 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	return r;
}

int cage_close(void)
{
	if (IS_SANITIZED)
		return 0;
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!filter)
		return -ENOMEM;
	int r = add_rules(filter);
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	if (r < 0)
		return r;
	/* A cage whose door is not tried may stand open. */
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		close(fd);
		return -EPROTO;
	}
	return errno == EPERM ? 0 : -errno;
}
