/*
 * vitrine policy: what a policy file comes to, and the schema of such files.
 */
#include "policy.h"
#include "record/command.h"
#include "record/jansson_cleanup.h"

#define POLICY_STATUS_REFUSED 1

struct policy_options {
	bool schema;
};

static int print_json(const json_t *value)
{
	if (!value || json_dumpf(value, stdout, JSON_INDENT(2)) < 0)
		return POLICY_STATUS_REFUSED;
	putchar('\n');
	return 0;
}

/* The policy as it would be in force and stand in a record. */
static int print_policy(const char *file)
{
	cleanup(json) json_t *given = NULL;
	struct policy policy = {0};
	struct fault f = {0};
	int r = file ? settings_read(policy_settings, file, &given, &f) : 0;

	if (r == 0 && !given)
		given = json_object();
	if (r == 0)
		r = policy_make(given, NULL, &policy, &f);
	if (r < 0) {
		fprintf(stderr, "vitrine policy: %s\n", f.text);
		return POLICY_STATUS_REFUSED;
	}
	cleanup(json) json_t *recorded = json_loads(policy.recorded, 0, NULL);
	int status = print_json(recorded);
	policy_free(&policy);
	return status;
}

static int policy_run(const void *values, int argument_count, char **arguments)
{
	const struct policy_options *o = values;

	if (o->schema) {
		cleanup(json) json_t *schema = policy_schema();
		return print_json(schema);
	}
	return print_policy(argument_count > 0 ? arguments[0] : NULL);
}

/* clang-format off */
const struct command command_policy = {
	.name = "policy",
	.summary = "check a policy file, and print the policy that it comes to",
	.positional = "[FILE]",
	.positional_max = 1,
	.options = (const struct command_option[]){
		{"schema", 0, NULL, "print the JSON Schema of policy files instead", OPTION_FLAG,
		 offsetof(struct policy_options, schema)},
		{0},
	},
	.values_size = sizeof(struct policy_options),
	.description =
		"Checks FILE and prints the policy that would be in force, defaults included, as session.start records it: of "
		"environment variables the names alone. Without FILE it is the default policy.\n\n"
		"A policy is a JSON object. An unknown key or a bad value is refused with file, line, key, value and what is "
		"allowed.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS", "0, or 1 when the policy is refused."},
		{0},
	},
	.run = policy_run,
};
/* clang-format on */
