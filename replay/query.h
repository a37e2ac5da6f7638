/*
 * The filter language: which events are asked for, in a line that a person types.
 *
 *   kind:exec argv~curl path:/etc/passwd net.dst:10.0.0.0/8 size:>1000 not (exit:0 or exit:1)
 *
 * A query is parsed once and owns all that it needs; matching allocates nothing. Both the query and
 * the events may be hostile: length, terms and nesting are bounded, and a pattern takes at most its
 * length times that of the text.
 */
#pragma once

#include "../supervisor/record/event.h"
#include "filter.h"

#include <stdio.h>

#define QUERY_LENGTH_MAX 65536 /* bytes */
#define QUERY_NODES_MAX 512    /* terms, and what joins them */
#define QUERY_DEPTH_MAX 32     /* of parentheses and nots */

struct query;

struct query_error {
	size_t position; /* byte of the text, from 0 */
	char why[200];	 /* in words; safe for a terminal */
};

/* 0, -EINVAL (*ret_error says where and why) or -ENOMEM. An empty text matches every event. */
int query_parse(const char *text, struct query **ret_query, struct query_error *ret_error);
void query_free(struct query *q);

bool query_match(const struct query *q, const struct origin *origin, const struct event *e);

/* False if no record of the stretch that @g tells of can match. */
struct grams;
bool query_can_match(const struct query *q, const struct grams *g);

/* query_parse for a command line: one line on @errors, as @called, if it fails. NULL as @text gives
 * NULL. 0, -EINVAL or -ENOMEM. */
int query_from_option(const char *text, const char *called, FILE *errors, struct query **ret_query);

static inline void cleanup_query(struct query **q)
{
	query_free(*q);
}

/* A section of a manual page. */
#define QUERY_MANUAL                                                                               \
	{                                                                                          \
		"FILTER LANGUAGE",                                                                 \
			"A filter is a row of terms that all have to be true; 'and', 'or', 'not' " \
			"and parentheses join them. A term is FIELD:VALUE, FIELD~VALUE or a bare " \
			"word, which is looked for in every text of an event.\n\n"                 \
			"FIELD is a field of the canonical JSON ('vitrine schema' lists them), "   \
			"an object of it (dst, exe, child), or kind, seq, time, exit "             \
			"(exit_code), "                                                            \
			"port, address, net.dst, net.src, file (path, new_path, requested, "       \
			"exe.path) or attack (number or name of a technique or tactic of MITRE "   \
			"ATT&CK).\n\n"                                                             \
			"A text VALUE is the whole text; * stands for any characters and ? for "   \
			"one. FIELD~VALUE looks for a part of the text and ignores the case of "   \
			"ASCII letters. Of an array, one item has to match. A number is 1000, "    \
			"4K, >1000, <=10 or 10..20; an address is a text, an address or a "        \
			"network (10.0.0.0/8); a time is as for --since, >2s or 1s..2s; a kind "   \
			"is a kind, a group, the last part of one, or several, parted by commas. " \
			"FIELD:* is true where the event has the field. What holds blanks, "       \
			"parentheses or a literal * stands in \"quotes\"; a backslash takes the "  \
			"next character as it is.\n\n"                                             \
			"  kind:exec argv~curl\n"                                                  \
			"  path:/etc/* not kind:read\n"                                            \
			"  attack:T1059* or attack:Exfiltration\n"                                 \
			"  net.dst:10.0.0.0/8 port:443\n"                                          \
			"  kind:process.exit not exit:0\n"                                         \
			"  sha256:e3b0c442* or explained:false"                                    \
	}
