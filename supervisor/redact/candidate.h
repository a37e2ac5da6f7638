/* What has the shape of a secret: is it one? */
#pragma once

#include "../record/event.h"
#include "detector.h"

/* Bits of entropy (Shannon) for each byte, by how often each byte stands in @text. */
double candidate_entropy(struct bytes text);

/* True if @text says where a secret comes from: NAME=env:VAR, id=NAME,src=FILE. */
bool candidate_is_source(struct bytes text);

/* True if @text, which has the shape that @d looks for, is no example, placeholder or look-alike.
 */
bool candidate_is_secret(const struct detector *d, struct bytes text);
