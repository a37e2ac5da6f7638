/*
 * Text of a session, made fit for a terminal.
 *
 * Whatever a session can name (files, arguments, hosts, output) is hostile: it may hold escape
 * sequences, newlines, bytes that are no UTF-8, and characters that turn or hide what stands beside
 * them. Here is the only door from such bytes to a line that a person reads.
 */
#pragma once

#include "event.h"

#include <stdio.h>

/*
 * Decode one character of @text at *cursor and move on. Returns the code point, or -1 for a byte
 * that is not part of valid UTF-8 (overlong forms, surrogates and what lies past U+10FFFF are not);
 * *cursor moves by that one byte then. *cursor must be below text.size.
 */
int32_t utf8_next(struct bytes text, size_t *cursor);

/* True if @code may stand in a line as it is: no control, no format or bidirectional control, no
 * invisible or line-breaking character. */
bool printable_code(int32_t code);

struct printable {
	bool ascii;   /* the terminal does not speak UTF-8: escape all else */
	size_t limit; /* after so many bytes of the text say "[+N bytes]" instead; 0: no limit */
};

/* What suits @out: ASCII only for a terminal whose locale is not UTF-8. */
struct printable printable_for(FILE *out, size_t limit);

/*
 * Write @text as one shell word that means just these bytes: plain where it can be, 'quoted' where
 * it holds blanks or what a shell would take apart, and $'...' with \n, \xNN, \uNNNN where it holds
 * something that must not reach a terminal.
 */
void printable_word(FILE *out, const struct printable *p, struct bytes text);

/* As printable_word, but blanks stay and there are no quotes; a backslash is doubled. For prose. */
void printable_text(FILE *out, const struct printable *p, struct bytes text);

struct bytes bytes_of(const char *text);
