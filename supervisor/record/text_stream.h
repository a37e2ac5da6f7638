/*
 * A stdio stream into memory. What did not fit into memory is an error at its end, and never a text
 * that is shorter than what was written.
 */
#pragma once

#include <stdio.h>

struct text_stream {
	FILE *out;
	char *text; /* owned by the caller after text_stream_end; with a NUL behind it */
	size_t size;
};

/* 0 or -ENOMEM. */
int text_stream_begin(struct text_stream *s);

/* Close the stream. 0, or -ENOMEM if it is not all there; text is NULL then. A stream that did not
 * begin is that, too. */
int text_stream_end(struct text_stream *s);
