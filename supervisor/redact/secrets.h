/*
 * The secrets of one session and where they stand in a text. They lie in locked memory that is left
 * out of core dumps and wiped at the end.
 */
#pragma once

#include "redact.h"

struct secrets;

/* Copy @list. 0, -EINVAL (one is too short) or -errno (the memory cannot be locked). */
int secrets_new(const uint8_t key[32], const struct redact_secret *list, size_t count,
		struct secrets **ret_secrets);
void secrets_free(struct secrets *s);

size_t secrets_count(const struct secrets *s);
size_t secrets_longest(const struct secrets *s);
const char *secrets_name(const struct secrets *s, size_t secret);
/* What stands in its place: "[REDACTED:name:tag]". */
struct bytes secrets_marker(const struct secrets *s, size_t secret);
/* HMAC-SHA-256 under the key. */
void secrets_digest(const struct secrets *s, struct bytes data,
		    uint8_t ret_digest[EVENT_DIGEST_SIZE]);

/* A part of a text that goes, because of @secret. */
struct span {
	size_t start, end;
	size_t secret;
	bool is_partial; /* only the beginning of the secret is there */
};

/* Spans in order, apart from each other; kept from text to text. */
struct spans {
	struct span *items;
	size_t count, room;
};
void spans_free(struct spans *spans);
int spans_add(struct spans *spans, struct span span);

/*
 * Add the spans of @text to @spans, which is empty. Secrets that overlap make one span, of the
 * first one's name. 0 or -ENOMEM.
 */
int secrets_find(const struct secrets *s, struct bytes text, struct spans *spans);

/*
 * Where the longest end of @text begins that is the beginning of a secret (but not all of it), and
 * of which; text.size if there is none.
 */
size_t secrets_begun(const struct secrets *s, struct bytes text, size_t *ret_secret);
