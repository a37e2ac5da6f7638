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
	VERDICT_DOUBTED, /* some of these will not, and the receiver does not say which */
};

#define BATCH_ANSWER_MAX 65536

struct batch_item {
	size_t offset, length; /* in the body */
	char session[SESSION_ID_LENGTH + 1];
	uint64_t seq; /* 0: a checkpoint that came with the records */
	uint64_t time_ns;
	enum verdict verdict;
	char why[200]; /* of a refusal */
	char *answer;  /* owned; what was said of it alone, as JSON text; NULL: see the batch */
};

struct batch {
	struct json_buffer body;
	struct batch_item *items; /* owned */
	size_t count, room;
	struct json_buffer answer; /* the last one, cut at BATCH_ANSWER_MAX bytes */
	long status;		   /* of HTTP; 0: there was none */
	size_t refused;		   /* how many of those in doubt */
};

/* Note that what was appended to the body since @offset is the record @seq of @session. */
int batch_add(struct batch *b, size_t offset, const char *session, uint64_t seq, uint64_t time_ns);

/* Take out all items that are not open. */
void batch_remove_settled(struct batch *b);

/* Keep what the receiver answered to the request, for those that it refuses. */
void batch_set_answer(struct batch *b, long status, struct bytes answer);

void batch_clear(struct batch *b);
void batch_free(struct batch *b);

/* Append the first @count items to @out, between @head and @tail, parted by @separator. */
int batch_join(const struct batch *b, size_t count, const char *head, const char *separator,
	       const char *tail, struct json_buffer *out);

/* The same for the same items, in hex: 32 digits and a NUL. */
void batch_id(const struct batch *b, size_t count, char ret_id[33]);

/* Give the first @count items this verdict; @why may be NULL. */
void batch_judge(struct batch *b, size_t count, enum verdict verdict, const char *why);
