/*
 * vitrine seccomp: the system call filter of sessions, from the table that it is compiled from.
 */
#include "jansson_cleanup.h"
#include "record/command.h"
#include "sandbox/syscall_policy.h"

#include <string.h>

#define STATUS_FAILED 1
#define CONDITION_ROOM 128

struct seccomp_options {
	bool print, json;
};

static void print_rule(const struct syscall_rule *rule)
{
	char condition[CONDITION_ROOM];
	bool any = *syscall_condition(rule, condition, sizeof(condition));

	printf("%-7s %-7s %s%s%s", rule->error ? "refuse" : "allow",
	       rule->error ? strerrorname_np(rule->error) : "-", rule->name, any ? " where " : "",
	       condition);
	if (rule->why)
		printf(": %s", rule->why);
	putchar('\n');
}

static void print_refusals(enum syscall_stage stage)
{
	for (size_t i = 0; i < syscall_rule_count; i++)
		if (syscall_rules[i].error && syscall_rules[i].stage == stage)
			print_rule(&syscall_rules[i]);
}

/* In the order in which they are looked at. */
static int print_text(void)
{
	printf("refuse  EPERM   every call by another entry (int 0x80, x32): %s\n",
	       syscall_other_entry_why);
	print_refusals(SYSCALL_BY_ARGUMENT);
	print_refusals(SYSCALL_BY_NUMBER);
	for (size_t i = 0; i < syscall_rule_count; i++)
		if (!syscall_rules[i].error)
			print_rule(&syscall_rules[i]);
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
	return row;
}

static int print_json(void)
{
	cleanup(json) json_t *rows = json_array();

	for (size_t i = 0; rows && i < syscall_rule_count; i++)
		json_array_append_new(rows, describe(&syscall_rules[i]));
	cleanup(json) json_t *all =
		json_pack("{s:O, s:{s:s, s:s}, s:s}", "calls", rows, "other_entries", "error",
			  "EPERM", "reason", syscall_other_entry_why, "otherwise", "ENOSYS");
	if (!all || json_dumpf(all, stdout, JSON_INDENT(2)) < 0)
		return STATUS_FAILED;
	putchar('\n');
	return ferror(stdout) ? STATUS_FAILED : 0;
}

static int seccomp_run(const void *values, int argument_count, char **arguments)
{
	const struct seccomp_options *o = values;

	(void)argument_count;
	(void)arguments;
	return o->json ? print_json() : print_text();
}

/* clang-format off */
const struct command command_seccomp = {
	.name = "seccomp",
	.summary = "print which system calls a session may make, which are refused, and why",
	.options = (const struct command_option[]){
		{"print", 0, NULL, "print the filter; there is nothing else to do", OPTION_FLAG,
		 offsetof(struct seccomp_options, print)},
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
		"The table is the one that the filter is compiled from.",
	.sections = (const struct command_section[]){
		{"EXAMPLES",
		 "What may a program ask of a socket?\n\n"
		 "  vitrine seccomp --print | grep ' socket'"},
		{"EXIT STATUS", "0, or 1 when the output cannot be written."},
		{0},
	},
	.run = seccomp_run,
};
/* clang-format on */
