/*
 * vitrine seccomp: the system call filter of sessions, from the table that it is compiled from.
 */
#include "policy.h"
#include "record/command.h"
#include "record/jansson_cleanup.h"
#include "sandbox/syscall_policy.h"

#include <errno.h>
#include <string.h>

#define STATUS_FAILED 1
#define CONDITION_ROOM 128

struct seccomp_options {
	bool print, json;
	const char *policy;
};

/* A row with what the policy makes of it. */
static struct syscall_rule in_force(const struct syscall_rule *rule,
				    const struct syscall_changes *changes)
{
	struct syscall_rule r = *rule;

	if (r.call < 0)
		return r;
	if (syscall_set_has(&changes->denied, (uint32_t)r.call)) {
		r.error = EPERM;
		r.why = syscall_denied_why;
		r.price = NULL;
		memset(r.compare, 0, sizeof(r.compare));
	} else if (r.price && syscall_set_has(&changes->allowed, (uint32_t)r.call)) {
		r.error = 0;
		r.why = syscall_allowed_why;
	}
	return r;
}

/* Of a call that is denied as a whole one row is enough. */
static bool is_needless(const struct syscall_rule *rule, const struct syscall_changes *changes)
{
	return rule->call >= 0 && syscall_set_has(&changes->denied, (uint32_t)rule->call) &&
	       (rule->stage == SYSCALL_BY_ARGUMENT || syscall_rule_compares(rule) > 0);
}

static void print_rule(const struct syscall_rule *rule)
{
	char condition[CONDITION_ROOM];
	bool any = *syscall_condition(rule, condition, sizeof(condition));

	printf("%-7s %-7s %s%s%s", rule->error ? "refuse" : "allow",
	       rule->error ? strerrorname_np(rule->error) : "-", rule->name, any ? " where " : "",
	       condition);
	if (rule->why)
		printf(": %s", rule->why);
	if (rule->price)
		printf(" (%s%s)", rule->error ? "a policy may allow it; then " : "", rule->price);
	putchar('\n');
}

static void print_rules(enum syscall_stage stage, bool refused,
			const struct syscall_changes *changes)
{
	for (size_t i = 0; i < syscall_rule_count; i++) {
		struct syscall_rule rule = in_force(&syscall_rules[i], changes);

		if (rule.stage == stage && (rule.error != 0) == refused &&
		    !is_needless(&syscall_rules[i], changes))
			print_rule(&rule);
	}
}

/* In the order in which they are looked at. */
static int print_text(const struct syscall_changes *changes)
{
	printf("refuse  EPERM   every call by another entry (int 0x80, x32): %s\n",
	       syscall_other_entry_why);
	print_rules(SYSCALL_BY_ARGUMENT, true, changes);
	print_rules(SYSCALL_BY_NUMBER, true, changes);
	print_rules(SYSCALL_BY_NUMBER, false, changes);
	printf("unknown ENOSYS  every other call\n");
	return ferror(stdout) ? STATUS_FAILED : 0;
}

static json_t *describe(const struct syscall_rule *rule)
{
	char condition[CONDITION_ROOM];
	json_t *row = json_pack("{s:s, s:s}", "call", rule->name, "action",
				rule->error ? "refuse" : "allow");

	if (rule->call >= 0)
		json_object_set_new(row, "number", json_integer(rule->call));
	if (*syscall_condition(rule, condition, sizeof(condition)))
		json_object_set_new(row, "where", json_string(condition));
	if (rule->error) {
		json_object_set_new(row, "error", json_string(strerrorname_np(rule->error)));
		json_object_set_new(row, "reason", json_string(rule->why));
	}
	if (rule->price)
		json_object_set_new(row, "allowable", json_string(rule->price));
	return row;
}

static int print_json(const struct syscall_changes *changes)
{
	cleanup(json) json_t *rows = json_array();

	for (size_t i = 0; rows && i < syscall_rule_count; i++) {
		struct syscall_rule rule = in_force(&syscall_rules[i], changes);

		if (!is_needless(&syscall_rules[i], changes))
			json_array_append_new(rows, describe(&rule));
	}
	cleanup(json) json_t *all =
		json_pack("{s:O, s:{s:s, s:s}, s:s}", "calls", rows, "other_entries", "error",
			  "EPERM", "reason", syscall_other_entry_why, "otherwise", "ENOSYS");
	if (!all || json_dumpf(all, stdout, JSON_INDENT(2)) < 0)
		return STATUS_FAILED;
	putchar('\n');
	return ferror(stdout) ? STATUS_FAILED : 0;
}

static int read_changes(const char *file, struct syscall_changes *ret_changes)
{
	cleanup(json) json_t *given = NULL;
	struct policy policy = {0};
	struct fault f = {0};
	int r = settings_read(policy_settings, file, &given, &f);

	if (r == 0)
		r = policy_make(given, NULL, &policy, &f);
	if (r < 0) {
		fprintf(stderr, "vitrine seccomp: %s\n", f.text);
		return r;
	}
	*ret_changes = policy.syscalls;
	policy_free(&policy);
	return 0;
}

static int seccomp_run(const void *values, int argument_count, char **arguments)
{
	const struct seccomp_options *o = values;
	struct syscall_changes changes = {0};

	(void)argument_count;
	(void)arguments;
	if (o->policy && read_changes(o->policy, &changes) < 0)
		return STATUS_FAILED;
	return o->json ? print_json(&changes) : print_text(&changes);
}

/* clang-format off */
const struct command command_seccomp = {
	.name = "seccomp",
	.summary = "print which system calls a session may make, which are refused, and why",
	.options = (const struct command_option[]){
		{"print", 0, NULL, "print the filter; there is nothing else to do", OPTION_FLAG,
		 offsetof(struct seccomp_options, print)},
		{"policy", 0, "FILE", "as it is in force under this policy", OPTION_TEXT, offsetof(struct seccomp_options, policy)},
		{"json", 0, NULL, "as a JSON object", OPTION_FLAG, offsetof(struct seccomp_options, json)},
		{0},
	},
	.values_size = sizeof(struct seccomp_options),
	.description =
		"Prints the system call filter of sessions: what is refused, with the error that the caller gets and the reason; "
		"what is allowed; and what happens to all other calls.\n\n"
		"A call is looked at in this order: by the entry that it came by, by its arguments, by its number. What is "
		"refused is recorded as an attempt, with the reason that stands here. A call that no row knows fails with "
		"ENOSYS, so that programs take their older way, and is not recorded.\n\n"
		"A policy can refuse more calls (seccomp_deny), and allow those few that are marked so (seccomp_allow), at the price that "
		"stands there; session.start then names them.\n\n"
		"The table is the one that the filter is compiled from.",
	.sections = (const struct command_section[]){
		{"EXAMPLES",
		 "What may a program ask of a socket?\n\n"
		 "  vitrine seccomp --print | grep ' socket'"},
		{"EXIT STATUS", "0, or 1 when the policy is refused or the output cannot be written."},
		{0},
	},
	.run = seccomp_run,
};
/* clang-format on */
