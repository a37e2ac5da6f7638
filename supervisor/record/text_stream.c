#include "text_stream.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

int text_stream_begin(struct text_stream *s)
{
	*s = (struct text_stream){0};
	s->out = open_memstream(&s->text, &s->size);
	return s->out ? 0 : -ENOMEM;
}

int text_stream_end(struct text_stream *s)
{
	if (!s->out)
		return -ENOMEM;

	/* fclose tells of its own flush alone, and not even of a text that it could not give. */
	bool is_whole = !ferror(s->out);
	is_whole &= fclose(s->out) == 0;
	s->out = NULL;
	if (is_whole && s->text)
		return 0;
	free(s->text);
	s->text = NULL;
	return -ENOMEM;
}
