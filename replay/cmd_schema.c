/*
 * vitrine schema: what a record can say, derived from the tables of events.
 */
#include "commands.h"

#include "../supervisor/record/attack.h"
#include "../supervisor/record/schema.h"

enum schema_form { SCHEMA_MARKDOWN, SCHEMA_JSON, SCHEMA_DUMP, SCHEMA_ATTACK };

struct schema_options {
	int form;
};

static void write_attack(FILE *out)
{
	fputs("# ATT&CK " ATTACK_VERSION
	      "\n\n| technique | name | tactic | because |\n|---|---|---|---|\n",
	      out);
	for (size_t i = 0; attack_rule(i); i++) {
		const struct attack_tag *tag = attack_rule(i);

		fprintf(out, "| %s | %s | %s %s | %s |\n", tag->technique, tag->name, tag->tactic,
			tag->tactic_name, tag->reason);
	}
}

static int schema_run(const void *values, int argument_count, char **arguments)
{
	const struct schema_options *options = values;

	(void)argument_count;
	(void)arguments;
	switch ((enum schema_form)options->form) {
	case SCHEMA_MARKDOWN:
		schema_write_markdown(stdout);
		break;
	case SCHEMA_JSON:
		schema_write_json_schema(stdout);
		break;
	case SCHEMA_DUMP:
		schema_write_dump(stdout);
		break;
	case SCHEMA_ATTACK:
		write_attack(stdout);
		break;
	}
	return 0;
}

#define FORM offsetof(struct schema_options, form)

/* clang-format off */
const struct command command_schema = {
	.name = "schema",
	.summary = "print the kinds of events and their fields",
	.options = (const struct command_option[]){
		{"markdown", 0, NULL, "as tables in Markdown (the default)", OPTION_SET, FORM, SCHEMA_MARKDOWN},
		{"json-schema", 0, NULL, "as a JSON Schema for one line of 'vitrine replay --json'",
		 OPTION_SET, FORM, SCHEMA_JSON},
		{"dump", 0, NULL, "one line a row, with its number: what may only ever grow",
		 OPTION_SET, FORM, SCHEMA_DUMP},
		{"attack", 0, NULL, "the rules that tag events with techniques of MITRE ATT&CK, as a table in Markdown",
		 OPTION_SET, FORM, SCHEMA_ATTACK},
		{0},
	},
	.values_size = sizeof(struct schema_options),
	.description =
		"Prints every kind of event that a record can hold, with its fields, their types and what "
		"they say.",
	.run = schema_run,
};
/* clang-format on */
