/*
 * The rows of seccomp.def as a table. See syscall_policy.h.
 */
#include "syscall_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)
#define LOW_HALF 0xffffffffu
/* A bit of the question, 0xffffffff, that no domain has. */
#define PERSONALITY_QUESTION 0x80000000u

#define COMPARE(argument, op, value)                                                               \
	{                                                                                          \
		argument, op, value                                                                \
	}
#define BITS(argument, mask, value)                                                                \
	{                                                                                          \
		argument, SCMP_CMP_MASKED_EQ, mask, value                                          \
	}
#define LOW(argument, value) BITS(argument, LOW_HALF, value)

const struct syscall_rule syscall_rules[] = {
/* clang-format off */
#define ALLOW(name) {#name, SCMP_SYS(name), SYSCALL_BY_NUMBER},
#define ALLOW_IF(name, comparison) {#name, SCMP_SYS(name), SYSCALL_BY_NUMBER, .compare = {comparison}},
#define REFUSE(name, error, why) {#name, SCMP_SYS(name), SYSCALL_BY_NUMBER, error, why},
#define REFUSE_UNLESS(name, error, why, price) {#name, SCMP_SYS(name), SYSCALL_BY_NUMBER, error, why, price},
#define REFUSE_IF(name, error, why, ...) {#name, SCMP_SYS(name), SYSCALL_BY_ARGUMENT, error, why, NULL, {__VA_ARGS__}},
#include "seccomp.def"
	/* clang-format on */
};
const size_t syscall_rule_count = sizeof(syscall_rules) / sizeof(syscall_rules[0]);

const char syscall_other_entry_why[] =
	"by another entry numbers mean other calls: the record would tell of acts that never were";

const char syscall_allowed_why[] = "the policy of the session allows it (seccomp_allow)";

const char syscall_denied_why[] = "the policy of the session denies it (seccomp_deny)";

int syscall_number(const char *name)
{
	for (size_t i = 0; i < syscall_rule_count; i++)
		if (syscall_rules[i].call >= 0 && strcmp(syscall_rules[i].name, name) == 0)
			return syscall_rules[i].call;
	return -1;
}

const char *syscall_name(uint32_t call)
{
	for (size_t i = 0; i < syscall_rule_count; i++)
		if (syscall_rules[i].call >= 0 && (uint32_t)syscall_rules[i].call == call)
			return syscall_rules[i].name;
	return NULL;
}

const struct syscall_rule *syscall_allowable(uint32_t call)
{
	for (size_t i = 0; i < syscall_rule_count; i++) {
		const struct syscall_rule *rule = &syscall_rules[i];

		if (rule->price && rule->call >= 0 && (uint32_t)rule->call == call)
			return rule;
	}
	return NULL;
}

unsigned syscall_rule_compares(const struct syscall_rule *rule)
{
	unsigned compares = 0;

	while (compares < SYSCALL_COMPARES_MAX && rule->compare[compares].op)
		compares++;
	return compares;
}

static bool compares(const struct scmp_arg_cmp *c, uint64_t value)
{
	switch (c->op) {
	case SCMP_CMP_NE:
		return value != c->datum_a;
	case SCMP_CMP_GT:
		return value > c->datum_a;
	case SCMP_CMP_MASKED_EQ:
		return (value & c->datum_a) == c->datum_b;
	default:
		return false;
	}
}

static bool matches(const struct syscall_rule *rule, const uint64_t *arguments)
{
	for (unsigned i = 0; i < syscall_rule_compares(rule); i++)
		if (!compares(&rule->compare[i], arguments[rule->compare[i].arg]))
			return false;
	return true;
}

static const struct syscall_rule *find(enum syscall_stage stage, uint32_t call,
				       const uint64_t *arguments)
{
	for (size_t i = 0; i < syscall_rule_count; i++) {
		const struct syscall_rule *rule = &syscall_rules[i];

		if (rule->stage == stage && rule->call >= 0 && (uint32_t)rule->call == call &&
		    matches(rule, arguments))
			return rule;
	}
	return NULL;
}

const struct syscall_rule *syscall_refusal(uint32_t call, int error,
					   const uint64_t arguments[SYSCALL_ARGUMENTS])
{
	const struct syscall_rule *rule = find(SYSCALL_BY_ARGUMENT, call, arguments);

	if (!rule)
		rule = find(SYSCALL_BY_NUMBER, call, arguments);
	return rule && rule->error && rule->error == error ? rule : NULL;
}
