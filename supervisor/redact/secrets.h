/*
 * The secrets of one session, in all their forms, and where they stand in a text. They lie in
 * locked memory that is left out of core dumps and wiped at the end.
 */
#pragma once

#include "forms.h"
#include "redact.h"
#include "span.h"

struct secrets;

/* Copy @list. 0, -EINVAL (one is too short), -E2BIG or -errno (the memory cannot be locked). */
int secrets_new(const uint8_t key[32], const struct redact_secret *list, size_t count,
		struct secrets **ret_secrets);
void secrets_free(struct secrets *s);

size_t secrets_count(const struct secrets *s);
/* In how many texts they are looked for. */
size_t secrets_literals(const struct secrets *s);
/* The longest text that is looked for. */
size_t secrets_longest(const struct secrets *s);
const char *secrets_name(const struct secrets *s, size_t secret);
/* HMAC-SHA-256 under the key. */
void secrets_digest(const struct secrets *s, struct bytes data,
		    uint8_t ret_digest[EVENT_DIGEST_SIZE]);
/* The first bytes of that digest, as a number. */
uint32_t secrets_tag(const struct secrets *s, struct bytes data);

/*
 * Add the spans of @text to @spans, which is empty. Secrets that overlap make one span, of the
 * first one's name. 0 or -ENOMEM.
 */
int secrets_find(const struct secrets *s, struct bytes text, struct spans *spans);

/*
 * Where the longest end of @text begins that is the beginning of a secret (but not all of it), and
 * of which; text.size if there is none. Of @ret_span start, rule, tag and form are set.
 */
size_t secrets_begun(const struct secrets *s, struct bytes text, struct span *ret_span);
