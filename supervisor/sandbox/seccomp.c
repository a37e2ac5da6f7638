/*
 * The system call filter of commands, compiled from seccomp.def. See sandbox.h.
 *
 * Two programs of libseccomp are linked into one, as within one of them rules that overlap have no
 * order: the first refuses by arguments and allows the rest, and where it allows, the second
 * begins, which decides by the number of the call. Both are binary trees: a linear one of this size
 * costs 60 to 150 ns a call and 0.4 ms to load.
 *
 * Another architecture's entry (int 0x80, x32) fails with EPERM whatever the number: there numbers
 * mean other calls, and the record would tell of acts that never were.
 */
#include "../record/cleanup.h"
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <linux/sched.h>

#define TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)
#define LOW_HALF 0xffffffffu

#define COMPARE(argument, op, value)                                                               \
	{                                                                                          \
		argument, op, value                                                                \
	}
#define BITS(argument, mask, value)                                                                \
	{                                                                                          \
		argument, SCMP_CMP_MASKED_EQ, mask, value                                          \
	}
#define LOW(argument, value) BITS(argument, LOW_HALF, value)
#define COMPARISONS_MAX 2

struct rule {
	int call; /* negative: not on this machine */
	uint32_t action;
	struct scmp_arg_cmp compare[COMPARISONS_MAX]; /* op 0: none */
};

static const struct rule by_argument[] = {
#define REFUSE_IF(name, error, why, ...) {SCMP_SYS(name), SCMP_ACT_ERRNO(error), {__VA_ARGS__}},
#include "seccomp.def"
};

static const struct rule by_number[] = {
#define ALLOW(name) {SCMP_SYS(name), SCMP_ACT_ALLOW},
#define ALLOW_IF(name, comparison) {SCMP_SYS(name), SCMP_ACT_ALLOW, {comparison}},
#define REFUSE(name, error, why) {SCMP_SYS(name), SCMP_ACT_ERRNO(error)},
#include "seccomp.def"
};

struct program {
	struct sock_filter *code;
	size_t count;
};

static void cleanup_program(struct program *p)
{
	free(p->code);
}

static void cleanup_context(scmp_filter_ctx *context)
{
	if (*context)
		seccomp_release(*context);
}

/* The library writes programs to descriptors only. */
static int export(scmp_filter_ctx context, struct program *ret_program)
{
	cleanup(close_fd) int fd = memfd_create("filter", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = seccomp_export_bpf(context, fd);
	if (r < 0)
		return r;

	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size == 0)
		return -ENODATA;
	cleanup(free) struct sock_filter *code = malloc((size_t)st.st_size);
	if (!code)
		return -ENOMEM;
	if (pread(fd, code, (size_t)st.st_size, 0) != st.st_size)
		return -EIO;

	ret_program->code = take(code);
	ret_program->count = (size_t)st.st_size / sizeof(*code);
	return 0;
}

static int compile(uint32_t otherwise, const struct rule *rules, size_t count,
		   struct program *ret_program)
{
	cleanup(context) scmp_filter_ctx context = seccomp_init(otherwise);
	if (!context)
		return -ENOMEM;

	int r = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
	if (r == 0)
		r = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct rule *rule = &rules[i];
		unsigned compares = 0;

		while (compares < COMPARISONS_MAX && rule->compare[compares].op)
			compares++;
		if (rule->call >= 0)
			r = seccomp_rule_add_array(context, rule->action, rule->call, compares,
						   rule->compare);
	}
	return r < 0 ? r : export(context, ret_program);
}

static int link_programs(const struct program *first, const struct program *second,
			 struct program *ret_program)
{
	size_t count = first->count + second->count;
	if (first->count == 0 || second->count == 0 || count > BPF_MAXINSNS)
		return -E2BIG;

	struct sock_filter *code = malloc(count * sizeof(*code));
	if (!code)
		return -ENOMEM;
	memcpy(code, first->code, first->count * sizeof(*code));
	memcpy(code + first->count, second->code, second->count * sizeof(*code));

	for (size_t i = 0; i < first->count; i++)
		if (code[i].code == (BPF_RET | BPF_K) && code[i].k == SECCOMP_RET_ALLOW)
			code[i] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA,
							       (uint32_t)(first->count - i - 1));

	*ret_program = (struct program){code, count};
	return 0;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

int seccomp_compile(struct sock_filter **ret_filter, size_t *ret_count)
{
	cleanup(program) struct program first = {0}, second = {0};
	struct program whole;

	int r = compile(SCMP_ACT_ALLOW, by_argument, COUNT(by_argument), &first);
	if (r < 0)
		return r;
	r = compile(SCMP_ACT_ERRNO(ENOSYS), by_number, COUNT(by_number), &second);
	if (r < 0)
		return r;
	r = link_programs(&first, &second, &whole);
	if (r < 0)
		return r;

	*ret_filter = whole.code;
	*ret_count = whole.count;
	return 0;
}
