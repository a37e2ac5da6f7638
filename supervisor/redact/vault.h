/* Memory for what must not be seen: locked, left out of core dumps, wiped when it is given back. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* At least @size bytes, zero. 0 or -errno (it cannot be had or locked). */
int vault_new(size_t size, uint8_t **ret_bytes, size_t *ret_size);
/* Give back what lies behind @used and was never written. */
void vault_shrink(uint8_t *bytes, size_t *size, size_t used);
void vault_free(uint8_t *bytes, size_t size);
