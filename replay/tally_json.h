/*
 * A tally as JSON: what `vitrine show --json` prints of a session's counts.
 */
#pragma once

#include "document.h"
#include "tally.h"

/* Put the members of @t into the object that is open. */
void tally_write_json(const struct tally *t, struct document *d);
