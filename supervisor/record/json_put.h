/*
 * The pieces that JSON is written of, for the files that write it. A failure sticks to the buffer
 * until json_done, so that a writer reads like what it writes.
 */
#pragma once

#include "json.h"

void json_put(struct json_buffer *buffer, const char *text, size_t length);
#define json_put_literal(buffer, text) json_put(buffer, text, sizeof(text) - 1)

/* One character of a string, escaped where it has to be; U+FFFD for -1. */
void json_put_code(struct json_buffer *buffer, int32_t code);

/* A quoted string. Returns false if it held bytes that are not UTF-8. */
bool json_put_string(struct json_buffer *buffer, struct bytes text);

/* A JSON value that is there as text. False, and nothing put, if it is not JSON. */
bool json_put_text(struct json_buffer *buffer, struct bytes json);

void json_put_u64(struct json_buffer *buffer, uint64_t value);
void json_put_i64(struct json_buffer *buffer, int64_t value);
void json_put_base64(struct json_buffer *buffer, struct bytes data);
void json_put_hex(struct json_buffer *buffer, const uint8_t *data, size_t size);

/* "2026-01-02T03:04:05.123456789Z" */
void json_put_time(struct json_buffer *buffer, uint64_t time_ns);

/* 0; or -ENOMEM if anything failed since the buffer was @start long, to which it is then cut. */
int json_done(struct json_buffer *buffer, size_t start);
