/*
 * vitrine schema: what a record can say, derived from the tables of events.
 */
#include "commands.h"

#include "../supervisor/record/schema.h"

enum schema_form { SCHEMA_MARKDOWN, SCHEMA_JSON, SCHEMA_DUMP };

struct schema_options {
	int form;
};

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
		{0},
	},
	.values_size = sizeof(struct schema_options),
	.description =
		"Prints every kind of event that a record can hold, with its fields, their types and what "
		"they say.",
	.run = schema_run,
};
/* clang-format on */
