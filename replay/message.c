/*
 * One stream in memory, written from its start each time.
 */
#include "message.h"

#include "../supervisor/record/printable.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

int message_open(struct message *m)
{
	*m = (struct message){.pen.printable.limit = PEN_VALUE_MAX};
	m->pen.out = open_memstream(&m->text, &m->size);
	return m->pen.out ? 0 : -ENOMEM;
}

void message_close(struct message *m)
{
	if (m->pen.out)
		fclose(m->pen.out);
	free(m->text);
	*m = (struct message){0};
}

static struct bytes written(struct message *m)
{
	bool is_whole = !fflush(m->pen.out) && !ferror(m->pen.out);

	clearerr(m->pen.out);
	return is_whole ? (struct bytes){m->text, (size_t)ftello(m->pen.out)}
			: bytes_of("(no memory for this text)");
}

struct bytes message_of(struct message *m, const struct event *e)
{
	rewind(m->pen.out);
	line_write(&m->pen, e);
	return written(m);
}

struct bytes message_words(struct message *m, struct bytes packed)
{
	rewind(m->pen.out);
	line_write_words(&m->pen, packed);
	return written(m);
}

struct bytes message_text(struct message *m, struct bytes text)
{
	rewind(m->pen.out);
	printable_text(m->pen.out, &m->pen.printable, text);
	return written(m);
}
