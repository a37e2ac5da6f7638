/*
 * Everything that the full-screen replay holds, and what its parts ask of one another.
 */
#pragma once

#include "branches.h"
#include "detail.h"
#include "pages.h"
#include "paint.h"
#include "picture.h"
#include "prompt.h"
#include "scan.h"
#include "screen.h"
#include "survey.h"

#include "../message.h"
#include "../notes.h"

enum main_pane { MAIN_LIST, MAIN_TREE };
enum lower_pane { LOWER_DETAIL, LOWER_PICTURE, LOWER_NOTHING, LOWER_COUNT };

struct screen {
	struct session *session;
	const struct screen_options *options;
	bool wants_end;

	struct pages *pages;
	struct survey survey;
	struct scan filter, search; /* filter: not open where all is shown */
	struct prompt filter_text;  /* what the person filters by; the scan may hide noise beside */
	bool hides_noise, is_filtered;
	struct notes notes;
	struct message message;
	struct detail detail;
	struct picture *picture;
	struct branches branches;

	uint64_t cursor, top; /* records: where the person is, and the first line of the list */
	uint64_t last;	      /* number of the last record there is */
	struct origin origin;
	bool settles;	 /* the filter is new: the person goes to where it lets something pass */
	int search_step; /* a search that has not found anything yet goes on: 1, -1; 0: none */

	enum main_pane main;
	enum lower_pane lower;
	bool in_detail, hides_lanes, shows_help;
	int list_height; /* lines of the main pane, as it was drawn last */
	int help_top;

	bool is_playing;
	double speed;
	uint64_t clock_ns, ticked_ns; /* of the session, and when it was moved last */

	struct prompt prompt; /* what is being typed; .title NULL: nothing is */
	int (*prompt_done)(struct screen *s, const char *text);
	char said[240]; /* the last word to the person */
	bool said_is_bad;
};

/* ---- rows: the records that the filter lets pass ---- */

uint64_t rows_next(const struct screen *s, uint64_t seq); /* 0: none */
uint64_t rows_before(const struct screen *s, uint64_t seq);
/* Go to the row at @seq, or the nearest to it. */
void rows_go(struct screen *s, uint64_t seq);

/* After a new filter: go to the nearest row as soon as there is one. */
void rows_settle(struct screen *s);

/* Filter anew by filter_text and hides_noise. */
int rows_filter(struct screen *s);
/* Add a term to the filter, or its opposite. */
int rows_narrow(struct screen *s, const char *term, bool opposite);
int rows_search(struct screen *s, const char *text);
/* The next record that was searched for, in the direction; goes on in steps if there is none yet.
 */
int rows_find(struct screen *s, int direction);
/* A search that waits: see whether there is something now. */
void rows_find_again(struct screen *s);

/* ---- time ---- */

/* When record @seq happened, since the start; that of the one before where it cannot be read. */
uint64_t elapsed_of(struct screen *s, uint64_t seq);
/* Go to the last row at or before so long after the start. */
void time_go(struct screen *s, uint64_t elapsed_ns);
int time_play(struct screen *s);  /* or pause */
void time_tick(struct screen *s); /* go on with the clock */

/* ---- the rest ---- */

/* What a key does: a character, or with @is_function one of curses' KEY_. 0 or -errno. */
int keys_take(struct screen *s, int key, bool is_function);
/* Line @number of the help, NULL behind the last. */
const char *keys_help(size_t number, const char **ret_doc);

void draw(struct screen *s);

__attribute__((format(printf, 3, 4))) void say(struct screen *s, bool is_bad, const char *text,
					       ...);
