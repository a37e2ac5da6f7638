/*
 * The redaction stage: between enrich and journal, nothing passes by it.
 *
 * Two nets: the secrets that the session was given, in all their forms, with certainty (secrets.h);
 * and what looks like a secret (shapes.h). What enters is an event, what leaves is a
 * redacted record.
 */
#pragma once

#include "redacted.h"

#include <stddef.h>
#include <stdint.h>

struct clean;
struct redactor;
struct shapes;

#define REDACT_SECRET_MIN 8

struct redact_secret {
	const char *name; /* becomes the rule's name */
	const void *value;
	size_t size; /* REDACT_SECRET_MIN bytes or more */
};

/*
 * A redactor for one session. @shapes (borrowed) is what shapes_new made; NULL: the secrets alone
 * are looked for. @key (32 bytes) is the deployment key under which tags and digests
 * are made. Secrets are copied into locked memory that redactor_free wipes. 0, -EINVAL (a secret is
 * too short), -EKEYREJECTED (one is part of every marker, or of a rule's name) or -errno.
 */
int redactor_new(const uint8_t key[32], const struct shapes *shapes,
		 const struct redact_secret *secrets, size_t count, struct redactor **ret_redactor);
void redactor_free(struct redactor *r);

/*
 * Have each cut told while it is made: @rule is 0 for a secret, else the number of the rule of the
 * shape net, from 1; whether it went because a pattern did not come to an end.
 */
typedef void redact_cut(void *context, size_t rule, bool is_over_budget);
void redactor_watch(struct redactor *r, redact_cut *cut, void *context);

/*
 * Remember in @clean, which has to outlive it, what held nothing. For a redactor without secrets
 * that switches nothing off; see clean.h.
 */
void redactor_share(struct redactor *r, struct clean *clean);

/* Do without a rule of the shape net. 0, or -ENOENT where there is none of that name. */
int redactor_switch_off(struct redactor *r, const char *detector);

/*
 * Pass one event. Calls @emit once for a plain event; stream data (output, input) may be held back
 * or given out in other pieces, because a secret can go on in the next piece, so @emit is called
 * zero or more times. The record that
 * @emit gets is valid during the call. Returns 0, the first error of @emit, or -errno: the caller
 * must stop then.
 */
typedef int redact_emit(void *context, const struct redacted *record);
int redact_event(struct redactor *r, const struct event *e, redact_emit *emit, void *context);

/*
 * Give out what was held back for REDACT_HOLD_NS at @now_ns of boot time: a prompt has to show.
 * What has begun like a secret waits for REDACT_HOLD_MOST_NS, and is cut then. UINT64_MAX: nothing
 * follows, give out all.
 */
#define REDACT_HOLD_NS 200000000ull
#define REDACT_HOLD_MOST_NS 10000000000ull
int redact_flush(struct redactor *r, uint64_t now_ns, redact_emit *emit, void *context);

/* What was passed and not given out yet. */
struct redact_held {
	uint64_t output_bytes, input_bytes; /* of streams */
	uint64_t names;			    /* events about names that were asked for */
};
struct redact_held redact_held(const struct redactor *r);

/* The stream that @e is of (without data) ends: give out all that is held of it. */
int redact_end(struct redactor *r, const struct event *e, redact_emit *emit, void *context);

/* Put the redact.summary event together: counts per rule. False if nothing was cut. */
bool redact_summary(struct redactor *r, struct event *ret_event);

/* HMAC-SHA-256 of a value under the deployment key: the digest of a value that is cut. */
void redact_digest(struct redactor *r, const void *data, size_t size,
		   uint8_t ret_digest[EVENT_DIGEST_SIZE]);
