/*
 * A report as one page that needs nothing else: style and script are part of it and named by their
 * hash in its policy, which allows nothing besides. All text of the session goes through escaping
 * streams. The first part, tree and tables need no script; it adds filters, and the list of events.
 */
#include "report_html.h"
#include "../supervisor/record/text_stream.h"
#include "attack_text.h"
#include "html.h"
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void html_flush(struct html *h)
{
	fflush(h->pen.out);
	fflush(h->json);
}

void html_raw(struct html *h, const char *text)
{
	html_flush(h);
	fputs(text, h->out);
}

/* ---- head ---- */

static void write_head(struct html *h, const struct report *r)
{
	struct asset css = asset_report_css();

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "script-src ",
	      h->out);
	html_write_hash(h->out, asset_report_js());
	fputs("; style-src ", h->out);
	html_write_hash(h->out, css);
	fputs("; base-uri 'none'; form-action 'none'\">\n"
	      "<meta name=\"referrer\" content=\"no-referrer\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<title>vitrine session ",
	      h->out);
	fputs(r->session, h->pen.out);
	html_raw(h, "</title>\n<style>");
	fwrite(css.text, 1, css.size, h->out);
	fputs("</style>\n</head>\n<body>\n", h->out);
}

static void write_tile(struct html *h, uint64_t number, const char *words, bool is_bad)
{
	fprintf(h->out, "<li%s><b>%" PRIu64 "</b>%s</li>\n",
		is_bad && number ? " class=\"bad\"" : "", number, words);
}

/* The figures that one looks for first. */
static void write_tiles(struct html *h, const struct report *r)
{
	const struct tally *t = r->tally;
	uint64_t lost = t->gap_others;

	for (size_t i = 0; i < EVENT_CLASS_COUNT; i++)
		lost += t->gap_counts[i];
	html_raw(h, "<ul class=\"tiles\">\n");
	write_tile(h, t->records, "records", false);
	write_tile(h, t->kinds[EVENT_process_exec], "programs run", false);
	write_tile(h, t->kinds[EVENT_file_modify], "files written", false);
	write_tile(h, t->kinds[EVENT_net_connect], "connections asked for", false);
	write_tile(h, r->denied.count + r->denied.left_out, "acts refused", true);
	write_tile(h, attack_text_count(t), "ATT&amp;CK rules hit", false);
	write_tile(h, t->redacted, "records redacted", false);
	write_tile(h, lost + r->damage_count, "records lost or damaged", true);
	html_raw(h, "</ul>\n");
}

static void write_title(struct html *h, const struct report *r)
{
	static const char *const classes[] = {
		[VERDICT_PLAIN] = "plain", [VERDICT_LOOK] = "look", [VERDICT_DOUBT] = "doubt"};
	struct bytes name = event_bytes(&r->tally->start.event, FIELD_name);

	fprintf(h->out, "<header class=\"%s\">\n<h1>Session <code>", classes[report_verdict(r)]);
	fputs(r->session, h->pen.out);
	html_raw(h, "</code> ");
	if (name.data)
		printable_text(h->pen.out, &h->pen.printable, name);
	html_raw(h, "</h1>\n<p class=\"verdict\">");
	report_write_verdict(r, h->pen.out);
	html_raw(h, "</p>\n");
	write_tiles(h, r);
	html_raw(h, "</header>\n<nav><a href=\"#summary\">Summary</a> <a "
		    "href=\"#timeline\">Timeline</a> <a href=\"#tree\">Processes</a> <a "
		    "href=\"#files\">Files</a> <a href=\"#hosts\">Hosts</a> <a "
		    "href=\"#notable\">Refused and missing</a> <a "
		    "href=\"#techniques\">Techniques</a> <a href=\"#events\">Events</a></nav>\n");
}

static int write_summary(struct html *h, const struct report *r)
{
	html_raw(h, "<main>\n<section id=\"summary\">\n<h2>Summary</h2>\n<dl>\n");
	for (const struct report_row *row = report_rows; row->title; row++) {
		struct text_stream cell;
		struct pen pen = h->pen;
		bool any;

		if (text_stream_begin(&cell) < 0)
			return -ENOMEM;
		pen.out = cell.out;
		any = row->write(r, &pen);
		if (text_stream_end(&cell) < 0)
			return -ENOMEM;
		if (any) {
			fprintf(h->out, "<dt>%s</dt><dd>", row->title);
			fputs(cell.text, h->pen.out);
			html_raw(h, "</dd>\n");
		}
		free(cell.text);
	}
	html_raw(h, "</dl>\n</section>\n");
	return 0;
}

/* ---- lanes ---- */

#define LANE_HEIGHT 22
#define LANES_LEFT 80
#define LANES_WIDTH 960

static uint64_t most_of(const uint64_t *counts)
{
	uint64_t most = 0;

	for (size_t i = 0; i < LANES_PARTS; i++)
		most = counts[i] > most ? counts[i] : most;
	return most;
}

/* Bars as one path: the number of elements does not grow with the session. In whole units, so that
 * the bytes are the same everywhere. */
static void write_bars(struct html *h, const uint64_t *counts, size_t used, unsigned int top,
		       const char *class)
{
	uint64_t most = most_of(counts);

	if (!most)
		return;
	fprintf(h->out, "<path class=\"bars %s\" d=\"", class);
	for (size_t i = 0; i < used; i++) {
		unsigned int height, left = (unsigned int)(LANES_LEFT + i * LANES_WIDTH / used);
		unsigned int width =
			(unsigned int)(LANES_LEFT + (i + 1) * LANES_WIDTH / used) - left;

		if (!counts[i])
			continue;
		height = 2 + (unsigned int)((LANE_HEIGHT - 6) * (double)counts[i] / (double)most);
		fprintf(h->out, "M%u %uh%uv-%uh-%uz", left, top + LANE_HEIGHT - 2,
			width ? width : 1, height, width ? width : 1);
	}
	fputs("\"/>\n", h->out);
}

static void write_lanes(struct html *h, const struct report *r)
{
	const struct lanes *l = &r->lanes;
	size_t used = l->used ? l->used : 1;
	unsigned int bottom = LANE_HEIGHT * (EVENT_CLASS_COUNT + 2);

	html_raw(h, "<section id=\"timeline\">\n<h2>Timeline</h2>\n");
	fprintf(h->out,
		"<svg id=\"lanes\" viewBox=\"0 0 %d %u\" role=\"img\" aria-label=\"records of each "
		"class over time\" data-left=\"%d\" data-width=\"%d\" data-high=\"%d\" "
		"data-ns=\"%" PRIu64 "\" data-lanes=\"",
		LANES_LEFT + LANES_WIDTH, bottom + 16, LANES_LEFT, LANES_WIDTH, LANE_HEIGHT,
		used * l->part_ns);
	for (size_t i = 0; i < EVENT_CLASS_COUNT; i++)
		fprintf(h->out, "%s ", event_class_names[i]);
	fputs("limits gaps\">\n", h->out);
	for (unsigned int i = 0; i < EVENT_CLASS_COUNT; i++) {
		fprintf(h->out, "<text x=\"0\" y=\"%u\">%s</text>\n", (i + 1) * LANE_HEIGHT - 6,
			event_class_names[i]);
		write_bars(h, l->counts[i], used, i * LANE_HEIGHT, event_class_names[i]);
	}
	fprintf(h->out,
		"<text x=\"0\" y=\"%u\">limits</text>\n<text x=\"0\" y=\"%u\">gaps</text>\n",
		bottom - LANE_HEIGHT - 6, bottom - 6);
	write_bars(h, l->limits, used, EVENT_CLASS_COUNT * LANE_HEIGHT, "limits");
	write_bars(h, l->gaps, used, (EVENT_CLASS_COUNT + 1) * LANE_HEIGHT, "gaps");
	fprintf(h->out,
		"<path class=\"axis\" d=\"M%d %uh%d\"/>\n<text class=\"time\" x=\"%d\" "
		"y=\"%u\">0</text>\n<text "
		"class=\"time\" x=\"%d\" y=\"%u\" text-anchor=\"end\">",
		LANES_LEFT, bottom, LANES_WIDTH, LANES_LEFT, bottom + 13, LANES_LEFT + LANES_WIDTH,
		bottom + 13);
	write_duration(h->out, used * l->part_ns);
	html_raw(h,
		 "</text>\n</svg>\n<p class=\"note\" id=\"lanes-note\">Each lane is drawn to its "
		 "own height.</p>\n</section>\n");
}

/* ---- events, for the script ---- */

/* ",[3,7]": the numbers of the rules that tag it. */
static void write_rules(struct html *h, const struct event *e)
{
	const struct attack_tag *tags[ATTACK_TAGS_MAX];
	size_t count = attack_tags(e, tags);

	for (size_t i = 0; i < count; i++)
		fprintf(h->json, "%s%zu", i ? "," : ",[", attack_rule_number(tags[i]));
	fputs(count ? "]" : "", h->json);
}

static int write_event_row(void *state, const struct report *r, const struct event *e)
{
	struct html *h = state;
	const struct event_value *pid = event_get(e, FIELD_pid);
	bool known = e->kind != EVENT_KIND_NONE && e->kind < EVENT_KIND_COUNT;

	fprintf(h->json, "%s[%" PRIu64 ",%" PRIu64 ",", h->any ? ",\n" : "\n", e->seq,
		origin_elapsed(&r->origin, e) / 1000);
	if (pid)
		fprintf(h->json, "%" PRIu64, pid->u64);
	else
		fputs("null", h->json);
	fprintf(h->json, ",%u,", known ? (unsigned int)e->kind : 0u);
	h->line.length = 0;
	rewind(h->text);
	line_write(&h->text_pen, e);
	if (fflush(h->text) || ferror(h->text))
		return -ENOMEM;
	if (json_write_string(&h->line, (struct bytes){h->text_bytes, (size_t)ftello(h->text)}) < 0)
		return -ENOMEM;
	fwrite(h->line.text, 1, h->line.length, h->json);
	write_rules(h, e);
	fputc(']', h->json);
	h->any = true;
	return 0;
}

static int write_event_json(void *state, const struct report *r, const struct event *e)
{
	struct html *h = state;

	h->line.length = 0;
	if (json_write_event(&h->line, r->session, e) < 0)
		return -ENOMEM;
	fwrite(h->line.text, 1, h->line.length, h->json);
	return 0;
}

static int write_data(struct html *h, const struct report *r)
{
	static const char type_letters[] = {
		[FIELD_TYPE_U64] = 'n',	 [FIELD_TYPE_I64] = 'n',   [FIELD_TYPE_BOOL] = 'b',
		[FIELD_TYPE_TEXT] = 't', [FIELD_TYPE_TEXTS] = 'a', [FIELD_TYPE_MAP] = 'm',
		[FIELD_TYPE_JSON] = 'j'};
	int error;

	html_raw(h, "<script type=\"application/json\" id=\"kinds\">[\"unknown\"");
	for (size_t i = 1; i < EVENT_KIND_COUNT; i++)
		fprintf(h->out, ",\"%s\"", kind_table[i].name);
	html_raw(h, "]</script>\n<script type=\"application/json\" id=\"fields\">{");
	for (size_t i = 1; i < FIELD_COUNT; i++)
		fprintf(h->out, "%s\"%s\":\"%c\"", i > 1 ? "," : "", field_table[i].name,
			type_letters[field_table[i].type]);
	html_raw(h, "}</script>\n<script type=\"application/json\" id=\"classes\">[\"session\"");
	for (size_t i = 1; i < EVENT_KIND_COUNT; i++)
		fprintf(h->out, ",\"%s\"", event_class_names[kind_table[i].class]);
	html_raw(h, "]</script>\n<script type=\"application/json\" id=\"rules\">[");
	for (size_t i = 0; attack_rule(i); i++)
		fprintf(h->out, "%s[\"%s\",\"%s\",\"%s\",\"%s\",\"%s\"]", i ? ",\n" : "\n",
			attack_rule(i)->technique, attack_rule(i)->name, attack_rule(i)->tactic,
			attack_rule(i)->tactic_name, attack_rule(i)->reason);
	fputs("]</script>\n<script type=\"application/json\" id=\"rows\">[", h->out);
	error = report_each_event(r, write_event_row, h);
	html_raw(h, "]</script>\n<script type=\"application/json\" id=\"lines\">\n");
	if (error == 0)
		error = report_each_event(r, write_event_json, h);
	html_raw(h, "</script>\n");
	return error;
}

static int write_events(struct html *h, const struct report *r)
{
	struct asset js = asset_report_js();
	int error;

	html_raw(h, "<section id=\"events\">\n<h2>Events</h2>\n");
	if (r->tally->records > r->request->events_max)
		fprintf(h->out,
			"<p class=\"loud\">The first %" PRIu64 " of %" PRIu64
			" records are listed here; all of them are counted above.</p>\n",
			r->request->events_max, r->tally->records);
	fputs("<noscript><p>The list of all events needs scripts; <code>vitrine replay</code> "
	      "prints "
	      "it.</p></noscript>\n<div id=\"list\"></div>\n</section>\n</main>\n",
	      h->out);
	error = write_data(h, r);
	fputs("<script>", h->out);
	fwrite(js.text, 1, js.size, h->out);
	fputs("</script>\n</body>\n</html>\n", h->out);
	return error;
}

static int html_open(struct html *h, FILE *out)
{
	h->out = out;
	h->pen.printable.limit = PEN_VALUE_MAX;
	h->text_pen = h->pen;
	h->pen.out = html_escaping(out);
	h->json = html_escaping_json(out);
	h->text = h->text_pen.out = open_memstream(&h->text_bytes, &h->text_size);
	return h->pen.out && h->json && h->text ? 0 : -ENOMEM;
}

static void html_close(struct html *h)
{
	if (h->pen.out)
		fclose(h->pen.out);
	if (h->json)
		fclose(h->json);
	if (h->text)
		fclose(h->text);
	free(h->text_bytes);
	json_buffer_free(&h->line);
}

int report_write_html(const struct report *r, FILE *out)
{
	struct html h = {0};
	int error = html_open(&h, out);

	if (error == 0) {
		write_head(&h, r);
		write_title(&h, r);
		error = write_summary(&h, r);
	}
	if (error == 0) {
		write_lanes(&h, r);
		error = html_write_tables(&h, r);
	}
	if (error == 0)
		error = write_events(&h, r);
	html_close(&h);
	return error;
}
