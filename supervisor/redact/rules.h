/*
 * The rules of one session: the table of detectors, with what its policy adds to it and tunes in it
 * (the key redact_rules: an array of objects {name, keywords, pattern, entropy, check, back,
 * allow}).
 */
#pragma once

#include "../record/event.h"
#include "detector.h"

#include <jansson.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define RULES_MOST 64 /* of a policy */
#define RULES_WHY 400

struct rules;

/*
 * The table with @changes (borrowed; NULL: none) made to it. A rule of the policy with the name of
 * a detector takes the detector's place in what it gives; what it allows is allowed beside.
 * 0, -ENOMEM, or -EINVAL with what is wrong and how it has to be in @why.
 */
int rules_new(const json_t *changes, struct rules **ret_rules, char why[RULES_WHY]);
void rules_free(struct rules *r);

size_t rules_count(const struct rules *r);
const struct detector *rules_list(const struct rules *r);
/* The pattern that the policy gave; NULL: the detector has its own. */
pcre2_code *rules_code(const struct rules *r, size_t rule);
size_t rules_by_name(const struct rules *r, const char *name, size_t length);

/* Compile as all patterns are compiled. NULL with the place and PCRE2's number of the error. */
pcre2_code *rules_compile(const char *pattern, size_t *ret_at, int *ret_error);
/* The JSON Schema of the array; NULL when out of memory. */
json_t *rules_schema(size_t most);
