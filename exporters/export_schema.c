/*
 * Rows of knobs as JSON Schema.
 */
#include "export_schema.h"
#include "export_config.h"

#include <string.h>

#define SINKS_MAX 64 /* as knob.c has it */

static json_t *choices_of(const char *const *choices)
{
	json_t *list = json_array();

	for (size_t i = 0; choices[i]; i++)
		json_array_append_new(list, json_string(choices[i]));
	return list;
}

static json_t *texts_schema(const struct knob *k)
{
	if (k->choices)
		return json_pack("{s:s, s:{s:o}}", "type", "array", "items", "enum",
				 choices_of(k->choices));
	return json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", "string");
}

static json_t *secret_schema(void)
{
	return json_pack("{s:s, s:b, s:i, s:i, s:{s:{s:s, s:s}, s:{s:s}}}", "type", "object",
			 "additionalProperties", 0, "minProperties", 1, "maxProperties", 1,
			 "properties", "file", "type", "string", "pattern", "^/", "env", "type",
			 "string");
}

static json_t *type_schema(const struct knob *k)
{
	switch (k->type) {
	case KNOB_NAME:
		return json_pack("{s:s, s:s}", "type", "string", "pattern",
				 "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$");
	case KNOB_TEXT:
		return json_pack("{s:s, s:i, s:i}", "type", "string", "minLength", 1, "maxLength",
				 1024);
	case KNOB_PATH:
		return json_pack("{s:s, s:s}", "type", "string", "pattern", "^/");
	case KNOB_URL:
		return json_pack("{s:s, s:s}", "type", "string", "pattern", "^https?://[^/]");
	case KNOB_LISTEN:
		return json_pack("{s:s, s:s}", "type", "string", "pattern",
				 "^(unix:/|127\\.0\\.0\\.1:[0-9]|\\[::1\\]:[0-9])");
	case KNOB_CHOICE:
		return json_pack("{s:o}", "enum", choices_of(k->choices));
	case KNOB_NUMBER:
		return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum",
				 (json_int_t)k->min, "maximum", (json_int_t)k->max);
	case KNOB_BOOL:
		return json_pack("{s:s}", "type", "boolean");
	case KNOB_TEXTS:
		return texts_schema(k);
	case KNOB_SECRET:
		return secret_schema();
	case KNOB_SINKS:
		return json_pack("{s:s, s:i, s:i}", "type", "array", "minItems", 1, "maxItems",
				 SINKS_MAX);
	}
	return NULL;
}

/* Add the rows of @table to the schema of an object. */
static void add_knobs(json_t *schema, const struct knob *table)
{
	json_t *properties = json_object_get(schema, "properties");
	json_t *required = json_object_get(schema, "required");

	for (; table->name; table++) {
		json_t *one = type_schema(table);

		json_object_set_new(one, "description", json_string(table->doc));
		if (table->otherwise)
			json_object_set_new(one, "default",
					    json_loads(table->otherwise, JSON_DECODE_ANY, NULL));
		json_object_set_new(properties, table->name, one);
		if (table->is_required)
			json_array_append_new(required, json_string(table->name));
	}
}

static json_t *object_schema(void)
{
	return json_pack("{s:s, s:b, s:{}, s:[]}", "type", "object", "additionalProperties", 0,
			 "properties", "required");
}

static json_t *sink_schema(const struct sink_type *type)
{
	json_t *schema = object_schema();

	json_object_set_new(schema, "title", json_string(type->name));
	json_object_set_new(schema, "description", json_string(type->doc));
	add_knobs(schema, sink_knobs);
	add_knobs(schema, type->knobs);
	json_object_set_new(json_object_get(schema, "properties"), "type",
			    json_pack("{s:s}", "const", type->name));
	json_object_set_new(json_object_get(json_object_get(schema, "properties"), "format"),
			    "default", json_string(type->format));
	return schema;
}

json_t *export_schema(void)
{
	json_t *schema = object_schema(), *sinks = json_array();

	json_object_set_new(schema, "$schema",
			    json_string("https://json-schema.org/draft/2020-12/schema"));
	json_object_set_new(schema, "$id", json_string("urn:vitrine:export"));
	json_object_set_new(schema, "title", json_string("Configuration of vitrine-export"));
	add_knobs(schema, export_knobs);
	for (size_t i = 0; sink_types[i]; i++)
		json_array_append_new(sinks, sink_schema(sink_types[i]));
	json_object_set_new(json_object_get(json_object_get(schema, "properties"), "sinks"),
			    "items", json_pack("{s:o}", "oneOf", sinks));
	return schema;
}
