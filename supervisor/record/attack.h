/*
 * What an event would be called in MITRE ATT&CK: tags by a table of rules (attack.def), each with
 * the reason why. A tag is a hint to where a person should look, never a verdict; it is a function
 * of the one event, so that the same record has the same tags wherever it is read.
 */
#pragma once

#include "event.h"

#define ATTACK_TAGS_MAX 8 /* of one event */
#define ATTACK_RULES_MAX 96
#define ATTACK_VERSION "16.1"

struct attack_tag {
	const char *technique; /* "T1059.004" */
	const char *name;      /* "Unix Shell" */
	const char *parent;    /* name of the technique that it is a part of; NULL: of none */
	const char *tactic;    /* "TA0002" */
	const char *tactic_name;
	const char *reason; /* why this event has the tag */
};

/* The tags of @e, in the order of the table, each technique once. Returns how many. */
size_t attack_tags(const struct event *e, const struct attack_tag **ret_tags);

/* The tag of rule @number, from 0; NULL behind the last. And the other way round. */
const struct attack_tag *attack_rule(size_t number);
size_t attack_rule_number(const struct attack_tag *tag);
