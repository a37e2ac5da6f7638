/*
 * A body, and where each record stands in it.
 */
#include "batch.h"

#include "../../supervisor/record/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int batch_add(struct batch *b, size_t offset, const char *session, uint64_t seq, uint64_t time_ns)
{
	struct batch_item *item;

	if (b->count == b->room) {
		size_t room = b->room ? 2 * b->room : 256;

		item = reallocarray(b->items, room, sizeof(*item));
		if (!item)
			return -ENOMEM;
		b->items = item;
		b->room = room;
	}
	item = &b->items[b->count++];
	*item = (struct batch_item){
		.offset = offset,
		.length = b->body.length - offset,
		.seq = seq,
		.time_ns = time_ns,
	};
	snprintf(item->session, sizeof(item->session), "%s", session);
	return 0;
}

void batch_remove_settled(struct batch *b)
{
	size_t kept = 0, length = 0;

	for (size_t i = 0; i < b->count; i++) {
		struct batch_item *item = &b->items[i];

		if (item->verdict != VERDICT_OPEN) {
			free(item->answer);
			continue;
		}
		memmove(b->body.text + length, b->body.text + item->offset, item->length);
		item->offset = length;
		length += item->length;
		b->items[kept++] = *item;
	}
	b->count = kept;
	b->body.length = length;
	b->refused = 0;
}

void batch_set_answer(struct batch *b, long status, struct bytes answer)
{
	size_t size = answer.size < BATCH_ANSWER_MAX ? answer.size : BATCH_ANSWER_MAX;

	b->status = status;
	b->answer.length = 0;
	json_write_raw(&b->answer, answer.data, size); /* without memory there is none */
}

void batch_clear(struct batch *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->items[i].answer);
	b->count = 0;
	b->body.length = b->answer.length = 0;
	b->status = 0;
	b->refused = 0;
}

void batch_free(struct batch *b)
{
	batch_clear(b);
	json_buffer_free(&b->body);
	json_buffer_free(&b->answer);
	free(b->items);
	*b = (struct batch){0};
}

int batch_join(const struct batch *b, size_t count, const char *head, const char *separator,
	       const char *tail, struct json_buffer *out)
{
	int r = json_write_raw(out, head, strlen(head));

	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct batch_item *item = &b->items[i];

		if (i)
			r = json_write_raw(out, separator, strlen(separator));
		if (r == 0)
			r = json_write_raw(out, b->body.text + item->offset, item->length);
	}
	return r < 0 ? r : json_write_raw(out, tail, strlen(tail));
}

void batch_id(const struct batch *b, size_t count, char ret_id[33])
{
	uint8_t digest[HASH_SIZE];
	struct hash hash;

	hash_begin(&hash);
	for (size_t i = 0; i < count; i++) {
		char text[96];
		int length = snprintf(text, sizeof(text), "%s-%" PRIu64 " %" PRIu64 "\n",
				      b->items[i].session, b->items[i].seq, b->items[i].time_ns);

		hash_add(&hash, text, (size_t)length);
	}
	hash_end(&hash, digest);
	for (size_t i = 0; i < 16; i++)
		snprintf(ret_id + 2 * i, 3, "%02x", digest[i]);
}

void batch_judge(struct batch *b, size_t count, enum verdict verdict, const char *why)
{
	for (size_t i = 0; i < count; i++) {
		b->items[i].verdict = verdict;
		snprintf(b->items[i].why, sizeof(b->items[i].why), "%s", why ? why : "");
	}
}
