/* Locals that own a reference to a JSON value: `cleanup(json) json_t *value = NULL;`. */
#pragma once

#include "record/cleanup.h"

#include <jansson.h>
#include <malloc.h>
#include <string.h>

static inline void cleanup_json(json_t **value)
{
	json_decref(*value);
}

static inline void json_free_wiped(void *memory)
{
	if (memory)
		explicit_bzero(memory, malloc_usable_size(memory));
	free(memory);
}

/* Call first of all in a program whose messages carry secrets: no JSON text is left in freed
 * memory. */
static inline void json_wipe_freed(void)
{
	json_set_alloc_funcs(malloc, json_free_wiped);
}
