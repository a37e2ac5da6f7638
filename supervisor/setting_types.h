/* What each type of setting takes, and how that is told. */
#pragma once

#include "settings.h"

#include <stdbool.h>

/* The value that is at fault: a setting's own, or of a member or item below it. */
struct setting_place {
	const json_t *value;
	const char *member;  /* of an object; borrowed */
	size_t item;	     /* of an array, from 1; 0: none */
	const char *allowed; /* in its place, in words; NULL: what the type says */
};

struct setting_type_info {
	/* True if place->value may stand for the setting; else @place is moved to what is wrong. */
	bool (*check)(const struct setting *s, struct setting_place *place);
	json_t *(*schema)(const struct setting *s);
	const char *allowed; /* in words; NULL where it follows from the row */
};

/* Indexed by enum setting_type. */
extern const struct setting_type_info setting_types[];
