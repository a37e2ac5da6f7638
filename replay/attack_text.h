/*
 * The ATT&CK tags of a session, for people and as JSON.
 */
#pragma once

#include "document.h"
#include "tally.h"

/* How many rules tagged something. */
size_t attack_text_count(const struct tally *t);

/* "T1059.004 Unix Shell: a shell ran, 12 times, first record 5": the tags of rule @number. */
void attack_text_write(const struct tally *t, size_t number, const struct pen *pen);

/* The member "attack": an array of an object for each rule that tagged something. */
void attack_text_write_json(const struct tally *t, struct document *d);
