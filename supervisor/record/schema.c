/*
 * The event tables as Markdown, as JSON Schema (draft 2020-12) and as a dump.
 */
#include "schema.h"
#include "event.h"

#include <stdbool.h>
#include <string.h>

static const char *const type_names[] = {
	[FIELD_TYPE_U64] = "U64",   [FIELD_TYPE_I64] = "I64",	  [FIELD_TYPE_BOOL] = "BOOL",
	[FIELD_TYPE_TEXT] = "TEXT", [FIELD_TYPE_TEXTS] = "TEXTS", [FIELD_TYPE_MAP] = "MAP",
	[FIELD_TYPE_JSON] = "JSON",
};

/* The same for people. */
static const char *const type_words[] = {
	[FIELD_TYPE_U64] = "number",	     [FIELD_TYPE_I64] = "signed number",
	[FIELD_TYPE_BOOL] = "true or false", [FIELD_TYPE_TEXT] = "text",
	[FIELD_TYPE_TEXTS] = "array",	     [FIELD_TYPE_MAP] = "object of texts",
	[FIELD_TYPE_JSON] = "JSON",
};

static const char *const redact_names[] = {
	[REDACT_NEVER] = "NEVER", [REDACT_TEXT] = "TEXT",   [REDACT_PATH] = "PATH",
	[REDACT_ARGV] = "ARGV",	  [REDACT_ENV] = "ENV",	    [REDACT_OUTPUT] = "OUTPUT",
	[REDACT_HOST] = "HOST",	  [REDACT_LABEL] = "LABEL", [REDACT_JSON] = "JSON",
};

static const struct {
	const char *name, *type, *doc;
} head_members[] = {
	{"seq", "number", "number of the record, gapless within the session"},
	{"session", "text", "id of the session"},
	{"time", "time", "wall clock, RFC 3339 in UTC with nanoseconds"},
	{"boot_ns", "number", "nanoseconds since the host booted"},
	{"kind", "text", "what happened"},
};
#define HEAD_MEMBERS (sizeof(head_members) / sizeof(*head_members))

void schema_write_markdown(FILE *out)
{
	fputs("# Records\n\n"
	      "One JSON object a line. Unknown is absent. Text that is not valid UTF-8 is shown "
	      "with U+FFFD and carried exactly\nin a sibling `<field>_b64`. A value that was cut "
	      "is "
	      "followed by `<field>_truncated`, `<field>_length` (of the whole,\nin bytes) and, if "
	      "known, `<field>_digest` (HMAC-SHA-256 of the whole). A number past 2^63 - 1 is a "
	      "string of digits.\n\n"
	      "Every record has:\n\n| member | type | what it says |\n|---|---|---|\n",
	      out);
	for (size_t i = 0; i < HEAD_MEMBERS; i++)
		fprintf(out, "| `%s` | %s | %s |\n", head_members[i].name, head_members[i].type,
			head_members[i].doc);

	for (size_t k = 1; k < EVENT_KIND_COUNT; k++) {
		const struct kind_info *kind = &kind_table[k];

		fprintf(out, "\n## %s\n\nClass %s: %s.\n\n", kind->name,
			event_class_names[kind->class], kind->doc);
		fputs("| field | type | what it says |\n|---|---|---|\n", out);
		for (size_t i = 0; i < kind->field_count; i++) {
			const struct field_info *field = &field_table[kind->fields[i]];

			fprintf(out, "| `%s` | %s | %s |\n", field->name, type_words[field->type],
				field->doc);
		}
	}
}

/* The words of the tables hold no control characters: a unit test sees to it. */
static void write_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void write_type(FILE *out, enum field_type type)
{
	static const char *const types[] = {
		[FIELD_TYPE_U64] = "\"$ref\": \"#/$defs/u64\"",
		[FIELD_TYPE_I64] = "\"type\": \"integer\"",
		[FIELD_TYPE_BOOL] = "\"type\": \"boolean\"",
		[FIELD_TYPE_TEXT] = "\"type\": \"string\"",
		[FIELD_TYPE_TEXTS] = "\"type\": \"array\", \"items\": {\"type\": \"string\"}",
		[FIELD_TYPE_MAP] = "\"$ref\": \"#/$defs/texts\"",
		[FIELD_TYPE_JSON] = "",
	};

	fputs(types[type], out);
}

/* The members that @field can have under the name @leaf; @indent is what stands before each. */
static void write_members(FILE *out, const struct field_info *field, const char *leaf,
			  const char *indent)
{
	fprintf(out, "%s\"%s\": {", indent, leaf);
	write_type(out, field->type);
	fprintf(out, "%s\"description\": ", field->type == FIELD_TYPE_JSON ? "" : ", ");
	write_string(out, field->doc);
	fputc('}', out);

	if (field->type == FIELD_TYPE_TEXTS)
		fprintf(out,
			",\n%s\"%s_b64\": {\"type\": \"array\", \"items\": "
			"{\"type\": [\"string\", \"null\"], \"contentEncoding\": \"base64\"}}",
			indent, leaf);
	else if (field->type == FIELD_TYPE_TEXT || field->type == FIELD_TYPE_MAP)
		fprintf(out,
			",\n%s\"%s_b64\": {\"type\": \"string\", \"contentEncoding\": \"base64\"}",
			indent, leaf);
	if (field->type >= FIELD_TYPE_TEXT)
		fprintf(out,
			",\n%s\"%s_truncated\": {\"const\": true}"
			",\n%s\"%s_length\": {\"$ref\": \"#/$defs/u64\"}"
			",\n%s\"%s_digest\": {\"$ref\": \"#/$defs/digest\"}",
			indent, leaf, indent, leaf, indent, leaf);
}

/* Length of the name of the object that @field stands in, 0 if it stands in none. */
static size_t group_length(const struct field_info *field)
{
	const char *dot = strchr(field->name, '.');

	return dot ? (size_t)(dot - field->name) : 0;
}

static bool is_same_group(const struct field_info *one, const struct field_info *other)
{
	size_t length = group_length(one);

	return length && length == group_length(other) && !memcmp(one->name, other->name, length);
}

static void write_fields(FILE *out, const struct kind_info *kind)
{
	for (size_t i = 0; i < kind->field_count; i++) {
		const struct field_info *field = &field_table[kind->fields[i]];
		size_t length = group_length(field);

		fputs(",\n", out);
		if (!length) {
			write_members(out, field, field->name, "        ");
			continue;
		}
		fprintf(out, "        \"%.*s\": {\"type\": \"object\", ", (int)length, field->name);
		fputs("\"additionalProperties\": false, \"properties\": {\n", out);
		write_members(out, field, field->name + length + 1, "          ");
		while (i + 1 < kind->field_count &&
		       is_same_group(field, &field_table[kind->fields[i + 1]])) {
			field = &field_table[kind->fields[++i]];
			fputs(",\n", out);
			write_members(out, field, field->name + length + 1, "          ");
		}
		fputs("\n        }}", out);
	}
}

static void write_kind(FILE *out, const struct kind_info *kind)
{
	fprintf(out, ",\n    \"%s\": {\n      \"description\": ", kind->name);
	write_string(out, kind->doc);
	fprintf(out,
		",\n      \"type\": \"object\",\n"
		"      \"required\": [\"seq\", \"session\", \"time\", \"boot_ns\", \"kind\"],\n"
		"      \"additionalProperties\": false,\n"
		"      \"properties\": {\n"
		"        \"seq\": {\"$ref\": \"#/$defs/u64\"},\n"
		"        \"session\": {\"type\": \"string\"},\n"
		"        \"time\": {\"type\": \"string\", \"format\": \"date-time\"},\n"
		"        \"boot_ns\": {\"$ref\": \"#/$defs/u64\"},\n"
		"        \"kind\": {\"const\": \"%s\"}",
		kind->name);
	write_fields(out, kind);
	fputs("\n      }\n    }", out);
}

void schema_write_json_schema(FILE *out)
{
	fputs("{\n"
	      "  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
	      "  \"title\": \"vitrine record\",\n"
	      "  \"oneOf\": [",
	      out);
	for (size_t k = 1; k < EVENT_KIND_COUNT; k++)
		fprintf(out, "%s\n    {\"$ref\": \"#/$defs/%s\"}", k > 1 ? "," : "",
			kind_table[k].name);
	fputs("\n  ],\n"
	      "  \"$defs\": {\n"
	      "    \"u64\": {\"anyOf\": [{\"type\": \"integer\", \"minimum\": 0}, "
	      "{\"type\": \"string\", \"pattern\": \"^[0-9]{19,20}$\"}]},\n"
	      "    \"texts\": {\"type\": \"object\", \"additionalProperties\": "
	      "{\"type\": [\"string\", \"null\"]}},\n"
	      "    \"digest\": {\"type\": \"string\", \"pattern\": \"^[0-9a-f]{64}$\"}",
	      out);
	for (size_t k = 1; k < EVENT_KIND_COUNT; k++)
		write_kind(out, &kind_table[k]);
	fputs("\n  }\n}\n", out);
}

void schema_write_dump(FILE *out)
{
	for (size_t i = 1; i < FIELD_COUNT; i++)
		fprintf(out, "field %zu %s %s %s\n", i, field_table[i].name,
			type_names[field_table[i].type], redact_names[field_table[i].redact]);
	for (size_t k = 1; k < EVENT_KIND_COUNT; k++) {
		const struct kind_info *kind = &kind_table[k];

		fprintf(out, "kind %zu %s %s", k, kind->name, event_class_names[kind->class]);
		for (size_t i = 0; i < kind->field_count; i++)
			fprintf(out, " %s", field_table[kind->fields[i]].name);
		fputc('\n', out);
	}
}
