/*
 * CRC-32C (Castagnoli), as in iSCSI and ext4. Start with 0; the result of one span is the start of
 * the next.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(uint32_t crc, const void *data, size_t size);

/* The same without the processor's own instruction. */
uint32_t crc32c_by_table(uint32_t crc, const void *data, size_t size);
