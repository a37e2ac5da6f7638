/*
 * A report as Markdown, for tickets. What a session made stands in code spans, where nothing is
 * markup.
 */
#include "changes_text.h"
#include "contacts_text.h"
#include "report.h"
#include "units.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/text_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LISTED_MAX 1000 /* of each list: whoever wants all takes another form */

/* Text that is gathered to be written as one code span. */
struct span {
	struct pen pen; /* writes to the stream */
	struct text_stream stream;
};

static int span_begin(struct span *span)
{
	int r = text_stream_begin(&span->stream);

	span->pen = (struct pen){.out = span->stream.out, .printable.limit = PEN_VALUE_MAX};
	return r;
}

static size_t longest_run(const char *text, char c)
{
	size_t longest = 0, run = 0;

	for (; *text; text++) {
		run = *text == c ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* Backticks around it, one more than it has in a row. */
static int span_end(struct span *span, FILE *out)
{
	struct text_stream *s = &span->stream;
	size_t fence;

	if (text_stream_end(s) < 0)
		return -ENOMEM;
	while (s->size && s->text[s->size - 1] == '\n')
		s->text[--s->size] = 0;
	fence = longest_run(s->text, '`') + 1;
	for (size_t i = 0; i < fence; i++)
		fputc('`', out);
	fprintf(out, "%s%s%s", fence > 1 ? " " : "", s->size ? s->text : " ", fence > 1 ? " " : "");
	for (size_t i = 0; i < fence; i++)
		fputc('`', out);
	fputc('\n', out);
	free(s->text);
	return 0;
}

static int write_summary(const struct report *r, FILE *out)
{
	fprintf(out, "# vitrine session %s: ", r->session);
	report_write_verdict(r, out);
	fputs("\n\n", out);
	for (const struct report_row *row = report_rows; row->title; row++) {
		struct span span;
		bool any;

		if (span_begin(&span) < 0)
			return -ENOMEM;
		any = row->write(r, &span.pen);
		if (!any) {
			if (text_stream_end(&span.stream) < 0)
				return -ENOMEM;
			free(span.stream.text);
			continue;
		}
		fprintf(out, "- %s: ", row->title);
		if (span_end(&span, out) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void write_rest(FILE *out, size_t count)
{
	if (count > LISTED_MAX)
		fprintf(out, "- and %zu more\n", count - LISTED_MAX);
	if (!count)
		fputs("none\n", out);
}

static int write_files(const struct report *r, FILE *out)
{
	cleanup(free) struct change *list = NULL;
	size_t count;
	int error = changes_list(r->changes, &list, &count);

	fputs("\n## Files that are different afterwards\n\n", out);
	for (size_t i = 0; error == 0 && i < count && i < LISTED_MAX; i++) {
		struct span span;

		error = span_begin(&span);
		if (error < 0)
			break;
		fputs("- ", out);
		change_write(&list[i], r->actors, &span.pen);
		error = span_end(&span, out);
	}
	if (error == 0)
		write_rest(out, count);
	return error;
}

static int write_hosts(const struct report *r, FILE *out)
{
	size_t count = contacts_count(r->contacts), names = contacts_name_count(r->contacts);
	struct span span;
	int error = 0;

	fputs("\n## Hosts\n\n", out);
	for (size_t i = 0; error == 0 && i < count && i < LISTED_MAX; i++) {
		struct contact contact = contacts_get(r->contacts, i);

		error = span_begin(&span);
		if (error < 0)
			break;
		fputs("- ", out);
		contact_write(r->contacts, &contact, r->actors, &span.pen);
		error = span_end(&span, out);
	}
	for (size_t i = 0; error == 0 && i < names && i < LISTED_MAX; i++) {
		struct contact_name name = contacts_name(r->contacts, i);

		error = span_begin(&span);
		if (error < 0)
			break;
		fputs("- ", out);
		contact_name_write(&name, r->actors, &span.pen);
		error = span_end(&span, out);
	}
	if (error == 0)
		write_rest(out, count > names ? count : names);
	return error;
}

static int write_kept(const struct report *r, FILE *out, const char *title,
		      const struct kept_list *list)
{
	int error = 0;

	fprintf(out, "\n## %s\n\n", title);
	for (size_t i = 0; error == 0 && i < list->count; i++) {
		const struct event *e = &list->items[i].event;
		struct span span;

		error = span_begin(&span);
		if (error < 0)
			break;
		fprintf(out, "- record %" PRIu64 ", after ", e->seq);
		write_duration(out, origin_elapsed(&r->origin, e));
		fprintf(out, ", %s: ", kind_table[e->kind].name);
		line_write(&span.pen, e);
		error = span_end(&span, out);
	}
	if (list->left_out)
		fprintf(out, "- and %" PRIu64 " more\n", list->left_out);
	if (!list->count)
		fputs("nothing in the record\n", out);
	return error;
}

int report_write_markdown(const struct report *r, FILE *out)
{
	int error = write_summary(r, out);

	if (error == 0)
		error = write_files(r, out);
	if (error == 0)
		error = write_hosts(r, out);
	if (error == 0)
		error = write_kept(r, out, "Refused", &r->denied);
	return error ? error : write_kept(r, out, "Missing", &r->holes);
}
