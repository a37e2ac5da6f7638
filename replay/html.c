/*
 * Streams that escape, and the assets of a page.
 */
#include "html.h"

#include "../supervisor/record/base64.h"
#include "../supervisor/record/hash.h"

#include <errno.h>
#include <string.h>

static ssize_t write_escaped(FILE *to, const char *text, size_t size, const char *special,
			     const char *const *instead)
{
	size_t from = 0;

	for (size_t i = 0; i < size; i++) {
		const char *found = text[i] ? strchr(special, text[i]) : NULL;

		if (!found)
			continue;
		fwrite_unlocked(text + from, 1, i - from, to);
		fputs_unlocked(instead[found - special], to);
		from = i + 1;
	}
	fwrite_unlocked(text + from, 1, size - from, to);
	return ferror(to) ? 0 : (ssize_t)size;
}

static ssize_t write_html(void *to, const char *text, size_t size)
{
	static const char *const instead[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

	return write_escaped(to, text, size, "&<>\"'", instead);
}

static ssize_t write_json(void *to, const char *text, size_t size)
{
	static const char *const instead[] = {"\\u003c"};

	return write_escaped(to, text, size, "<", instead);
}

FILE *html_escaping(FILE *to)
{
	return fopencookie(to, "w", (cookie_io_functions_t){.write = write_html});
}

FILE *html_escaping_json(FILE *to)
{
	return fopencookie(to, "w", (cookie_io_functions_t){.write = write_json});
}

/* ---- assets: the files themselves, put here by the assembler ---- */

#define FILE_OF(path) ".incbin \"dashboards/web/" path "\"\n"
#define ASSET(name, files)                                                                         \
	__asm__(".pushsection .rodata\n.balign 8\n" #name "_size: .quad 1f - " #name               \
		"_text\n" #name "_text:\n" files "1: .byte 0\n.popsection\n");                     \
	extern const char name##_text[] __attribute__((visibility("hidden")));                     \
	extern const uint64_t name##_size __attribute__((visibility("hidden")))

ASSET(report_css, FILE_OF("report.css"));
ASSET(report_js, FILE_OF("query.js") FILE_OF("terminal.js") FILE_OF("report.js"));

struct asset asset_report_css(void)
{
	return (struct asset){report_css_text, report_css_size};
}

struct asset asset_report_js(void)
{
	return (struct asset){report_js_text, report_js_size};
}

void html_write_hash(FILE *out, struct asset asset)
{
	uint8_t digest[HASH_SIZE];
	char text[BASE64_LENGTH(HASH_SIZE)];

	hash_bytes((struct bytes){asset.text, asset.size}, digest);
	base64_encode(digest, sizeof(digest), text);
	fprintf(out, "'sha256-%.*s'", (int)sizeof(text), text);
}
