/*
 * Patterns of paths: `*` and `?` stay within one name, `**` crosses slashes, `[a-z]` and `[!a-z]`
 * are sets, a backslash takes the next character as it is.
 */
#pragma once

#include "../record/event.h"

/* Does @pattern match the whole of @path? */
bool glob_match(const char *pattern, struct bytes path);
