/*
 * The secrets of one session, in all their forms, and where they stand in a text. They lie in
 * locked memory that is left out of core dumps and wiped at the end.
 */
#pragma once

#include "forms.h"
#include "redact.h"
#include "span.h"

struct secrets;

/*
 * Copy @list. 0, -EINVAL (one is too short), -EKEYREJECTED (one is part of every marker), -E2BIG or
 * -errno (the memory cannot be locked).
 */
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
 * Put the spans of @text into @spans. Secrets that overlap make one span, of the first one's name.
 * 0 or -ENOMEM.
 */
int secrets_find(struct secrets *s, struct bytes text, struct spans *spans);

/* The end of a text that is the beginning of a secret (but not all of it). */
struct begun {
	size_t start; /* size of the text: there is none */
	size_t letters;
	bool goes_on;	     /* no blank and no line break ends the text */
	struct span span;    /* start, end, rule, tag and form */
	struct bytes prefix; /* its letters; valid as long as the secrets */
};

/* Find the one that begins first. 0 or -ENOMEM. */
int secrets_begun(struct secrets *s, struct bytes text, struct begun *ret_begun);

/* Less letters than these are chance. */
#define BEGUN_LEAST 3
/* True if the next bytes may show that it was a secret: of so little, only if the text goes on. */
bool begun_has_to_wait(const struct begun *b);
/* True if what has begun can hardly be chance: of a text that nothing follows it goes. */
bool begun_is_certain(const struct begun *b);
