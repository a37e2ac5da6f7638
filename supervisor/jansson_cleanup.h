/* Locals that own a reference to a JSON value: `cleanup(json) json_t *value = NULL;`. */
#pragma once

#include "record/cleanup.h"

#include <jansson.h>

static inline void cleanup_json(json_t **value)
{
	json_decref(*value);
}
