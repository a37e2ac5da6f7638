/*
 * One event as a line that a person reads: the part after time, process and kind.
 *
 * line_table.c has a row for each kind: the parts of its line in their order. A part stands there
 * only if the event has its field. Nothing of a session is written but through printable.h.
 */
#pragma once

#include "../supervisor/record/event.h"
#include "../supervisor/record/printable.h"

#include <stdio.h>

enum style {
	STYLE_PLAIN,
	STYLE_DIM,
	STYLE_BOLD,
	STYLE_PROCESS,
	STYLE_FILE,
	STYLE_NET,
	STYLE_DNS,
	STYLE_POLICY,
	STYLE_LOUD, /* what must not be overlooked: gaps, cuts, damage */
	STYLE_COUNT
};

/* Where lines go. */
struct pen {
	FILE *out;
	bool color;
	struct printable printable;
};

#define PEN_VALUE_MAX 256 /* bytes of one value that a line shows; JSON shows all */
#define PEN_TEXTS_MAX 640 /* of all items of an array */

enum color_choice { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
extern const char *const color_choices[]; /* NULL-terminated, for a row of options */

/* A pen for @out. By itself it has colours on a terminal only, and none where NO_COLOR is set. */
struct pen pen_for(FILE *out, enum color_choice color);
void pen_style(const struct pen *pen, enum style style); /* until the next; STYLE_PLAIN ends it */
/* The style that pen_style writes as "\033[<code>m"; STYLE_PLAIN for any other code. */
enum style style_of_code(const char *code, size_t length);

/* How a value is shown. */
enum show {
	SHOW_VALUE,    /* as its type says: numbers, words, lists of words */
	SHOW_HOW_MANY, /* the number of items of an array */
	SHOW_PROSE,    /* a text without quotes */
	SHOW_SIZE,     /* a number of bytes */
	SHOW_DURATION, /* nanoseconds */
	SHOW_OCTAL,
	SHOW_HEX,
	SHOW_FLAG,	/* a bool: only .before is written, and only if it is true */
	SHOW_RESULT,	/* minus an error number: only if it is one and the event has no error */
	SHOW_WHEN_MANY, /* a number: only if above 1 */
	/* Those below look at several fields by themselves. */
	SHOW_FILE,	  /* path, how sure it is, what became of it */
	SHOW_ENDS,	  /* both ends of a socket */
	SHOW_PROGRAM,	  /* the file that runs, where argv does not say */
	SHOW_VERDICT,	  /* how it ended */
	SHOW_LOSS,	  /* a gap in words */
	SHOW_LOST,	  /* what session.end says was lost */
	SHOW_UNEXPLAINED, /* what of the final tree no record explains */
	SHOW_COMMAND,	  /* of a session: its own, or that it has none */
};

struct part {
	const char *before;
	uint16_t field;
	enum show how;
	const char *after;
};

struct row {
	enum style style; /* of the kind; STYLE_PLAIN: by the kind's class */
	const struct part *parts;
};

/* Indexed by kind. Parts are closed by one that has nothing. */
extern const struct row line_rows[EVENT_KIND_COUNT];

enum style kind_style(enum event_kind kind);

/* Write the line of @e, without an end of line. */
void line_write(const struct pen *pen, const struct event *e);

/* Write one value as its part says, with what was cut of it. Nothing if @e has it not. */
void line_write_part(const struct pen *pen, const struct event *e, const struct part *part);

/* Items of a packed array as shell words, cut at PEN_TEXTS_MAX. */
void line_write_words(const struct pen *pen, struct bytes packed);
