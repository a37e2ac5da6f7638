/* JSON values by jansson: locals that own a reference, and the memory that they are made of. */
#pragma once

#include "cleanup.h"

#include <jansson.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `cleanup(json) json_t *value = NULL;` */
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

static inline void *json_malloc_or_abort(size_t size)
{
	static const char words[] = "out of memory\n";
	void *memory = malloc(size);

	if (memory)
		return memory;
	(void)!write(STDERR_FILENO, words, sizeof(words) - 1);
	abort(); /* no status: to some commands each one means something */
}

/*
 * Call first of all in a program. jansson's reader drops bytes for which it finds no memory, and
 * returns a value that nobody sent: such a program ends instead. And as messages carry secrets, no
 * JSON text is left in freed memory.
 */
static inline void json_set_up(void)
{
	json_set_alloc_funcs(json_malloc_or_abort, json_free_wiped);
}
