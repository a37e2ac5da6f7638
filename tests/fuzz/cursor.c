/*
 * Fuzz: the cursor of a sink. The input is tried as it is and, since no mutation finds a checksum,
 * with the right one behind it.
 */
#include "../../exporters/cursor.h"
#include "../../supervisor/record/crc32c.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try(const char *text, size_t size)
{
	struct cursor c;

	if (cursor_parse("sink", text, size, &c) < 0)
		return;
	for (size_t i = 0; i < c.count; i++) {
		if (!c.entries[i].next_seq ||
		    cursor_find(&c, c.entries[i].session) != &c.entries[i])
			__builtin_trap(); /* each session once, in order, with a number */
	}
	cursor_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *sealed = malloc(size + 14);

	try((const char *)data, size);
	if (!sealed)
		return 0;
	memcpy(sealed, data, size);
	snprintf(sealed + size, 14, "crc %08" PRIx32 "\n", crc32c(0, data, size));
	try(sealed, size + 13);
	free(sealed);
	return 0;
}
