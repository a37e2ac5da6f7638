/*
 * When a receiver may be asked: one pace for all that goes to it at once.
 *
 * After a failure everything waits, longer each time, and then one request asks whether the
 * receiver is back; only its success lets the others follow. What was on its way before a failure
 * says nothing about what came after.
 */
#pragma once

#include "sinks/sink.h"

struct pace {
	uint64_t backoff_ms, backoff_max_ms;
	unsigned failures; /* in a row; requests that fail together count once */
	unsigned sending;  /* requests on their way */
	uint64_t turn;	   /* grows with each failure */
	uint64_t not_before_ms;
	bool is_paused; /* by something that only a person can set right */
	uint64_t retries;
	char why[512]; /* of the last failure; "" after a success */
};

/* True if a request may go out at @now_ms; else *ret_wait_ms is how long to wait, 0 where nobody
 * knows. */
bool pace_allows(const struct pace *p, uint64_t now_ms, uint64_t *ret_wait_ms);

/* A request goes out. Returns its turn, for the two below. */
uint64_t pace_begin(struct pace *p);

void pace_succeed(struct pace *p, uint64_t turn);
/* @a is why, and what the receiver asks for. */
void pace_fail(struct pace *p, uint64_t turn, uint64_t now_ms, const struct sink_answer *a);

/* Something was set right, perhaps: what waits is tried at once. */
void pace_hurry(struct pace *p);
