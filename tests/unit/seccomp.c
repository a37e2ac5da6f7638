/* The system call filter: every row of its table, run by an interpreter, and the kernel's own word.
 */
#include "../../supervisor/record/cleanup.h"
#include "../../supervisor/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#define X32 0x40000000u
#define CLONE3 435
#define OPENAT2 437
#define CALLS_MAX 1024
#define TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)
#define PERSONALITY_QUESTION 0x80000000u
#define NOISE 0x5a5a000000000000ull

struct filter {
	struct sock_filter *code;
	size_t count;
};

static int set_up(void **state)
{
	static struct filter f;

	*state = &f;
	return seccomp_compile(&(struct syscall_changes){0}, &f.code, &f.count);
}

static int tear_down(void **state)
{
	free(((struct filter *)*state)->code);
	return 0;
}

/* Classic BPF as seccomp has it: what it says to one call. */
static uint32_t run_filter(const struct filter *f, const struct seccomp_data *data)
{
	uint32_t a = 0, x = 0, memory[BPF_MEMWORDS] = {0};

	for (size_t pc = 0; pc < f->count; pc++) {
		const struct sock_filter *i = &f->code[pc];
		uint32_t operand = BPF_SRC(i->code) == BPF_X ? x : i->k;
		bool taken;

		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			if (BPF_MODE(i->code) == BPF_MEM)
				a = memory[i->k];
			else if (BPF_MODE(i->code) == BPF_IMM)
				a = i->k;
			else
				memcpy(&a, (const char *)data + i->k, sizeof(a));
			break;
		case BPF_ST:
			memory[i->k] = a;
			break;
		case BPF_ALU:
			assert_int_equal(BPF_OP(i->code), BPF_AND);
			a &= operand;
			break;
		case BPF_JMP:
			if (BPF_OP(i->code) == BPF_JA) {
				pc += i->k;
				break;
			}
			taken = BPF_OP(i->code) == BPF_JEQ   ? a == operand
				: BPF_OP(i->code) == BPF_JGT ? a > operand
				: BPF_OP(i->code) == BPF_JGE ? a >= operand
							     : (a & operand) != 0;
			pc += taken ? i->jt : i->jf;
			break;
		case BPF_RET:
			return i->k;
		default:
			fail_msg("instruction %zu: code %#x", pc, i->code);
		}
	}
	fail_msg("fell off the end");
	return 0;
}

static uint32_t ask(const struct filter *f, int call, const uint64_t *args)
{
	struct seccomp_data data = {.nr = call, .arch = AUDIT_ARCH_X86_64};

	if (args)
		memcpy(data.args, args, sizeof(data.args));
	return run_filter(f, &data);
}

#define ERRNO(error) (SECCOMP_RET_ERRNO | (error))

struct row {
	const char *name;
	int call;
	int error; /* 0: allowed */
	struct scmp_arg_cmp compare[2];
};

#define COMPARE(argument, op, value)                                                               \
	{                                                                                          \
		argument, op, value                                                                \
	}
#define BITS(argument, mask, value)                                                                \
	{                                                                                          \
		argument, SCMP_CMP_MASKED_EQ, mask, value                                          \
	}
#define LOW(argument, value) BITS(argument, 0xffffffffu, value)

static const struct row allowed[] = {
#define ALLOW(name) {#name, SCMP_SYS(name)},
#include "../../supervisor/sandbox/seccomp.def"
};
static const struct row allowed_if[] = {
#define ALLOW_IF(name, comparison) {#name, SCMP_SYS(name), 0, {comparison}},
#include "../../supervisor/sandbox/seccomp.def"
};
static const struct row refused[] = {
#define REFUSE(name, error, why) {#name, SCMP_SYS(name), error},
#include "../../supervisor/sandbox/seccomp.def"
};
static const struct row refused_if[] = {
#define REFUSE_IF(name, error, why, ...) {#name, SCMP_SYS(name), error, {__VA_ARGS__}},
#include "../../supervisor/sandbox/seccomp.def"
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Arguments that satisfy @row; @noise fills what a mask leaves out of the upper half. */
static void satisfy(const struct row *row, uint64_t noise, uint64_t *args)
{
	for (size_t i = 0; i < COUNT(row->compare); i++) {
		const struct scmp_arg_cmp *c = &row->compare[i];

		if (c->op == SCMP_CMP_MASKED_EQ)
			args[c->arg] |= c->datum_b | (noise & ~c->datum_a);
		else if (c->op == SCMP_CMP_GT || c->op == SCMP_CMP_NE)
			args[c->arg] |= c->datum_a + 1;
	}
}

static void allows_the_ordinary(void **state)
{
	for (size_t i = 0; i < COUNT(allowed); i++) {
		uint64_t args[6] = {0};

		if (allowed[i].call == SCMP_SYS(socket) || allowed[i].call == SCMP_SYS(socketpair))
			args[0] = AF_UNIX;
		if (ask(*state, allowed[i].call, args) != SECCOMP_RET_ALLOW)
			fail_msg("%s is not allowed", allowed[i].name);
	}
	for (size_t i = 0; i < COUNT(allowed_if); i++) {
		uint64_t args[6] = {0};

		satisfy(&allowed_if[i], 0, args);
		assert_int_equal(ask(*state, allowed_if[i].call, args), SECCOMP_RET_ALLOW);
	}
}

static void refuses_by_number(void **state)
{
	for (size_t i = 0; i < COUNT(refused); i++)
		if (ask(*state, refused[i].call, NULL) != (uint32_t)ERRNO(refused[i].error))
			fail_msg("%s is not refused", refused[i].name);
}

/* Also when the upper half of a 32-bit argument holds something. */
static void refuses_by_argument(void **state)
{
	for (size_t i = 0; i < COUNT(refused_if); i++)
		for (int noisy = 0; noisy < 2; noisy++) {
			uint64_t args[6] = {0};

			satisfy(&refused_if[i], noisy ? NOISE : 0, args);
			if (ask(*state, refused_if[i].call, args) !=
			    (uint32_t)ERRNO(refused_if[i].error))
				fail_msg("row %zu of %s does not refuse", i, refused_if[i].name);
		}
}

static void asks_for(void **state, int call, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3,
		     uint32_t expected)
{
	const uint64_t args[6] = {a0, a1, a2, a3};

	assert_int_equal(ask(*state, call, args), expected);
}

static void refuses_no_more_than_meant(void **state)
{
	asks_for(state, SYS_openat, 0, 0, O_RDONLY, 04755, SECCOMP_RET_ALLOW);
	asks_for(state, SYS_openat, 0, 0, O_CREAT, 01777, SECCOMP_RET_ALLOW);
	asks_for(state, SYS_openat, 0, 0, O_DIRECTORY, 06000, SECCOMP_RET_ALLOW);
	asks_for(state, SYS_clone, SIGCHLD | CLONE_VM | CLONE_VFORK, 0, 0, 0, SECCOMP_RET_ALLOW);
	asks_for(state, SYS_ioctl, 0, TIOCGWINSZ, 0, 0, SECCOMP_RET_ALLOW);
	asks_for(state, SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, 0, SECCOMP_RET_ALLOW);
	asks_for(state, SYS_prctl, PR_SET_NAME, 0, 0, 0, SECCOMP_RET_ALLOW);
	asks_for(state, SYS_personality, READ_IMPLIES_EXEC, 0, 0, 0, ERRNO(EPERM));
	asks_for(state, SYS_personality, 0xffffffff, 0, 0, 0, SECCOMP_RET_ALLOW);
	asks_for(state, SYS_personality, PER_SVR4 & ~MMAP_PAGE_ZERO, 0, 0, 0, ERRNO(ENOSYS));
	for (uint64_t family = 0; family < 64; family++) {
		bool kept = family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
			    family == AF_NETLINK;

		asks_for(state, SYS_socket, family, 0, 0, 0,
			 kept ? SECCOMP_RET_ALLOW : ERRNO(EPERM));
	}
}

static void knows_nothing_of_the_rest(void **state)
{
	assert_int_equal(ask(*state, CLONE3, NULL), ERRNO(ENOSYS));
	assert_int_equal(ask(*state, OPENAT2, NULL), ERRNO(ENOSYS));
	for (int call = 500; call < CALLS_MAX; call++)
		assert_int_equal(ask(*state, call, NULL), ERRNO(ENOSYS));
}

/* Numbers of another entry mean other calls; none of them may get through. */
static void refuses_other_entries(void **state)
{
	for (uint32_t call = 0; call < CALLS_MAX; call++) {
		const struct seccomp_data i386 = {.nr = (int)call, .arch = AUDIT_ARCH_I386};
		const struct seccomp_data x32 = {
			.nr = (int)(call | X32),
			.arch = AUDIT_ARCH_X86_64,
		};

		assert_int_equal(run_filter(*state, &i386), ERRNO(EPERM));
		assert_int_equal(run_filter(*state, &x32), ERRNO(EPERM));
	}
}

/* Of what is denied nothing is left, whatever the arguments; all else is as it was. */
static void denies_what_a_policy_adds(void **state)
{
	static const int calls[] = {SYS_connect, SYS_socket, SYS_prctl, SYS_openat,
				    SYS_personality};
	struct syscall_changes changes = {0};
	struct filter f;

	(void)state;
	for (size_t i = 0; i < COUNT(calls); i++)
		syscall_set_add(&changes.denied, (uint32_t)calls[i]);
	assert_int_equal(seccomp_compile(&changes, &f.code, &f.count), 0);
	for (size_t i = 0; i < COUNT(calls); i++)
		for (uint64_t a = 0; a < 64; a++) {
			const uint64_t args[6] = {a, a, a, a};

			assert_int_equal(ask(&f, calls[i], args), ERRNO(EPERM));
		}
	for (size_t i = 0; i < COUNT(allowed); i++) {
		const uint64_t args[6] = {AF_UNIX};

		if (!syscall_set_has(&changes.denied, (uint32_t)allowed[i].call))
			assert_int_equal(ask(&f, allowed[i].call, args), SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < COUNT(refused); i++)
		assert_int_equal(ask(&f, refused[i].call, NULL), ERRNO(refused[i].error));
	free(f.code);
}

/* What has a price can be allowed, and nothing else: not even when the set says so. */
static void allows_what_has_a_price(void **state)
{
	struct syscall_changes changes = {0};
	struct filter f;

	(void)state;
	memset(&changes.allowed, 0xff, sizeof(changes.allowed));
	assert_int_equal(seccomp_compile(&changes, &f.code, &f.count), 0);
	for (size_t i = 0; i < COUNT(refused); i++) {
		bool allowable = syscall_allowable((uint32_t)refused[i].call) != NULL;

		assert_int_equal(ask(&f, refused[i].call, NULL),
				 allowable ? SECCOMP_RET_ALLOW : ERRNO(refused[i].error));
	}
	assert_int_equal(ask(&f, SYS_ptrace, NULL), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f, SYS_modify_ldt, NULL), SECCOMP_RET_ALLOW);
	assert_null(syscall_allowable(SYS_io_uring_setup));
	assert_null(syscall_allowable(SYS_mount));
	assert_null(syscall_allowable(SYS_read));
	free(f.code);
}

static long call_32(long number)
{
	long r = number;

	__asm__ volatile("int $0x80" : "+a"(r) : "b"(1), "c"(0), "d"(0) : "memory");
	return r;
}

/* Runs @probe behind the filter; its result must be 0. */
static void run_filtered(const struct filter *f, int (*probe)(void))
{
	const struct sock_fprog program = {(unsigned short)f->count, f->code};
	int status;

	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
			_exit(100);
		_exit(probe());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* As exit code: which of the probes got through. i386: 1 exit, 4 write, 5 open, 11 execve, 20
 * getpid. */
static int probe_32(void)
{
	static const int calls[] = {1, 4, 5, 11, 20};

	for (size_t i = 0; i < COUNT(calls); i++)
		if (call_32(calls[i]) != -EPERM)
			return 1 + (int)i;
	return 0;
}

static int probe_x32(void)
{
	static const long calls[] = {SYS_write, SYS_openat, SYS_execve, SYS_getpid};

	for (size_t i = 0; i < COUNT(calls); i++)
		if (syscall((long)X32 | calls[i], 0, 0, 0) >= 0 || errno != EPERM)
			return 1 + (int)i;
	return 0;
}

static int probe_own_filter(void)
{
	struct sock_filter pretend[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO)};
	const struct sock_fprog program = {1, pretend};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 || errno != EINVAL)
		return 1;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 || errno != EINVAL)
		return 2;
	return 0;
}

static void the_kernel_agrees(void **state)
{
	run_filtered(*state, probe_32);
	run_filtered(*state, probe_x32);
	run_filtered(*state, probe_own_filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allows_the_ordinary),
		cmocka_unit_test(refuses_by_number),
		cmocka_unit_test(refuses_by_argument),
		cmocka_unit_test(refuses_no_more_than_meant),
		cmocka_unit_test(knows_nothing_of_the_rest),
		cmocka_unit_test(refuses_other_entries),
		cmocka_unit_test(denies_what_a_policy_adds),
		cmocka_unit_test(allows_what_has_a_price),
		cmocka_unit_test(the_kernel_agrees),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
