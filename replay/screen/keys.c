/*
 * What keys do: one table, from which the help is made too.
 */
#include "state.h"

#include <curses.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CONTROL(letter) ((letter)&0x1f)
#define ESCAPE 27
#define SPEED_MOST 1024.0
#define SEEK_NS (5 * NS_PER_S)

struct key {
	int codes[3];
	const char *name, *doc;
	int (*run)(struct screen *s, int argument);
	int argument;
};

/* ---- moving ---- */

static void move_rows(struct screen *s, int lines)
{
	for (; lines > 0; lines--) {
		uint64_t next = rows_next(s, s->cursor);

		s->cursor = next ? next : s->cursor;
	}
	for (; lines < 0; lines++) {
		uint64_t before = rows_before(s, s->cursor);

		s->cursor = before ? before : s->cursor;
	}
}

static size_t moved(size_t at, size_t count, int lines)
{
	if (lines < 0)
		return at > (size_t)-lines ? at - (size_t)-lines : 0;
	at += (size_t)lines;
	return at < count ? at : count ? count - 1 : 0;
}

static int move_lines(struct screen *s, int lines)
{
	if (s->shows_help)
		s->help_top = s->help_top + lines > 0 ? s->help_top + lines : 0;
	else if (s->in_detail)
		s->detail.selected = moved(s->detail.selected, s->detail.count, lines);
	else if (s->main == MAIN_TREE)
		s->branches.selected = moved(s->branches.selected, s->branches.count, lines);
	else
		move_rows(s, lines);
	return 0;
}

static int move_pages(struct screen *s, int pages)
{
	int height = s->in_detail ? 5 : s->list_height > 1 ? s->list_height - 1 : 1;

	return move_lines(s, pages * height);
}

static int go_start(struct screen *s, int argument)
{
	(void)argument;
	if (s->main == MAIN_TREE)
		s->branches.selected = 0;
	else if (rows_next(s, 0))
		s->cursor = rows_next(s, 0);
	return 0;
}

static int go_end(struct screen *s, int argument)
{
	(void)argument;
	if (s->main == MAIN_TREE)
		s->branches.selected = s->branches.count ? s->branches.count - 1 : 0;
	else if (rows_before(s, UINT64_MAX))
		s->cursor = rows_before(s, UINT64_MAX);
	return 0;
}

/* A negative argument goes back; its size less 1 is the landmark. */
static int go_landmark(struct screen *s, int argument)
{
	static const char *const names[LANDMARK_COUNT] = {
		[LANDMARK_GAP] = "hole in the record", [LANDMARK_DENIAL] = "refusal or limit",
		[LANDMARK_REDACTED] = "redaction",     [LANDMARK_STREAM] = "output",
		[LANDMARK_ATTACK] = "technique",
	};
	enum landmark which = (enum landmark)(abs(argument) - 1);
	const struct numbers *set = &s->survey.landmarks[which];
	uint64_t seq = argument > 0 ? numbers_next(set, s->cursor) : numbers_before(set, s->cursor);

	s->main = MAIN_LIST;
	if (seq) {
		/* It may be one that the filter hides: then the list stands beside it. */
		s->cursor = seq;
		s->settles = false;
		say(s, false, "%s", names[which]);
	} else {
		say(s, true, "no %s %s", names[which],
		    argument < 0	? "before this"
		    : s->survey.has_end ? "behind this"
					: "behind this so far");
	}
	return 0;
}

static int go_note(struct screen *s, int argument)
{
	uint64_t best = 0;

	for (size_t i = 0; i < s->notes.count; i++) {
		uint64_t seq = s->notes.list[i].seq;

		if (s->notes.list[i].is_withdrawn)
			continue;
		if (argument > 0 ? seq > s->cursor && (!best || seq < best)
				 : seq < s->cursor && seq > best)
			best = seq;
	}
	if (best)
		s->cursor = best;
	else
		say(s, true, "no note or bookmark %s this", argument > 0 ? "behind" : "before");
	return 0;
}

static int seek(struct screen *s, int argument)
{
	uint64_t at = elapsed_of(s, s->cursor);

	if (argument > 0)
		at += SEEK_NS;
	else
		at = at > SEEK_NS ? at - SEEK_NS : 0;
	time_go(s, at);
	s->clock_ns = elapsed_of(s, s->cursor);
	return 0;
}

static int go_typed(struct screen *s, const char *text)
{
	struct moment moment;
	uint64_t number = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9' && number < UINT64_MAX / 16; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	if (at > text && !*at) {
		rows_go(s, number);
	} else if (*text && moment_parse(text, &moment) == 0) {
		if (moment.absolute)
			moment.ns =
				moment.ns > s->origin.time_ns ? moment.ns - s->origin.time_ns : 0;
		time_go(s, moment.ns);
	} else if (*text) {
		say(s, true, "this is neither the number of a record nor " MOMENT_ALLOWED);
	}
	s->clock_ns = elapsed_of(s, s->cursor);
	return 0;
}

/* ---- typing ---- */

static void ask(struct screen *s, const char *title, const char *text,
		int (*done)(struct screen *s, const char *text))
{
	prompt_set(&s->prompt, text);
	s->prompt.title = title;
	s->prompt_done = done;
	s->said[0] = 0;
}

static int filter_typed(struct screen *s, const char *text)
{
	char before[PROMPT_MAX + 1];
	int r;

	memcpy(before, s->filter_text.text, sizeof(before));
	prompt_set(&s->filter_text, text);
	s->said[0] = 0;
	r = rows_filter(s);
	if (s->said_is_bad && s->said[0])
		prompt_set(&s->filter_text, before);
	return r;
}

static int ask_filter(struct screen *s, int argument)
{
	(void)argument;
	ask(s, "filter: ", s->filter_text.text, filter_typed);
	return 0;
}

static int ask_search(struct screen *s, int argument)
{
	(void)argument;
	ask(s, "search: ", "", rows_search);
	return 0;
}

static int ask_place(struct screen *s, int argument)
{
	(void)argument;
	ask(s, "go to record or time: ", "", go_typed);
	return 0;
}

static int note_typed(struct screen *s, const char *text)
{
	int r = *text ? notes_add(&s->notes, s->session->manifest.id, s->cursor, text) : 0;

	if (r < 0)
		say(s, true, "the note cannot be kept: %s", strerror(-r));
	detail_clear(&s->detail);
	return 0;
}

static int ask_note(struct screen *s, int argument)
{
	(void)argument;
	ask(s, "note: ", "", note_typed);
	return 0;
}

static int toggle_mark(struct screen *s, int argument)
{
	const struct remark *mark = notes_about(&s->notes, s->cursor, true);
	int r;

	(void)argument;
	r = mark ? notes_withdraw(&s->notes, s->session->manifest.id, mark->number)
		 : notes_add(&s->notes, s->session->manifest.id, s->cursor, NULL);
	if (r < 0)
		say(s, true, "the bookmark cannot be kept: %s", strerror(-r));
	detail_clear(&s->detail);
	return 0;
}

/* ---- filters ---- */

static int find(struct screen *s, int argument)
{
	return rows_find(s, argument);
}

static int clear_filter(struct screen *s, int argument)
{
	(void)argument;
	prompt_set(&s->filter_text, "");
	return rows_filter(s);
}

static int toggle_noise(struct screen *s, int argument)
{
	int r;

	(void)argument;
	s->hides_noise = !s->hides_noise;
	s->branches.nodes = 0;
	r = rows_filter(s);
	say(s, false, s->hides_noise ? "everyday acts are hidden" : "everything is shown");
	return r;
}

static int of_process(struct screen *s, bool opposite)
{
	char *term = NULL;
	int r = 0;

	if (s->branches.count)
		term = term_for("proc", tree_key(s->survey.tree,
						 s->branches.lines[s->branches.selected].node));
	if (term) {
		s->main = MAIN_LIST;
		r = rows_narrow(s, term, opposite);
		rows_go(s, 1);
	}
	free(term);
	return r;
}

static int pivot(struct screen *s, int argument)
{
	const struct detail *d = &s->detail;

	if (s->main == MAIN_TREE && !s->in_detail)
		return of_process(s, argument < 0);
	if (!s->in_detail) {
		s->lower = LOWER_DETAIL;
		s->in_detail = true;
		return 0;
	}
	if (d->selected >= d->count || !d->rows[d->selected].term) {
		say(s, true, "there is nothing to look for by this");
		return 0;
	}
	s->in_detail = false;
	return rows_narrow(s, d->rows[d->selected].term, argument < 0);
}

/* ---- panes ---- */

static int toggle_tree(struct screen *s, int argument)
{
	struct event e;

	(void)argument;
	s->in_detail = false;
	s->main = s->main == MAIN_TREE ? MAIN_LIST : MAIN_TREE;
	if (s->main == MAIN_LIST)
		return 0;
	if (branches_lay_out(&s->branches, s->survey.tree, s->hides_noise) < 0)
		return -ENOMEM;
	if (pages_get(s->pages, s->cursor, &e, NULL))
		branches_select(&s->branches, s->survey.tree, event_bytes(&e, FIELD_proc));
	return 0;
}

static int fold(struct screen *s, int argument)
{
	if (s->main == MAIN_TREE)
		branches_fold(&s->branches, argument != 0);
	s->branches.nodes = 0;
	return 0;
}

static int fold_all(struct screen *s, int argument)
{
	if (s->main == MAIN_TREE)
		branches_fold_all(&s->branches, argument != 0);
	s->branches.nodes = 0;
	return 0;
}

static int toggle_focus(struct screen *s, int argument)
{
	(void)argument;
	s->main = MAIN_LIST;
	if (s->lower == LOWER_NOTHING || s->lower == LOWER_PICTURE)
		s->lower = LOWER_DETAIL;
	s->in_detail = !s->in_detail;
	return 0;
}

static int show_lower(struct screen *s, int argument)
{
	s->in_detail = false;
	s->lower =
		s->lower == (enum lower_pane)argument ? LOWER_NOTHING : (enum lower_pane)argument;
	return 0;
}

static int toggle_lanes(struct screen *s, int argument)
{
	(void)argument;
	s->hides_lanes = !s->hides_lanes;
	return 0;
}

static int toggle_help(struct screen *s, int argument)
{
	(void)argument;
	s->shows_help = !s->shows_help;
	s->help_top = 0;
	return 0;
}

static int change_speed(struct screen *s, int argument)
{
	s->speed = argument > 0 ? s->speed * 2 : s->speed / 2;
	if (s->speed > SPEED_MOST)
		s->speed = SPEED_MOST;
	if (s->speed < 1 / SPEED_MOST)
		s->speed = 1 / SPEED_MOST;
	return 0;
}

static int play(struct screen *s, int argument)
{
	(void)argument;
	return time_play(s);
}

static int leave(struct screen *s, int argument)
{
	(void)argument;
	if (s->shows_help)
		s->shows_help = false;
	else if (s->in_detail)
		s->in_detail = false;
	else if (s->main == MAIN_TREE)
		s->main = MAIN_LIST;
	return 0;
}

static int quit(struct screen *s, int argument)
{
	(void)argument;
	if (s->shows_help)
		s->shows_help = false;
	else
		s->wants_end = true;
	return 0;
}

/* clang-format off */
static const struct key keys[] = {
	{{'j', KEY_DOWN}, "j, down", "next line", move_lines, 1},
	{{'k', KEY_UP}, "k, up", "line before", move_lines, -1},
	{{KEY_NPAGE, CONTROL('f')}, "page down", "a page further", move_pages, 1},
	{{KEY_PPAGE, CONTROL('b')}, "page up", "a page back", move_pages, -1},
	{{'g', KEY_HOME}, "g, home", "to the start", go_start},
	{{'G', KEY_END}, "G, end", "to the end", go_end},
	{{':'}, ":", "to the record of a number, or to a time (217, 1.5s, 2024-05-01T12:00:00Z)", ask_place},
	{{'h'}, "h", "to the next hole in the record: gaps, damage, lost sensors", go_landmark, LANDMARK_GAP + 1},
	{{'H'}, "H", "to the hole before", go_landmark, -(LANDMARK_GAP + 1)},
	{{'d'}, "d", "to the next refusal or limit", go_landmark, LANDMARK_DENIAL + 1},
	{{'D'}, "D", "to the one before", go_landmark, -(LANDMARK_DENIAL + 1)},
	{{'r'}, "r", "to the next redaction", go_landmark, LANDMARK_REDACTED + 1},
	{{'R'}, "R", "to the one before", go_landmark, -(LANDMARK_REDACTED + 1)},
	{{'a'}, "a", "to the next record with an ATT&CK technique", go_landmark, LANDMARK_ATTACK + 1},
	{{'A'}, "A", "to the one before", go_landmark, -(LANDMARK_ATTACK + 1)},
	{{'f'}, "f", "filter, in the language of vitrine-replay(1): kind:exec argv~curl not exit:0", ask_filter},
	{{'F'}, "F", "no filter", clear_filter},
	{{'o'}, "o", "hide everyday acts, or show them", toggle_noise},
	{{'/'}, "/", "search, in the same language; a bare word is looked for in every text", ask_search},
	{{'n'}, "n", "next that is found", find, 1},
	{{'N'}, "N", "found before", find, -1},
	{{'\t'}, "tab", "into the values of the record, and back", toggle_focus},
	{{'\r', '\n', KEY_ENTER}, "enter", "filter by the value, or by the process", pivot, 1},
	{{'-'}, "-", "filter by all but the value", pivot, -1},
	{{'t'}, "t", "process tree, or list", toggle_tree},
	{{KEY_RIGHT}, "right", "unfold the process", fold, 0},
	{{KEY_LEFT}, "left", "fold it", fold, 1},
	{{'e'}, "e", "unfold all", fold_all, 0},
	{{'E'}, "E", "fold all", fold_all, 1},
	{{'v'}, "v", "what the terminal showed at this record", show_lower, LOWER_PICTURE},
	{{'i'}, "i", "the values of the record", show_lower, LOWER_DETAIL},
	{{'l'}, "l", "lanes", toggle_lanes},
	{{' '}, "space", "play, or pause", play},
	{{'+', '='}, "+", "twice as fast", change_speed, 1},
	{{'_'}, "_", "half as fast", change_speed, -1},
	{{'>'}, ">", "five seconds further", seek, 1},
	{{'<'}, "<", "five seconds back", seek, -1},
	{{'m'}, "m", "bookmark, or take it back", toggle_mark},
	{{'c'}, "c", "write a note about the record (kept beside the evidence)", ask_note},
	{{'\''}, "'", "to the next note or bookmark", go_note, 1},
	{{'"'}, "\"", "to the one before", go_note, -1},
	{{ESCAPE}, "escape", "out of what was opened", leave},
	{{'?', KEY_F(1)}, "?, F1", "this help", toggle_help},
	{{'q'}, "q", "quit", quit},
};
/* clang-format on */

const char *keys_help(size_t number, const char **ret_doc)
{
	if (number >= sizeof(keys) / sizeof(keys[0]))
		return NULL;
	*ret_doc = keys[number].doc;
	return keys[number].name;
}

/* ---- what was pressed ---- */

static int prompt_key(struct screen *s, int key, bool is_function)
{
	struct prompt *p = &s->prompt;

	if (!is_function && key >= ' ' && key != 127) {
		prompt_insert(p, (unsigned int)key);
		return 0;
	}
	switch (key) {
	case '\r':
	case '\n':
	case KEY_ENTER:
		p->title = NULL;
		return s->prompt_done(s, p->text);
	case ESCAPE:
		p->title = NULL;
		return 0;
	case KEY_BACKSPACE:
	case 127:
	case CONTROL('h'):
		prompt_erase(p);
		return 0;
	case CONTROL('u'):
		prompt_set(p, "");
		return 0;
	case CONTROL('w'):
		prompt_erase_word(p);
		return 0;
	case KEY_LEFT:
		prompt_move(p, -1);
		return 0;
	case KEY_RIGHT:
		prompt_move(p, 1);
		return 0;
	case KEY_HOME:
	case CONTROL('a'):
		p->at = 0;
		return 0;
	case KEY_END:
	case CONTROL('e'):
		p->at = p->size;
		return 0;
	default:
		return 0;
	}
}

int keys_take(struct screen *s, int key, bool is_function)
{
	if (s->prompt.title)
		return prompt_key(s, key, is_function);
	s->said[0] = 0;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		for (size_t k = 0; k < 3 && keys[i].codes[k]; k++)
			if (keys[i].codes[k] == key && is_function == (key >= KEY_MIN))
				return keys[i].run(s, keys[i].argument);
	return 0;
}
