/*
 * The JSON Schema of the configuration, made of the same tables that check it.
 */
#pragma once

#include <jansson.h>

/* NULL when out of memory; freed by the caller. It is published as docs/export.schema.json. */
json_t *export_schema(void);
