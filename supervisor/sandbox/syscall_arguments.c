/*
 * The arguments that tell what a refused call asked for, in words. What the kernel takes as 32 bits
 * is read as 32 bits. Only what is in registers: memory that an argument points to may have been
 * changed since.
 */
#include "syscall_policy.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fanotify.h>
#include <linux/keyctl.h>
#include <linux/ptrace.h>
#include <linux/reboot.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>

struct value_name {
	const char *name; /* NULL closes a table */
	uint64_t value;
};

#define NAMED(value)                                                                               \
	{                                                                                          \
#value, value                                                                      \
	}
/* clang-format off */
static const struct value_name clone_flags[] = {
	NAMED(CLONE_NEWUSER), NAMED(CLONE_NEWNS), NAMED(CLONE_NEWPID), NAMED(CLONE_NEWNET), NAMED(CLONE_NEWUTS),
	NAMED(CLONE_NEWIPC), NAMED(CLONE_NEWCGROUP), {NULL}};
/* CLONE_NEWTIME lies where clone(2) has the signal of the end. */
static const struct value_name unshare_flags[] = {
	NAMED(CLONE_NEWUSER), NAMED(CLONE_NEWNS), NAMED(CLONE_NEWPID), NAMED(CLONE_NEWNET), NAMED(CLONE_NEWUTS),
	NAMED(CLONE_NEWIPC), NAMED(CLONE_NEWCGROUP), NAMED(CLONE_NEWTIME), {NULL}};
static const struct value_name families[] = {
	NAMED(AF_UNSPEC), NAMED(AF_UNIX), NAMED(AF_INET), NAMED(AF_AX25), NAMED(AF_IPX), NAMED(AF_APPLETALK),
	NAMED(AF_NETROM), NAMED(AF_BRIDGE), NAMED(AF_ATMPVC), NAMED(AF_X25), NAMED(AF_INET6), NAMED(AF_ROSE),
	NAMED(AF_DECnet), NAMED(AF_NETBEUI), NAMED(AF_SECURITY), NAMED(AF_KEY), NAMED(AF_NETLINK), NAMED(AF_PACKET),
	NAMED(AF_ASH), NAMED(AF_ECONET), NAMED(AF_ATMSVC), NAMED(AF_RDS), NAMED(AF_SNA), NAMED(AF_IRDA),
	NAMED(AF_PPPOX), NAMED(AF_WANPIPE), NAMED(AF_LLC), NAMED(AF_IB), NAMED(AF_MPLS), NAMED(AF_CAN), NAMED(AF_TIPC),
	NAMED(AF_BLUETOOTH), NAMED(AF_IUCV), NAMED(AF_RXRPC), NAMED(AF_ISDN), NAMED(AF_PHONET), NAMED(AF_IEEE802154),
	NAMED(AF_CAIF), NAMED(AF_ALG), NAMED(AF_NFC), NAMED(AF_VSOCK), NAMED(AF_KCM), NAMED(AF_QIPCRTR), NAMED(AF_SMC),
	NAMED(AF_XDP), {NULL}};
static const struct value_name ioctls[] = {NAMED(TIOCSTI), NAMED(TIOCLINUX), NAMED(TIOCSETD), {NULL}};
static const struct value_name ptrace_requests[] = {
	NAMED(PTRACE_TRACEME), NAMED(PTRACE_PEEKTEXT), NAMED(PTRACE_PEEKDATA), NAMED(PTRACE_PEEKUSR),
	NAMED(PTRACE_POKETEXT), NAMED(PTRACE_POKEDATA), NAMED(PTRACE_POKEUSR), NAMED(PTRACE_CONT), NAMED(PTRACE_KILL),
	NAMED(PTRACE_SINGLESTEP), NAMED(PTRACE_GETREGS), NAMED(PTRACE_SETREGS), NAMED(PTRACE_ATTACH),
	NAMED(PTRACE_DETACH), NAMED(PTRACE_SYSCALL), NAMED(PTRACE_SETOPTIONS), NAMED(PTRACE_GETSIGINFO),
	NAMED(PTRACE_GETREGSET), NAMED(PTRACE_SETREGSET), NAMED(PTRACE_SEIZE), NAMED(PTRACE_INTERRUPT),
	NAMED(PTRACE_LISTEN), NAMED(PTRACE_GET_SYSCALL_INFO), {NULL}};
static const struct value_name prctl_options[] = {NAMED(PR_SET_SECCOMP), {NULL}};
static const struct value_name seccomp_operations[] = {
	NAMED(SECCOMP_SET_MODE_STRICT), NAMED(SECCOMP_SET_MODE_FILTER), NAMED(SECCOMP_GET_ACTION_AVAIL),
	NAMED(SECCOMP_GET_NOTIF_SIZES), {NULL}};
static const struct value_name domains[] = {
	NAMED(MMAP_PAGE_ZERO), NAMED(READ_IMPLIES_EXEC), NAMED(ADDR_COMPAT_LAYOUT), NAMED(ADDR_NO_RANDOMIZE),
	NAMED(UNAME26), {NULL}};
static const struct value_name bpf_commands[] = {
	NAMED(BPF_MAP_CREATE), NAMED(BPF_MAP_LOOKUP_ELEM), NAMED(BPF_MAP_UPDATE_ELEM), NAMED(BPF_MAP_DELETE_ELEM),
	NAMED(BPF_PROG_LOAD), NAMED(BPF_OBJ_PIN), NAMED(BPF_OBJ_GET), NAMED(BPF_PROG_ATTACH), NAMED(BPF_PROG_DETACH),
	NAMED(BPF_PROG_GET_NEXT_ID), NAMED(BPF_MAP_GET_NEXT_ID), NAMED(BPF_PROG_GET_FD_BY_ID),
	NAMED(BPF_MAP_GET_FD_BY_ID), NAMED(BPF_RAW_TRACEPOINT_OPEN), NAMED(BPF_BTF_LOAD), NAMED(BPF_LINK_CREATE),
	{NULL}};
static const struct value_name key_operations[] = {
	NAMED(KEYCTL_GET_KEYRING_ID), NAMED(KEYCTL_JOIN_SESSION_KEYRING), NAMED(KEYCTL_UPDATE), NAMED(KEYCTL_REVOKE),
	NAMED(KEYCTL_CHOWN), NAMED(KEYCTL_SETPERM), NAMED(KEYCTL_DESCRIBE), NAMED(KEYCTL_CLEAR), NAMED(KEYCTL_LINK),
	NAMED(KEYCTL_UNLINK), NAMED(KEYCTL_SEARCH), NAMED(KEYCTL_READ), NAMED(KEYCTL_INSTANTIATE), {NULL}};
static const struct value_name mount_flags[] = {
	NAMED(MS_RDONLY), NAMED(MS_NOSUID), NAMED(MS_NODEV), NAMED(MS_NOEXEC), NAMED(MS_REMOUNT), NAMED(MS_BIND),
	NAMED(MS_MOVE), NAMED(MS_REC), NAMED(MS_SLAVE), NAMED(MS_PRIVATE), NAMED(MS_SHARED), {NULL}};
static const struct value_name umount_flags[] = {
	NAMED(MNT_FORCE), NAMED(MNT_DETACH), NAMED(MNT_EXPIRE), NAMED(UMOUNT_NOFOLLOW), {NULL}};
static const struct value_name reboot_commands[] = {
	NAMED(LINUX_REBOOT_CMD_RESTART), NAMED(LINUX_REBOOT_CMD_HALT), NAMED(LINUX_REBOOT_CMD_POWER_OFF),
	NAMED(LINUX_REBOOT_CMD_CAD_ON), NAMED(LINUX_REBOOT_CMD_CAD_OFF), NAMED(LINUX_REBOOT_CMD_KEXEC), {NULL}};
static const struct value_name open_flags[] = {
	NAMED(O_WRONLY), NAMED(O_RDWR), NAMED(O_CREAT), NAMED(O_EXCL), NAMED(O_TRUNC),
	{"O_TMPFILE", O_TMPFILE & ~O_DIRECTORY}, {NULL}};

enum form {
	FORM_NUMBER, /* signed, 32 bits */
	FORM_VALUE,  /* one of the names */
	FORM_FLAGS,  /* those of the names whose bits are set */
	FORM_OCTAL,
};

static const struct argument {
	int call, index;
	const char *name;
	enum form form;
	const struct value_name *names;
} telling[] = {
#define TELLS(call, index, name, ...) {SCMP_SYS(call), index, name, __VA_ARGS__}
	TELLS(clone, 0, "flags", FORM_FLAGS, clone_flags),
	TELLS(unshare, 0, "flags", FORM_FLAGS, unshare_flags),
	TELLS(setns, 1, "type", FORM_FLAGS, unshare_flags),
	TELLS(socket, 0, "family", FORM_VALUE, families),
	TELLS(socket, 1, "type", FORM_NUMBER),
	TELLS(socket, 2, "protocol", FORM_NUMBER),
	TELLS(socketpair, 0, "family", FORM_VALUE, families),
	TELLS(ioctl, 1, "request", FORM_VALUE, ioctls),
	TELLS(ptrace, 0, "request", FORM_VALUE, ptrace_requests),
	TELLS(ptrace, 1, "pid", FORM_NUMBER),
	TELLS(prctl, 0, "option", FORM_VALUE, prctl_options),
	TELLS(seccomp, 0, "operation", FORM_VALUE, seccomp_operations),
	TELLS(personality, 0, "domain", FORM_FLAGS, domains),
	TELLS(bpf, 0, "command", FORM_VALUE, bpf_commands),
	TELLS(keyctl, 0, "operation", FORM_VALUE, key_operations),
	TELLS(mount, 3, "flags", FORM_FLAGS, mount_flags),
	TELLS(umount2, 1, "flags", FORM_FLAGS, umount_flags),
	TELLS(reboot, 2, "command", FORM_VALUE, reboot_commands),
	TELLS(open, 1, "flags", FORM_FLAGS, open_flags),
	TELLS(open, 2, "mode", FORM_OCTAL),
	TELLS(openat, 2, "flags", FORM_FLAGS, open_flags),
	TELLS(openat, 3, "mode", FORM_OCTAL),
	TELLS(creat, 1, "mode", FORM_OCTAL),
	TELLS(chmod, 1, "mode", FORM_OCTAL),
	TELLS(fchmod, 1, "mode", FORM_OCTAL),
	TELLS(fchmodat, 2, "mode", FORM_OCTAL),
	TELLS(mknod, 1, "mode", FORM_OCTAL),
	TELLS(mknodat, 2, "mode", FORM_OCTAL),
	TELLS(process_vm_readv, 0, "pid", FORM_NUMBER),
	TELLS(process_vm_writev, 0, "pid", FORM_NUMBER),
	TELLS(pidfd_getfd, 1, "descriptor", FORM_NUMBER),
	TELLS(kcmp, 0, "pid", FORM_NUMBER),
	TELLS(perf_event_open, 1, "pid", FORM_NUMBER),
	TELLS(clock_settime, 0, "clock", FORM_NUMBER),
	TELLS(syslog, 0, "action", FORM_NUMBER),
	TELLS(iopl, 0, "level", FORM_NUMBER),
};
/* clang-format on */
#define TELLING (sizeof(telling) / sizeof(telling[0]))

struct text {
	char *at;
	size_t left; /* the NUL included */
};

static void add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *t, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(t->at, t->left, format, arguments);
	va_end(arguments);
	size_t used = length < 0 ? 0 : (size_t)length < t->left ? (size_t)length : t->left - 1;
	t->at += used;
	t->left -= used;
}

static void add_flags(struct text *t, const struct value_name *names, uint32_t value)
{
	const char *between = "";

	for (; names->name; names++) {
		if (!(value & names->value))
			continue;
		add(t, "%s%s", between, names->name);
		between = "|";
	}
	if (!*between)
		add(t, "0");
}

static void add_value(struct text *t, const struct argument *a, uint32_t value)
{
	if (a->form == FORM_FLAGS) {
		add_flags(t, a->names, value);
		return;
	}
	for (const struct value_name *n = a->names; n && n->name; n++)
		if ((uint32_t)n->value == value) {
			add(t, "%s", n->name);
			return;
		}
	if (a->form == FORM_OCTAL)
		add(t, "0%o", value);
	else
		add(t, a->form == FORM_VALUE && value > 0xffff ? "%#x" : "%d", value);
}

const char *syscall_arguments(uint32_t call, const uint64_t arguments[SYSCALL_ARGUMENTS],
			      char *text, size_t size)
{
	struct text t = {text, size};

	text[0] = '\0';
	for (size_t i = 0; i < TELLING; i++) {
		if (telling[i].call < 0 || (uint32_t)telling[i].call != call)
			continue;
		add(&t, "%s%s=", t.at == text ? "" : ",", telling[i].name);
		add_value(&t, &telling[i], (uint32_t)arguments[telling[i].index]);
	}
	return text;
}

static const struct argument *find_argument(int call, unsigned index)
{
	static const struct argument unnamed = {.name = "argument", .form = FORM_VALUE};

	for (size_t i = 0; i < TELLING; i++)
		if (telling[i].call == call && (unsigned)telling[i].index == index)
			return &telling[i];
	return &unnamed;
}

const char *syscall_condition(const struct syscall_rule *rule, char *text, size_t size)
{
	struct text t = {text, size};

	text[0] = '\0';
	for (unsigned i = 0; i < syscall_rule_compares(rule); i++) {
		const struct scmp_arg_cmp *c = &rule->compare[i];
		const struct argument *a = find_argument(rule->call, c->arg);
		bool masked = c->op == SCMP_CMP_MASKED_EQ;
		bool whole = masked && c->datum_a == UINT32_MAX;
		const char *op = c->op == SCMP_CMP_NE	? " is not "
				 : c->op == SCMP_CMP_GT ? " is above "
				 : whole		? " is "
							: " has ";

		add(&t, "%s%s%s", i ? " and " : "", a->name, op);
		if (whole && a->form == FORM_FLAGS)
			add(&t, "%#x", (uint32_t)c->datum_b);
		else
			add_value(&t, a, (uint32_t)(masked ? c->datum_b : c->datum_a));
	}
	return text;
}
