/*
 * A redactor with some secrets, and what comes out of it.
 */
#pragma once

#include "sample.h"
#include "supervisor/record/cleanup.h"
#include "supervisor/record/json.h"
#include "supervisor/redact/redact.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* cmocka wants the three above */
#include <cmocka.h>

static const uint8_t key[32] = "an unguessable deployment key...";

#define TOKEN "s3cr3t-t0ken"
#define OTHER "t0ken-and-more"
#define SECRET(name, text)                                                                         \
	{                                                                                          \
		name, text, sizeof(text) - 1                                                       \
	}

static inline struct redactor *new_redactor(void)
{
	static const struct redact_secret list[] = {
		SECRET("TOKEN", TOKEN),
		SECRET("OTHER", OTHER),
		SECRET("JSON", "{\"key\":\"value\"}"),
		SECRET("NUMBER", "8812345678"),
		SECRET("bad]name\n", "unusual-name"),
	};
	struct redactor *r;

	assert_int_equal(redactor_new(key, NULL, list, sizeof(list) / sizeof(*list), &r), 0);
	return r;
}

/* What came out: every record as its canonical line, and all data of all streams in a row. */
struct output {
	struct json_buffer lines;
	struct json_buffer data;
	uint64_t next_offset; /* what the next piece has to begin with */
	size_t count;
	const struct event *passed; /* the last one, by its address */
	bool has_jumps;		    /* or is of more than one stream */
	int error;
};

static inline int emit(void *context, const struct redacted *record)
{
	struct output *out = context;
	struct bytes data = event_bytes(&record->event, FIELD_data);
	uint64_t offset = event_u64(&record->event, FIELD_offset, 0);

	if (out->error)
		return out->error;
	out->passed = &record->event;
	out->count++;
	json_write_event(&out->lines, "s", &record->event);
	if (!data.data)
		return 0;
	if (!out->has_jumps)
		assert_int_equal(offset, out->next_offset);
	out->next_offset = offset + event_u64(&record->event, FIELD_size, data.size);
	if (data.size)
		json_write_raw(&out->data, data.data, data.size);
	return 0;
}

static inline void output_free(struct output *out)
{
	json_buffer_free(&out->lines);
	json_buffer_free(&out->data);
}

static inline bool holds(const struct json_buffer *buffer, const char *text)
{
	return buffer->length && memmem(buffer->text, buffer->length, text, strlen(text));
}

static inline void assert_data(const struct output *out, const char *expected)
{
	assert_int_equal(out->data.length, strlen(expected));
	assert_memory_equal(out->data.text, expected, out->data.length);
}
