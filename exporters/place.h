/*
 * Where a key stands in the text of a configuration.
 */
#pragma once

#include <stddef.h>

/*
 * The line, from 1, of @key in the top object of @text, or for @sink > 0 in the @sink'th object of
 * its array "sinks"; where the key is not there or "", the line where that object begins. @text has
 * been parsed before: it is JSON.
 */
int place_line(const char *text, size_t sink, const char *key);
