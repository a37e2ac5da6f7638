/*
 * Credentials: what session root may change.
 */
#include "truth.h"

#include <sys/syscall.h>
#include <unistd.h>

static int change_user(void *context)
{
	(void)context;
	/* By number: libc would tell every thread, which is the same act again. */
	if (syscall(SYS_setgid, 1000) || syscall(SYS_setresuid, 1000, 1000, 1000))
		return 1;
	return 0;
}

void acts_cred(void)
{
	pid_t pid = acts_child(change_user, NULL, NULL);

	truth("process.cred", pid);
	truth_number("gid", 1000);
	truth_number("old.gid", 0);
	truth_end();
	truth("process.cred", pid);
	truth_number("uid", 1000);
	truth_number("euid", 1000);
	truth_number("old.uid", 0);
	truth_end();
}
