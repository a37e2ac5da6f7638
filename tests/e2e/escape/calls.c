/*
 * System calls that lead out, or past the record. Where the argument decides, with the arguments
 * that the record has to tell.
 */
#include "escape.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/reboot.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define X32 0x40000000

static const struct {
	const char *name, *arguments;
	int error;
	long number, a, b, c, d, e, f;
} calls[] = {
	/* Namespaces (CVE-2022-0185, CVE-2023-32233, CVE-2024-1086 and all that begin with one). */
	{"unshare", "flags=CLONE_NEWUSER", EPERM, SYS_unshare, CLONE_NEWUSER},
	{"unshare", "flags=CLONE_NEWUSER|CLONE_NEWNS|CLONE_NEWNET", EPERM, SYS_unshare,
	 CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET},
	{"unshare", "flags=CLONE_NEWTIME", EPERM, SYS_unshare, CLONE_NEWTIME},
	{"unshare", "flags=CLONE_NEWCGROUP", EPERM, SYS_unshare, CLONE_NEWCGROUP},
	{"clone", "flags=CLONE_NEWUSER", EPERM, SYS_clone, CLONE_NEWUSER | SIGCHLD},
	{"clone", "flags=CLONE_NEWPID", EPERM, SYS_clone, CLONE_NEWPID | SIGCHLD},
	{"setns", "type=CLONE_NEWNS", EPERM, SYS_setns, 0, CLONE_NEWNS},
	{"setns", "type=0", EPERM, SYS_setns, 0, 0},

	/* Mounts (CVE-2021-30465, CVE-2022-0492 by a cgroup hierarchy of one's own). */
	{"mount", "flags=MS_BIND", EPERM, SYS_mount, 0, 0, 0, MS_BIND},
	{"mount", "flags=0", EPERM, SYS_mount, 0, 0, 0, 0},
	{"mount", "flags=MS_RDONLY|MS_REMOUNT|MS_BIND", EPERM, SYS_mount, 0, 0, 0,
	 MS_REMOUNT | MS_BIND | MS_RDONLY},
	{"umount2", "flags=MNT_DETACH", EPERM, SYS_umount2, 0, MNT_DETACH},
	{"pivot_root", "", EPERM, SYS_pivot_root},
	{"fsopen", "", EPERM, SYS_fsopen},
	{"fsconfig", "", EPERM, SYS_fsconfig},
	{"fsmount", "", EPERM, SYS_fsmount},
	{"fspick", "", EPERM, SYS_fspick},
	{"open_tree", "", EPERM, SYS_open_tree},
	{"move_mount", "", EPERM, SYS_move_mount},
	{"mount_setattr", "", EPERM, SYS_mount_setattr},

	/* Past the filter and the record. */
	{"io_uring_setup", "", EPERM, SYS_io_uring_setup, 8},
	{"io_uring_enter", "", EPERM, SYS_io_uring_enter},
	{"io_uring_register", "", EPERM, SYS_io_uring_register},
	{"io_setup", "", EPERM, SYS_io_setup, 8},
	{"userfaultfd", "", EPERM, SYS_userfaultfd, O_CLOEXEC},
	{"open_by_handle_at", "", EPERM, SYS_open_by_handle_at, AT_FDCWD},
	{"seccomp", "operation=SECCOMP_SET_MODE_FILTER", EINVAL, SYS_seccomp, 1},
	{"prctl", "option=PR_SET_SECCOMP", EINVAL, SYS_prctl, PR_SET_SECCOMP, 2},
	{"fanotify_init", "", EPERM, SYS_fanotify_init},
	{"fanotify_mark", "", EPERM, SYS_fanotify_mark, -1},
	{"io_pgetevents", "", EPERM, SYS_io_pgetevents},
	{"lookup_dcookie", "", EPERM, SYS_lookup_dcookie},
	{"nfsservctl", "", EPERM, SYS_nfsservctl},

	/* Other processes. */
	{"ptrace", "request=PTRACE_ATTACH,pid=1", EPERM, SYS_ptrace, PTRACE_ATTACH, 1},
	{"ptrace", "request=PTRACE_SEIZE,pid=1", EPERM, SYS_ptrace, PTRACE_SEIZE, 1},
	{"ptrace", "request=PTRACE_TRACEME,pid=0", EPERM, SYS_ptrace, PTRACE_TRACEME, 0},
	{"process_vm_readv", "pid=1", EPERM, SYS_process_vm_readv, 1},
	{"process_vm_writev", "pid=1", EPERM, SYS_process_vm_writev, 1},
	{"pidfd_getfd", "descriptor=3", EPERM, SYS_pidfd_getfd, 0, 3},
	{"kcmp", "pid=1", EPERM, SYS_kcmp, 1, 1},

	/* Keys: they belong to users, not to namespaces. */
	{"keyctl", "operation=KEYCTL_GET_KEYRING_ID", EPERM, SYS_keyctl, KEYCTL_GET_KEYRING_ID, -3},
	{"keyctl", "operation=KEYCTL_READ", EPERM, SYS_keyctl, KEYCTL_READ, -4},
	{"keyctl", "operation=KEYCTL_JOIN_SESSION_KEYRING", EPERM, SYS_keyctl,
	 KEYCTL_JOIN_SESSION_KEYRING},
	{"add_key", "", EPERM, SYS_add_key},
	{"request_key", "", EPERM, SYS_request_key},

	/* The kernel itself. */
	{"bpf", "command=BPF_MAP_CREATE", EPERM, SYS_bpf, BPF_MAP_CREATE},
	{"bpf", "command=BPF_PROG_LOAD", EPERM, SYS_bpf, BPF_PROG_LOAD},
	{"perf_event_open", "pid=0", EPERM, SYS_perf_event_open, 0, 0, -1, -1},
	{"init_module", "", EPERM, SYS_init_module},
	{"finit_module", "", EPERM, SYS_finit_module, -1},
	{"delete_module", "", EPERM, SYS_delete_module},
	{"kexec_load", "", EPERM, SYS_kexec_load},
	{"kexec_file_load", "", EPERM, SYS_kexec_file_load, -1, -1},
	{"reboot", "command=LINUX_REBOOT_CMD_CAD_OFF", EPERM, SYS_reboot, LINUX_REBOOT_MAGIC1,
	 LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_CAD_OFF},
	{"swapon", "", EPERM, SYS_swapon},
	{"swapoff", "", EPERM, SYS_swapoff},
	{"setdomainname", "", EPERM, SYS_setdomainname},
	{"quotactl_fd", "", EPERM, SYS_quotactl_fd, -1},
	{"acct", "", EPERM, SYS_acct},
	{"quotactl", "", EPERM, SYS_quotactl},
	{"syslog", "action=3", EPERM, SYS_syslog, 3},
	{"iopl", "level=3", EPERM, SYS_iopl, 3},
	{"ioperm", "", EPERM, SYS_ioperm, 0, 1, 1},
	{"modify_ldt", "", EPERM, SYS_modify_ldt},
	{"settimeofday", "", EPERM, SYS_settimeofday},
	{"clock_settime", "clock=0", EPERM, SYS_clock_settime, 0},
	{"sethostname", "", EPERM, SYS_sethostname},
	{"vhangup", "", EPERM, SYS_vhangup},
	{"personality", "domain=READ_IMPLIES_EXEC", EPERM, SYS_personality, 0x400000},

	/* Terminals (CVE-2017-5226). */
	{"ioctl", "request=TIOCSTI", EPERM, SYS_ioctl, 0, TIOCSTI},
	{"ioctl", "request=TIOCSTI", EPERM, SYS_ioctl, 0, TIOCSTI | 0x7700000000000000},
	{"ioctl", "request=TIOCLINUX", EPERM, SYS_ioctl, 0, TIOCLINUX},
	{"ioctl", "request=TIOCSETD", EPERM, SYS_ioctl, 0, TIOCSETD},

	/* Devices. */
	{"mknod", "mode=020600", EPERM, SYS_mknod, 0, S_IFCHR | 0600, 0x101},
	{"mknod", "mode=060600", EPERM, SYS_mknod, 0, S_IFBLK | 0600, 0x700},
	{"mknodat", "mode=060644", EPERM, SYS_mknodat, AT_FDCWD, 0, S_IFBLK | 0644, 0xfe00},

	/* Set-user-id files that outlive the session in a workspace. */
	{"chmod", "mode=04755", EPERM, SYS_chmod, 0, 04755},
	{"fchmodat", "mode=02755", EPERM, SYS_fchmodat, AT_FDCWD, 0, 02755},
	{"openat", "flags=O_WRONLY|O_CREAT,mode=04700", EPERM, SYS_openat, AT_FDCWD, 0,
	 O_WRONLY | O_CREAT, 04700},

	/* Sockets of other parts of the kernel. */
	{"socket", "family=AF_PACKET,type=3,protocol=768", EPERM, SYS_socket, AF_PACKET, SOCK_RAW,
	 768},
	{"socket", "family=AF_VSOCK,type=1,protocol=0", EPERM, SYS_socket, AF_VSOCK, SOCK_STREAM},
	{"socket", "family=AF_ALG,type=5,protocol=0", EPERM, SYS_socket, AF_ALG, SOCK_SEQPACKET},
	{"socket", "family=AF_NETLINK,type=3,protocol=12", EPERM, SYS_socket, AF_NETLINK, SOCK_RAW,
	 12 /* NETLINK_NETFILTER */},
	{"socket", "family=AF_NETLINK,type=3,protocol=15", EPERM, SYS_socket, AF_NETLINK, SOCK_RAW,
	 15 /* NETLINK_KOBJECT_UEVENT */},
	{"socket", "family=AF_NETLINK,type=3,protocol=6", EPERM, SYS_socket, AF_NETLINK, SOCK_RAW,
	 6 /* NETLINK_XFRM */},
	{"socket", "family=AF_KEY,type=3,protocol=2", EPERM, SYS_socket, AF_KEY, SOCK_RAW, 2},
	{"socket", "family=AF_RDS,type=5,protocol=0", EPERM, SYS_socket, AF_RDS, SOCK_SEQPACKET},
	{"socket", "family=AF_PPPOX,type=2,protocol=0", EPERM, SYS_socket, AF_PPPOX, SOCK_DGRAM},
	{"socket", "family=AF_CAN,type=3,protocol=1", EPERM, SYS_socket, AF_CAN, SOCK_RAW, 1},
	{"socket", "family=AF_TIPC,type=5,protocol=0", EPERM, SYS_socket, AF_TIPC, SOCK_SEQPACKET},
	{"socket", "family=AF_BLUETOOTH,type=3,protocol=1", EPERM, SYS_socket, AF_BLUETOOTH,
	 SOCK_RAW, 1},
	{"socket", "family=AF_QIPCRTR,type=2,protocol=0", EPERM, SYS_socket, AF_QIPCRTR,
	 SOCK_DGRAM},
	{"socket", "family=AF_XDP,type=3,protocol=0", EPERM, SYS_socket, AF_XDP, SOCK_RAW},
	{"socketpair", "family=AF_TIPC", EPERM, SYS_socketpair, AF_TIPC, SOCK_SEQPACKET},
};

/* Calls that hide their flags in memory, and calls that nobody has heard of yet. */
static const struct {
	const char *name;
	long number;
} unknown[] = {
	{"clone3", 435},	   {"openat2", 437},	    {"mount by statmount", 457},
	{"listmount", 458},	   {"open_tree_attr", 467}, {"lsm_set_self_attr", 460},
	{"map_shadow_stack", 453}, {"the next one", 511},
};

void try_calls(void)
{
	for (size_t i = 0; i < COUNT(calls); i++)
		must_refuse(calls[i].name, calls[i].arguments, calls[i].error, calls[i].number,
			    calls[i].a, calls[i].b, calls[i].c, calls[i].d, calls[i].e, calls[i].f);
	for (size_t i = 0; i < COUNT(unknown); i++) {
		errno = 0;
		long r = syscall(unknown[i].number, 0, 0, 0, 0, 0, 0);

		came(unknown[i].name, r == -1 && errno == ENOSYS, "%s", strerrorname_np(errno));
	}
}

static long enter_32(long number)
{
	long r = number;

	__asm__ volatile("int $0x80" : "+a"(r) : "b"(0), "c"(0), "d"(0) : "memory");
	return r;
}

/* There numbers mean other calls: 21 is mount by int 0x80, and 521 ptrace by x32. */
void try_entries(void)
{
	long r = enter_32(21);

	printf("attempt\t%d\ti386/mount\t%d\t\n", getpid(), EPERM);
	came("int 0x80", r == -EPERM, "%ld", r);
	must_refuse("x32/ptrace", "", EPERM, X32 | 521, PTRACE_ATTACH, 1, 0, 0, 0, 0);
	must_refuse("x32/io_setup", "", EPERM, X32 | 543, 8, 0, 0, 0, 0, 0);
}
