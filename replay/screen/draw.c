/*
 * The picture: a title, the lanes, the list or the tree, below or beside it the values or the
 * terminal, and a line for what was said and is typed. What has no room is left out, lanes first.
 */
#include "state.h"

#include "../units.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define SMALLEST_HEIGHT 4
#define SMALLEST_WIDTH 24
#define LANES_FROM_HEIGHT 26
#define LOWER_FROM_HEIGHT 13
#define BESIDE_FROM_WIDTH 150
#define LABEL_COLUMNS 16

static void title_end(char *text, size_t size, const struct screen *s)
{
	double speed = s->speed;

	snprintf(text, size, "%s %gx ", s->is_playing ? "playing" : "paused", speed);
}

/* ---- title ---- */

static void draw_title(struct screen *s, int width)
{
	uint64_t elapsed = elapsed_of(s, s->cursor);
	struct message *m = &s->message;
	const char *state = manifest_state_name(&s->session->manifest);
	char right[120], how[40];
	int used;

	m->pen.color = false;
	rewind(m->pen.out);
	fprintf(m->pen.out, " session %s", s->session->manifest.id);
	if (s->session->manifest.name) {
		fputs("  ", m->pen.out);
		printable_text(m->pen.out, &m->pen.printable, bytes_of(s->session->manifest.name));
	}
	fprintf(m->pen.out, "  %s", s->survey.has_end ? "ended" : state);
	if (s->survey.damages)
		fprintf(m->pen.out, "  DAMAGED in %" PRIu64 " places", s->survey.damages);
	fflush(m->pen.out);
	used = paint_text(0, 0, width, STYLE_BOLD, true, true,
			  (struct bytes){m->text, (size_t)ftello(m->pen.out)});
	title_end(how, sizeof(how), s);
	snprintf(right, sizeof(right), "record %" PRIu64 " of %" PRIu64 "  %" PRIu64 ".%06u s  %s",
		 s->cursor, s->last, elapsed / NS_PER_S, (unsigned int)(elapsed % NS_PER_S / 1000),
		 how);
	if (used + (int)strlen(right) < width)
		paint_string(0, width - (int)strlen(right), (int)strlen(right), STYLE_BOLD, true,
			     false, right);
}

/* ---- lanes ---- */

struct lane {
	const char *name;
	const uint64_t *counts;
	enum style style;
};

static uint64_t part_count(const struct lanes *l, const uint64_t *counts, int column, int columns)
{
	size_t from = (size_t)column * l->used / (size_t)columns;
	size_t to = ((size_t)column + 1) * l->used / (size_t)columns;
	uint64_t sum = 0;

	for (size_t i = from; i < (to > from ? to : from + 1) && i < LANES_PARTS; i++)
		sum += counts[i];
	return sum;
}

/* Eight heights by the logarithm: one record is seen beside ten thousand. */
static const char *bar(uint64_t count)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const plain[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
	size_t height = count ? 1 + (size_t)(log2((double)count) / 2) : 0;

	height = height > 8 ? 8 : height;
	return paint_has_utf8() ? blocks[height] : plain[height];
}

static void draw_lane(struct screen *s, const struct lane *lane, int y, int width, int here)
{
	int columns = width - LABEL_COLUMNS;

	paint_string(y, 1, LABEL_COLUMNS - 1, STYLE_DIM, false, false, lane->name);
	for (int x = 0; x < columns; x++) {
		uint64_t count = part_count(&s->survey.lanes, lane->counts, x, columns);
		bool is_here = x == here;

		if (count || is_here)
			paint_string(y, LABEL_COLUMNS + x, 1, lane->style, is_here, false,
				     bar(count));
	}
}

static int draw_lanes(struct screen *s, int y, int width)
{
	const struct lanes *l = &s->survey.lanes;
	const struct lane list[] = {
		{"processes", l->counts[EVENT_CLASS_process], STYLE_PROCESS},
		{"files", l->counts[EVENT_CLASS_file], STYLE_FILE},
		{"network", l->counts[EVENT_CLASS_net], STYLE_NET},
		{"names", l->counts[EVENT_CLASS_dns], STYLE_DNS},
		{"terminal", l->counts[EVENT_CLASS_output], STYLE_PLAIN},
		{"policy", l->counts[EVENT_CLASS_policy], STYLE_POLICY},
		{"limits", l->limits, STYLE_POLICY},
		{"holes", l->gaps, STYLE_LOUD},
	};
	int count = sizeof(list) / sizeof(list[0]), columns = width - LABEL_COLUMNS, here = -1;

	if (l->used && l->part_ns)
		here = (int)(elapsed_of(s, s->cursor) / l->part_ns * (uint64_t)columns / l->used);
	for (int i = 0; i < count; i++)
		draw_lane(s, &list[i], y + i, width, here);
	return count;
}

/* ---- list ---- */

/* The row after @seq; where the person is stands there whatever the filter says. */
static uint64_t shown_next(const struct screen *s, uint64_t seq)
{
	uint64_t next = rows_next(s, seq);

	return s->cursor > seq && (!next || s->cursor < next) ? s->cursor : next;
}

static uint64_t shown_before(const struct screen *s, uint64_t seq)
{
	uint64_t before = rows_before(s, seq);

	return s->cursor < seq && s->cursor > before ? s->cursor : before;
}

/* Move the top so that the cursor can be seen. */
static void keep_in_view(struct screen *s, int height)
{
	uint64_t at = s->cursor;

	for (int i = 1; i < height && at; i++) {
		if (at == s->top)
			return;
		at = shown_before(s, at);
	}
	if (at && at == s->top)
		return;
	if (s->top > s->cursor || !at) {
		s->top = s->top > s->cursor || !s->top ? s->cursor : shown_next(s, 0);
		return;
	}
	s->top = at;
}

static void write_row(struct screen *s, uint64_t seq, enum style *ret_style)
{
	struct pen *pen = &s->message.pen;
	const char *why = NULL;
	struct event e;
	uint64_t elapsed;
	bool known;

	*ret_style = STYLE_LOUD;
	if (!pages_get(s->pages, seq, &e, &why)) {
		fprintf(pen->out, "%13s %7s  %-19s !! record %" PRIu64 " cannot be read: %s", "",
			"", "damage", seq, why);
		return;
	}
	known = e.kind != EVENT_KIND_NONE && e.kind < EVENT_KIND_COUNT;
	elapsed = origin_elapsed(&s->origin, &e);
	fprintf(pen->out, "%6" PRIu64 ".%06u", elapsed / NS_PER_S,
		(unsigned int)(elapsed % NS_PER_S / 1000));
	if (event_get(&e, FIELD_pid))
		fprintf(pen->out, " %7" PRIu64 "  ", event_u64(&e, FIELD_pid, 0));
	else
		fprintf(pen->out, " %7s  ", "");
	*ret_style = known ? kind_style(e.kind) : STYLE_LOUD;
	fprintf(pen->out, "%-19s ", known ? kind_table[e.kind].name : "unknown");
	line_write(pen, &e);
}

static void draw_row(struct screen *s, uint64_t seq, int y, struct area area)
{
	bool is_here = seq == s->cursor;
	struct message *m = &s->message;
	const struct remark *note = notes_about(&s->notes, seq, false);
	enum style style;

	m->pen.color = !is_here;
	rewind(m->pen.out);
	write_row(s, seq, &style);
	fflush(m->pen.out);
	if (note)
		paint_string(y, area.x, 1, STYLE_POLICY, is_here, false, note->text ? "+" : "*");
	paint_text(y, area.x + 1, area.width - 1, style, is_here, is_here,
		   (struct bytes){m->text, (size_t)ftello(m->pen.out)});
}

/* No empty lines at the end while there are records before the top. */
static void fill_up(struct screen *s, int height)
{
	uint64_t at = s->top ? s->top : shown_next(s, 0);
	int lines = 0;

	while (at && lines < height) {
		lines++;
		at = shown_next(s, at);
	}
	for (; lines < height; lines++) {
		uint64_t before = shown_before(s, s->top);

		if (!before)
			return;
		s->top = before;
	}
}

static void draw_list(struct screen *s, struct area area)
{
	uint64_t seq;

	keep_in_view(s, area.height);
	fill_up(s, area.height);
	seq = shown_next(s, s->top ? s->top - 1 : 0);
	for (int y = 0; y < area.height && seq; y++) {
		draw_row(s, seq, area.y + y, area);
		seq = shown_next(s, seq);
	}
}

/* ---- tree ---- */

#define INDENT_MOST 40

static void draw_branch(struct screen *s, const struct branch *b, int y, struct area area,
			bool is_here)
{
	const struct tree_node *node = tree_node(s->survey.tree, b->node);
	unsigned int indent = 2 * (b->depth < INDENT_MOST ? b->depth : INDENT_MOST);
	struct pen *pen = &s->message.pen;
	const char *before = " ";

	pen->color = !is_here;
	rewind(pen->out);
	fprintf(pen->out, " %*s%s ", (int)indent, "",
		!b->has_children	      ? " "
		: s->branches.folded[b->node] ? "+"
					      : "-");
	if (node->has_pid)
		fprintf(pen->out, "%" PRIu64, node->pid);
	else
		printable_text(pen->out, &pen->printable, tree_key(s->survey.tree, b->node));
	for (const struct tree_exec *exec = node->execs; exec; exec = exec->next) {
		fputs(before, pen->out);
		line_write_words(pen, (struct bytes){exec->argv, exec->size});
		before = " then ";
	}
	if (!node->execs)
		fputs(node->fork_seen ? " (fork)" : " (no program in the record)", pen->out);
	if (node->has_status && node->status) {
		pen_style(pen, STYLE_LOUD);
		fprintf(pen->out, "  %s %" PRIu64, node->has_signal ? "signal" : "exit",
			node->status);
		pen_style(pen, STYLE_PLAIN);
	}
	pen_style(pen, STYLE_DIM);
	if (node->files)
		fprintf(pen->out, "  files %" PRIu64, node->files);
	if (node->connections)
		fprintf(pen->out, "  connections %" PRIu64, node->connections);
	if (node->names)
		fprintf(pen->out, "  names %" PRIu64, node->names);
	pen_style(pen, STYLE_PLAIN);
	fflush(pen->out);
	paint_text(y, area.x, area.width, STYLE_PLAIN, is_here, is_here,
		   (struct bytes){s->message.text, (size_t)ftello(pen->out)});
}

static void draw_tree(struct screen *s, struct area area)
{
	struct branches *b = &s->branches;

	if (b->nodes != tree_count(s->survey.tree))
		branches_lay_out(b, s->survey.tree, s->hides_noise);
	if (b->selected < b->top)
		b->top = b->selected;
	if (b->selected >= b->top + (size_t)area.height)
		b->top = b->selected - (size_t)area.height + 1;
	for (int y = 0; y < area.height && b->top + (size_t)y < b->count; y++) {
		size_t line = b->top + (size_t)y;

		draw_branch(s, &b->lines[line], area.y + y, area, line == b->selected);
	}
}

/* ---- values and terminal ---- */

static void draw_rule(struct screen *s, int y, int x, int width, const char *title)
{
	const char *dash = paint_has_utf8() ? "─" : "-";

	(void)s;
	for (int i = 0; i < width; i++)
		paint_string(y, x + i, 1, STYLE_DIM, false, false, dash);
	paint_string(y, x + 2, width - 2, STYLE_DIM, false, false, title);
}

static void fill_detail(struct screen *s, int width)
{
	const char *why = NULL;
	struct event e;

	if (s->detail.seq == s->cursor && s->detail.width == width)
		return;
	if (pages_get(s->pages, s->cursor, &e, &why))
		detail_fill(&s->detail, &s->message, &s->notes, &e, width);
	else
		detail_fill_unreadable(&s->detail, s->cursor, why);
	s->detail.width = width;
}

static void draw_detail(struct screen *s, struct area area)
{
	struct detail *d = &s->detail;

	fill_detail(s, area.width - 1);
	if (d->selected >= d->count)
		d->selected = 0;
	if (d->selected < d->top)
		d->top = d->selected;
	if (d->selected >= d->top + (size_t)area.height)
		d->top = d->selected - (size_t)area.height + 1;
	for (int y = 0; y < area.height && d->top + (size_t)y < d->count; y++) {
		const struct detail_row *row = &d->rows[d->top + (size_t)y];
		bool is_here = s->in_detail && d->top + (size_t)y == d->selected;
		bool is_loud = row->label[0] >= 'A' && row->label[0] <= 'Z';

		paint_string(area.y + y, area.x + 1, LABEL_COLUMNS - 1, STYLE_DIM, false, false,
			     row->label);
		paint_string(area.y + y, area.x + LABEL_COLUMNS, area.width - LABEL_COLUMNS,
			     is_loud ? STYLE_POLICY : STYLE_PLAIN, is_here, is_here, row->text);
	}
}

static void draw_lower(struct screen *s, struct area area)
{
	const char *title = s->lower == LOWER_DETAIL ? " values (tab, enter: filter by one) "
			    : picture_is_partial(s->picture)
				    ? " terminal (what came before is left out) "
				    : " terminal ";

	draw_rule(s, area.y, area.x, area.width, title);
	area.y++;
	area.height--;
	if (s->lower == LOWER_DETAIL)
		draw_detail(s, area);
	else
		picture_draw(s->picture, area);
}

/* ---- help, and the last line ---- */

static void draw_help(struct screen *s, struct area area)
{
	const char *doc, *name;
	size_t count = 0;

	while (keys_help(count, &doc))
		count++;
	if (s->help_top > (int)count - area.height)
		s->help_top = (int)count > area.height ? (int)count - area.height : 0;
	for (int y = 0; y < area.height; y++) {
		name = keys_help((size_t)s->help_top + (size_t)y, &doc);
		if (!name)
			break;
		paint_string(area.y + y, 2, 12, STYLE_BOLD, false, false, name);
		paint_string(area.y + y, 14, area.width - 14, STYLE_PLAIN, false, false, doc);
	}
}

/* "filter: kind:exec  1,203 records, 43 % looked at". */
static void draw_status(struct screen *s, int y, int width)
{
	struct message *m = &s->message;
	bool is_busy = s->is_filtered && s->last && s->filter.looked < s->last &&
		       s->filter.part != SCAN_FOLLOW;

	m->pen.color = false;
	rewind(m->pen.out);
	if (s->filter_text.size) {
		fputs(" filter: ", m->pen.out);
		printable_text(m->pen.out, &m->pen.printable, bytes_of(s->filter_text.text));
	}
	if (s->hides_noise)
		fputs(" (everyday acts hidden)", m->pen.out);
	if (s->is_filtered)
		fprintf(m->pen.out, "  %" PRIu64 " records", s->filter.found.count);
	if (is_busy)
		fprintf(m->pen.out, ", %" PRIu64 " %% looked at", s->filter.looked * 100 / s->last);
	if (s->search_step)
		fputs("  searching", m->pen.out);
	if (s->survey.seq < s->last)
		fprintf(m->pen.out, "  lanes and tree: %" PRIu64 " %%",
			s->survey.seq * 100 / s->last);
	fflush(m->pen.out);
	paint_text(y, 0, width, STYLE_PLAIN, false, true,
		   (struct bytes){m->text, (size_t)ftello(m->pen.out)});
	if (width > 40)
		paint_string(y, width - 8, 8, STYLE_DIM, false, false, " ? help ");
}

static void draw_prompt(struct screen *s, int y, int width)
{
	const struct prompt *p = &s->prompt;
	int title = paint_string(y, 0, width, STYLE_BOLD, false, true, p->title);
	struct bytes before = {p->text, p->at}, shown;
	size_t from = 0;

	/* What lies before the cursor has to be seen: leave out as much as does not fit. */
	s->message.pen.color = false;
	for (;;) {
		shown = message_text(&s->message,
				     (struct bytes){p->text + from, before.size - from});
		if (paint_fitting(shown, width - title - 1) >= shown.size || from >= before.size)
			break;
		from++;
	}
	paint_cursor(y, title + paint_text(y, title, width - title - 1, STYLE_PLAIN, false, false,
					   shown));
	shown = message_text(&s->message, (struct bytes){p->text + from, p->size - from});
	paint_text(y, title, width - title - 1, STYLE_PLAIN, false, false, shown);
}

static void draw_last(struct screen *s, int y, int width)
{
	if (s->prompt.title)
		draw_prompt(s, y, width);
	else if (s->said[0])
		paint_string(y, 1, width - 1, s->said_is_bad ? STYLE_LOUD : STYLE_PLAIN, false,
			     true, s->said);
	else
		draw_status(s, y, width);
}

/* ---- all of it ---- */

static struct area split(struct screen *s, struct area *main)
{
	struct area lower = {0};

	/* The tree is about processes, not about the record under the cursor. */
	if (s->lower == LOWER_NOTHING || s->main == MAIN_TREE ||
	    main->height < LOWER_FROM_HEIGHT - 3)
		return lower;
	lower = *main;
	if (main->width >= BESIDE_FROM_WIDTH) {
		main->width = main->width * 11 / 20;
		lower.x = main->width + 1;
		lower.width -= lower.x;
		return lower;
	}
	lower.height = s->lower == LOWER_PICTURE ? main->height / 2 : main->height * 2 / 5;
	main->height -= lower.height;
	lower.y += main->height;
	return lower;
}

static void draw_panes(struct screen *s, struct area main)
{
	struct area lower;

	if (s->shows_help) {
		draw_help(s, main);
		return;
	}
	if (!s->hides_lanes && main.height + 2 >= LANES_FROM_HEIGHT && main.width > 40) {
		int used = draw_lanes(s, main.y, main.width);

		main.y += used;
		main.height -= used;
		draw_rule(s, main.y, 0, main.width,
			  s->main == MAIN_TREE ? " processes " : " records ");
		main.y++;
		main.height--;
	}
	lower = split(s, &main);
	s->list_height = main.height;
	if (s->main == MAIN_TREE)
		draw_tree(s, main);
	else
		draw_list(s, main);
	if (lower.height > 1)
		draw_lower(s, lower);
}

void draw(struct screen *s)
{
	struct area all = paint_size();

	paint_begin();
	if (all.height < SMALLEST_HEIGHT || all.width < SMALLEST_WIDTH) {
		if (all.height > 0)
			paint_string(0, 0, all.width, STYLE_PLAIN, false, false, "too small");
	} else {
		draw_title(s, all.width);
		draw_panes(s, (struct area){1, 0, all.height - 2, all.width});
		draw_last(s, all.height - 1, all.width);
	}
	paint_end();
}
