/*
 * The line of an event as a text in memory, without colours and safe wherever text is shown.
 */
#pragma once

#include "line.h"

struct message {
	struct pen pen;
	char *text;
	size_t size;
};

/* 0 or -ENOMEM. */
int message_open(struct message *m);
void message_close(struct message *m);

/* The line of @e; valid until the next call. */
struct bytes message_of(struct message *m, const struct event *e);
/* The same for the words of a packed array, and for one text. */
struct bytes message_words(struct message *m, struct bytes packed);
struct bytes message_text(struct message *m, struct bytes text);
