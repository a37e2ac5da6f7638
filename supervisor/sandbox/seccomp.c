/*
 * The system call filter of commands, compiled from the table of syscall_policy.h. See sandbox.h.
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
#include "syscall_policy.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

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

static bool is_denied(const struct syscall_changes *changes, uint32_t call)
{
	return syscall_set_has(&changes->denied, call);
}

/* Only what has a price can be allowed, whatever the set says. */
static bool is_allowed(const struct syscall_changes *changes, const struct syscall_rule *rule)
{
	return rule->price && syscall_set_has(&changes->allowed, (uint32_t)rule->call);
}

/* A call that is denied as a whole has no rows of its arguments any more. */
static int add_rule(scmp_filter_ctx context, const struct syscall_rule *rule,
		    const struct syscall_changes *changes)
{
	if (rule->call < 0 ||
	    (rule->stage == SYSCALL_BY_ARGUMENT && is_denied(changes, (uint32_t)rule->call)))
		return 0;

	uint32_t action = rule->error && !is_allowed(changes, rule) ? SCMP_ACT_ERRNO(rule->error)
								    : SCMP_ACT_ALLOW;
	return seccomp_rule_add_array(context, action, rule->call, syscall_rule_compares(rule),
				      rule->compare);
}

static int add_denied(scmp_filter_ctx context, const struct syscall_changes *changes)
{
	int r = 0;

	for (uint32_t call = 0; r == 0 && call < SYSCALL_SET_NUMBERS; call++)
		if (is_denied(changes, call))
			r = seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), (int)call, 0);
	return r;
}

static int compile(uint32_t otherwise, enum syscall_stage stage,
		   const struct syscall_changes *changes, struct program *ret_program)
{
	cleanup(context) scmp_filter_ctx context = seccomp_init(otherwise);
	if (!context)
		return -ENOMEM;

	int r = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
	if (r == 0)
		r = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	for (size_t i = 0; r == 0 && i < syscall_rule_count; i++)
		if (syscall_rules[i].stage == stage)
			r = add_rule(context, &syscall_rules[i], changes);
	if (r == 0 && stage == SYSCALL_BY_ARGUMENT)
		r = add_denied(context, changes);
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

int seccomp_compile(const struct syscall_changes *changes, struct sock_filter **ret_filter,
		    size_t *ret_count)
{
	cleanup(program) struct program first = {0}, second = {0};
	struct program whole;

	int r = compile(SCMP_ACT_ALLOW, SYSCALL_BY_ARGUMENT, changes, &first);
	if (r < 0)
		return r;
	r = compile(SCMP_ACT_ERRNO(ENOSYS), SYSCALL_BY_NUMBER, changes, &second);
	if (r < 0)
		return r;
	r = link_programs(&first, &second, &whole);
	if (r < 0)
		return r;

	*ret_filter = whole.code;
	*ret_count = whole.count;
	return 0;
}
