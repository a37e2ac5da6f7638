/*
 * Records on their way to a sink, framed as it wants them, in the order of their sessions.
 */
#pragma once

#include "../../supervisor/record/json.h"
#include "../../supervisor/record/store.h"

enum verdict {
	VERDICT_OPEN, /* not answered yet, or to be sent again */
	VERDICT_DELIVERED,
	VERDICT_REFUSED, /* will never be taken */
};

struct batch_item {
	size_t offset, length; /* in the body */
	char session[SESSION_ID_LENGTH + 1];
	uint64_t seq;
	uint64_t time_ns;
	enum verdict verdict;
	char why[200]; /* of a refusal */
};

struct batch {
	struct json_buffer body;
	struct batch_item *items; /* owned */
	size_t count, room;
};

/* Note that what was appended to the body since @offset is the record @seq of @session. */
int batch_add(struct batch *b, size_t offset, const char *session, uint64_t seq, uint64_t time_ns);

/* Take out all items that are not open. */
void batch_remove_settled(struct batch *b);

void batch_clear(struct batch *b);
void batch_free(struct batch *b);

/* Append the first @count items to @out, between @head and @tail, parted by @separator. */
int batch_join(const struct batch *b, size_t count, const char *head, const char *separator,
	       const char *tail, struct json_buffer *out);

/* The same for the same items, in hex: 32 digits and a NUL. */
void batch_id(const struct batch *b, size_t count, char ret_id[33]);

/* Give the first @count items this verdict; @why may be NULL. */
void batch_judge(struct batch *b, size_t count, enum verdict verdict, const char *why);
