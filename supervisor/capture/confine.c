/*
 * Drops privileges and installs the list of allowed system calls. What is not on it gets EPERM.
 */
#include "confine.h"

#include "../record/core_dump.h"

#include <errno.h>
#include <grp.h>
#include <linux/bpf.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

static const int allowed[] = {
	/* rings, maps, memory */
	SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk), SCMP_SYS(mlock),
	SCMP_SYS(mlock2), SCMP_SYS(munlock),
	/* journals */
	SCMP_SYS(openat), SCMP_SYS(close), SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(readv),
	SCMP_SYS(preadv), SCMP_SYS(write), SCMP_SYS(pwrite64), SCMP_SYS(writev), SCMP_SYS(pwritev),
	SCMP_SYS(lseek), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(fstatfs),
	SCMP_SYS(getdents64), SCMP_SYS(ftruncate), SCMP_SYS(fallocate), SCMP_SYS(fsync),
	SCMP_SYS(fdatasync), SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(unlinkat),
	SCMP_SYS(flock), SCMP_SYS(fcntl), SCMP_SYS(dup), SCMP_SYS(dup3),
	/* messages and streams */
	SCMP_SYS(sendmsg), SCMP_SYS(recvmsg), SCMP_SYS(sendto), SCMP_SYS(recvfrom), SCMP_SYS(poll),
	SCMP_SYS(ppoll), SCMP_SYS(ioctl), SCMP_SYS(memfd_create), SCMP_SYS(shutdown),
	/* the loop and the freezing thread */
	SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2), SCMP_SYS(epoll_ctl),
	SCMP_SYS(timerfd_create), SCMP_SYS(timerfd_settime), SCMP_SYS(eventfd2), SCMP_SYS(futex),
	SCMP_SYS(sched_yield), SCMP_SYS(restart_syscall), SCMP_SYS(rseq),
	/* time, chance, identity, signals, the end */
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
	SCMP_SYS(getrandom), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getuid),
	SCMP_SYS(geteuid), SCMP_SYS(tgkill), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(exit), SCMP_SYS(exit_group)};

/* What of bpf(2) reads a map, and removes what was read. */
static const unsigned int allowed_bpf[] = {BPF_MAP_LOOKUP_ELEM, BPF_MAP_GET_NEXT_KEY,
					   BPF_MAP_LOOKUP_BATCH, BPF_MAP_DELETE_ELEM};

static int fail(char ret_error[CONFINE_ERROR], int error, const char *what)
{
	snprintf(ret_error, CONFINE_ERROR, "%s: %s", what, strerror(-error));
	return error;
}

static int drop_privileges(uid_t uid, gid_t gid, char ret_error[CONFINE_ERROR])
{
	if (uid == 0 || gid == 0)
		return fail(ret_error, -EINVAL, "the recorder does not run as root");
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return fail(ret_error, -errno, "cannot change to the recorder's user");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return fail(ret_error, -errno, "cannot set no_new_privs");
	int r = core_dump_forbid();
	if (r < 0)
		return fail(ret_error, r, "cannot forbid core dumps");
	if (setuid(0) == 0)
		return fail(ret_error, -EPERM, "the recorder could become root again");
	return 0;
}

static int add_rules(scmp_filter_ctx filter)
{
	int r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);

	for (size_t i = 0; r == 0 && i < sizeof(allowed) / sizeof(allowed[0]); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; r == 0 && i < sizeof(allowed_bpf) / sizeof(allowed_bpf[0]); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(bpf), 1,
				     SCMP_A0(SCMP_CMP_EQ, allowed_bpf[i]));
	/* Memory, but none that can be run. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	return r;
}

/* A cage whose door is not tried may stand open. */
static int try_the_cage(char ret_error[CONFINE_ERROR])
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0) {
		close(fd);
		return fail(ret_error, -EPROTO, "the seccomp filter lets sockets be made");
	}
	if (errno != EPERM)
		return fail(ret_error, -errno, "the seccomp filter does not answer as it should");
	return 0;
}

int confine_self(uid_t uid, gid_t gid, char ret_error[CONFINE_ERROR])
{
	int r = drop_privileges(uid, gid, ret_error);
	if (r < 0 || IS_SANITIZED)
		return r;

	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!filter)
		return fail(ret_error, -ENOMEM, "cannot make the seccomp filter");
	r = add_rules(filter);
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	if (r < 0)
		return fail(ret_error, r, "cannot install the seccomp filter");
	return try_the_cage(ret_error);
}
