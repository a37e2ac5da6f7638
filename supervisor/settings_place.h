/* Where in a JSON text a setting stands: jansson tells lines for errors of syntax only. */
#pragma once

#include <stddef.h>

/*
 * Line, from 1, of key @name of the outermost object of @text (valid JSON, NUL-terminated), or of
 * its member @member, or of its item @item (from 1) where these are given. 1 if it is not found.
 */
int settings_line(const char *text, const char *name, const char *member, size_t item);
