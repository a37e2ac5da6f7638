/*
 * What the system call filter says, as data: the rows of seccomp.def. The filter is compiled from
 * them, the record takes from them which call was refused and why, and `vitrine seccomp` prints
 * them.
 */
#pragma once

#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A call is first looked at by its arguments, and then by its number. */
enum syscall_stage { SYSCALL_BY_ARGUMENT, SYSCALL_BY_NUMBER };

#define SYSCALL_COMPARES_MAX 2
#define SYSCALL_ARGUMENTS 6

struct syscall_rule {
	const char *name;
	int call; /* negative: not on this machine */
	enum syscall_stage stage;
	int error;	   /* that it fails with; 0: allowed */
	const char *why;   /* it is refused; NULL where it is allowed */
	const char *price; /* what a session that allows it gives up; NULL: none may */
	struct scmp_arg_cmp compare[SYSCALL_COMPARES_MAX]; /* op 0: none */
};

extern const struct syscall_rule syscall_rules[];
extern const size_t syscall_rule_count;

/* Some calls, by number. */
#define SYSCALL_SET_NUMBERS 512
struct syscall_set {
	uint64_t bits[SYSCALL_SET_NUMBERS / 64];
};

static inline bool syscall_set_has(const struct syscall_set *set, uint32_t call)
{
	return call < SYSCALL_SET_NUMBERS && set->bits[call / 64] >> call % 64 & 1;
}

static inline void syscall_set_add(struct syscall_set *set, uint32_t call)
{
	if (call < SYSCALL_SET_NUMBERS)
		set->bits[call / 64] |= 1ull << call % 64;
}

/* What the policy of a session changes of the table. */
struct syscall_changes {
	struct syscall_set denied;  /* seccomp_deny: refused beyond the table */
	struct syscall_set allowed; /* seccomp_allow: those alone whose row has a price */
};

/* The row that refuses @call as a whole and that a policy may take back, or NULL. */
const struct syscall_rule *syscall_allowable(uint32_t call);

/* Number of a call that the table knows on this machine, -1 if it does not; and back (NULL). */
int syscall_number(const char *name);
const char *syscall_name(uint32_t call);

/* Why a call is refused that the session's policy denies beyond the table. */
extern const char syscall_denied_why[];

/* Why one is not that its policy allows. */
extern const char syscall_allowed_why[];

/* Why the kernel refuses a call that comes by another entry: int 0x80, x32. */
extern const char syscall_other_entry_why[];

unsigned syscall_rule_compares(const struct syscall_rule *rule);

/* The row by which the filter of the table answers @call with @error; NULL: the answer is not the
 * filter's. */
const struct syscall_rule *syscall_refusal(uint32_t call, int error,
					   const uint64_t arguments[SYSCALL_ARGUMENTS]);

/*
 * The arguments of @call that tell what it asks for, "family=AF_PACKET,type=3": at most @size bytes
 * with the NUL; empty where they tell nothing. Returns @text.
 */
const char *syscall_arguments(uint32_t call, const uint64_t arguments[SYSCALL_ARGUMENTS],
			      char *text, size_t size);

/* What @rule asks of the arguments, in the same words; empty: nothing. Returns @text. */
const char *syscall_condition(const struct syscall_rule *rule, char *text, size_t size);
