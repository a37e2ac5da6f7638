/*
 * The labelled lines of tests/golden/redact: RULE, tab, text; what has to go stands in ⟦ and ⟧; a
 * rule of "-" means that nothing may go, "!RULE" as well, though it looks like RULE; ␤ is a
 * newline.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORPUS_LINE 65536

struct corpus_line {
	char rule[64];
	char text[CORPUS_LINE];
	size_t size;
	bool has_secret;
	bool is_look_alike; /* of @rule */
	size_t start, end;  /* of the secret */
};

/* The next line of @file; false at its end. A line that is not as it should be ends the program. */
static inline bool corpus_next(FILE *file, struct corpus_line *line)
{
	static char raw[CORPUS_LINE];
	const char *tab, *at;

	if (!fgets(raw, sizeof(raw), file))
		return false;
	raw[strcspn(raw, "\n")] = 0;
	tab = strchr(raw, '\t');
	if (!tab || (size_t)(tab - raw) >= sizeof(line->rule)) {
		fprintf(stderr, "not a line of the corpus: %s\n", raw);
		exit(1);
	}
	line->is_look_alike = raw[0] == '!';
	snprintf(line->rule, sizeof(line->rule), "%.*s", (int)(tab - raw) - line->is_look_alike,
		 raw + line->is_look_alike);
	line->size = line->start = line->end = 0;
	line->has_secret = false;
	for (at = tab + 1; *at;) {
		if (!strncmp(at, "⟦", 3)) {
			line->start = line->size;
			line->has_secret = true;
			at += 3;
		} else if (!strncmp(at, "⟧", 3)) {
			line->end = line->size;
			at += 3;
		} else if (!strncmp(at, "␤", 3)) {
			line->text[line->size++] = '\n';
			at += 3;
		} else {
			line->text[line->size++] = *at++;
		}
	}
	line->text[line->size] = 0;
	return true;
}

static const char *const corpus_files[] = {"tests/golden/redact/made.txt",
					   "tests/golden/redact/hand.txt",
					   "tests/golden/redact/apart.txt"};

#define CORPUS_FILES (sizeof(corpus_files) / sizeof(*corpus_files))
