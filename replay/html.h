/*
 * Text in a page: nothing of a session becomes markup, and what it would hide is made visible.
 */
#pragma once

#include "line.h"

/*
 * A stream that writes to @to what is written to it, with & < > " ' as character references. It is
 * to be flushed before @to is written to, and closed before @to. NULL: out of memory.
 */
FILE *html_escaping(FILE *to);

/* Likewise for the text of a JSON value within a <script> that is not run: < becomes \u003c. */
FILE *html_escaping_json(FILE *to);

/* An asset of dashboards/web, as it was when this program was built. */
struct asset {
	const char *text;
	size_t size;
};

struct asset asset_report_css(void);
struct asset asset_report_js(void);

/* Write "sha256-..." as a Content-Security-Policy has it. */
void html_write_hash(FILE *out, struct asset asset);
