/*
 * Backoff with jitter, and one question at a time to who does not answer.
 */
#include "pace.h"
#include "sinks/retry_after.h"

#include <openssl/rand.h>
#include <string.h>

#define PAUSE_MS 60000 /* a receiver that is set up wrongly is asked so often */
#define WAIT_MAX_MS (RETRY_AFTER_MAX_S * 1000)

bool pace_allows(const struct pace *p, uint64_t now_ms, uint64_t *ret_wait_ms)
{
	*ret_wait_ms = now_ms < p->not_before_ms ? p->not_before_ms - now_ms : 0;
	return !*ret_wait_ms && !(p->failures && p->sending);
}

uint64_t pace_begin(struct pace *p)
{
	p->sending++;
	return p->turn;
}

void pace_hurry(struct pace *p)
{
	p->not_before_ms = 0;
}

void pace_succeed(struct pace *p, uint64_t turn)
{
	p->sending--;
	if (turn != p->turn)
		return;
	p->failures = 0;
	p->not_before_ms = 0;
	p->is_paused = false;
	p->why[0] = 0;
}

/* Twice as long each time, and never the same for two lanes: half of it is chance. */
static uint64_t backoff_ms(const struct pace *p)
{
	uint64_t wait = p->backoff_ms, max = p->backoff_max_ms, chance = 0;

	for (unsigned i = 1; i < p->failures && wait < max; i++)
		wait *= 2;
	wait = wait < max ? wait : max;
	RAND_bytes((unsigned char *)&chance, sizeof(chance));
	return wait / 2 + chance % (wait / 2 + 1);
}

void pace_fail(struct pace *p, uint64_t turn, uint64_t now_ms, const struct sink_answer *a)
{
	uint64_t wait;

	p->sending--;
	p->retries++;
	p->failures += turn == p->turn;
	p->turn += turn == p->turn;
	wait = backoff_ms(p);
	if (a->answer == ANSWER_PAUSE && wait < PAUSE_MS)
		wait = p->backoff_max_ms < PAUSE_MS ? wait : PAUSE_MS;
	if (a->wait_ms)
		wait = a->wait_ms < WAIT_MAX_MS ? a->wait_ms : WAIT_MAX_MS;
	if (now_ms + wait > p->not_before_ms)
		p->not_before_ms = now_ms + wait;
	p->is_paused = a->answer == ANSWER_PAUSE;
	snprintf(p->why, sizeof(p->why), "%s", a->why[0] ? a->why : "no reason given");
}
