/*
 * The page while it is written.
 */
#pragma once

#include "report.h"

#include "../supervisor/record/json.h"

struct html {
	FILE *out;	/* markup that we wrote ourselves, and nothing else */
	struct pen pen; /* text: escapes, then goes to out */
	FILE *json;	/* the same for what stands in a <script> as data */

	FILE *text; /* one line of one event */
	char *text_bytes;
	size_t text_size;
	struct pen text_pen;
	struct json_buffer line;
	bool any;
};

/* Write markup behind the text that was written so far. */
void html_raw(struct html *h, const char *text);

/* The tree, and the tables of files, hosts, refusals and gaps. 0 or -errno. */
int html_write_tables(struct html *h, const struct report *r);
