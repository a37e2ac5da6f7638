/*
 * What the session's terminal, or its plain output, looked like at one record.
 */
#pragma once

#include "numbers.h"
#include "pages.h"
#include "paint.h"

struct picture;

struct picture *picture_new(void); /* NULL: out of memory */
void picture_free(struct picture *p);

/*
 * Bring it to record @seq, for @budget_ns at most. @streams are the records that it is made of.
 * True: it is not there yet.
 */
bool picture_step(struct picture *p, struct pages *pages, const struct numbers *streams,
		  uint64_t seq, uint64_t budget_ns);

void picture_draw(const struct picture *p, struct area area);

/* True if output before it was left out to be quick, and it may look otherwise. */
bool picture_is_partial(const struct picture *p);
