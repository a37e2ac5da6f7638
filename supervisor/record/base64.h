/*
 * Base64 as in RFC 4648, section 4: padded, and read strictly.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define BASE64_LENGTH(size) (((size) + 2) / 3 * 4)

/* Write BASE64_LENGTH(size) characters to @ret_text, without a NUL. */
void base64_encode(const void *data, size_t size, char *ret_text);

/*
 * Read @length characters into @ret_data, which has room for length / 4 * 3 bytes. Returns the size
 * or -EINVAL for anything but the one canonical form.
 */
ssize_t base64_decode(const char *text, size_t length, void *ret_data);
