/*
 * What the files of the redaction stage share.
 */
#pragma once

#include "../record/arena.h"
#include "../record/json_put.h"
#include "../record/printable.h"
#include "clean.h"
#include "cuts.h"
#include "secrets.h"
#include "shapes.h"

struct streams;
struct asked;

struct redactor {
	struct secrets *secrets;
	struct shape_search *shapes; /* NULL: the secrets alone */
	size_t argument_rule;	     /* the detector of arguments */
	struct clean *clean;	     /* borrowed; NULL: each document is looked through */
	struct cuts cuts;
	redact_cut *cut; /* is told of each; NULL: nobody */
	void *cut_context;
	size_t rule_count; /* secrets and detectors */
	struct streams *streams;
	struct asked *asked;
	struct arena *arena; /* for one event */
	struct spans spans;  /* of the text in hand */
	struct spans named;  /* of the name in hand: what others show of it */
	struct spans across; /* of the texts in hand without what parts them */
	struct redacted record;
	struct json_buffer marks; /* the `redacted` field of the event in hand */
	size_t mark_count, marks_left_out;
	struct json_buffer rules; /* of the summary */
	struct json_buffer by_form;
};

/* Where in an event a text stands, for its marks. */
struct place {
	enum event_field field;
	int64_t item; /* of a list, from 0; -1: it is no list */
};

/* Hand an event on of which nothing was cut. */
static inline int redactor_pass(const struct event *e, redact_emit *emit, void *context)
{
	/* A redacted record is the event and nothing else: no copy is needed to make it one. */
	return emit(context, (const struct redacted *)e);
}

/* Start r->record as a copy of @e without values. */
void redactor_begin(struct redactor *r, const struct event *e);
/* Put the marks, if there are any and the kind has the field, and hand r->record on. */
int redactor_send(struct redactor *r, redact_emit *emit, void *context);

/*
 * Bytes @from to @to of @text with r->spans cut out, in the arena; what was cut is marked
 * at @place. 0 or -ENOMEM.
 */
int redactor_cut(struct redactor *r, struct bytes text, size_t from, size_t to,
		 const struct place *place, struct bytes *ret_text);

/* One of the shape net, which is there. */
const struct detector *redactor_detector(const struct redactor *r, size_t detector);
const char *redactor_rule(const struct redactor *r, uint32_t rule);
/* Room for the marker of any span. */
#define MARKER_ROOM 128
/* Write what stands in the place of @span: "[REDACTED:rule:tag]". Returns its size. */
size_t redactor_marker(const struct redactor *r, const struct span *span, char out[MARKER_ROOM]);

/* Put the spans of @text into r->spans: of both nets, and of the exact one alone. 0 or -ENOMEM. */
int redactor_find(struct redactor *r, struct bytes text);
int redactor_find_exact(struct redactor *r, struct bytes text);
/* Add those of the shape net. 0 or -ENOMEM. */
int redactor_add_shapes(struct redactor *r, struct bytes text);
/* Put bytes @start to @end of @text into r->spans, as of detector @detector. 0 or -ENOMEM. */
int redactor_add_shape(struct redactor *r, struct bytes text, size_t start, size_t end,
		       size_t detector, const char *form);
/* Of a text that goes on. */
struct unfinished {
	struct begun begun; /* of a secret */
	size_t held;	    /* from here on it has to be held back */
	size_t context;	    /* from here on it is needed to judge what follows; not behind held */
};
/* As redactor_find, but @text goes on. */
int redactor_find_begun(struct redactor *r, struct bytes text, struct unfinished *ret_rest);

/* Count one span, and r->spans, of @field. 0 or -ENOMEM. */
int redactor_count_span(struct redactor *r, const struct span *span, enum event_field field);
int redactor_count(struct redactor *r, enum event_field field);

/* TEXTS and MAP. *ret_bytes changes only if something is cut. 0 or -ENOMEM. */
int redactor_cut_items(struct redactor *r, const struct event_value *value,
		       struct bytes *ret_bytes);

/* Let the end of @text go too, if it is so much of a secret that it can hardly be chance. */
int redactor_add_begun(struct redactor *r, struct bytes text);
/* Let what has begun go. 0 or -ENOMEM. */
int redactor_cut_begun(struct redactor *r, const struct begun *begun);

/*
 * A JSON value: in strings, names and numbers, each decoded; and if a secret still stands in what
 * comes of it, the whole value goes. *ret_text is @text where there was nothing. 0 or -ENOMEM.
 */
int redactor_cut_json(struct redactor *r, struct bytes text, enum event_field field,
		      struct bytes *ret_text);

/* As redact_event, for an event that is whole by itself; r->named goes from its name too. */
int redactor_pass_named(struct redactor *r, const struct event *e, redact_emit *emit,
			void *context);

int asked_new(struct asked **ret_asked);
void asked_free(struct asked *n);
/* Pass an event that a name was asked for or answered; as redact_event. */
int asked_pass(struct redactor *r, const struct event *e, redact_emit *emit, void *context);
int asked_flush(struct redactor *r, uint64_t now_ns, redact_emit *emit, void *context);
/* How many events are held. */
size_t asked_held(const struct asked *n);

/* No more than @room bytes are kept of each stream. */
int streams_new(size_t room, struct streams **ret_streams);
void streams_free(struct streams *s);
/* Pass a piece of a stream; as redact_event. */
int streams_pass(struct redactor *r, const struct event *e, redact_emit *emit, void *context);
int streams_end(struct redactor *r, const struct event *e, redact_emit *emit, void *context);
int streams_flush(struct redactor *r, uint64_t now_ns, redact_emit *emit, void *context);
/* Bytes of all streams of @kind that were not given out. */
uint64_t streams_held(const struct streams *s, enum event_kind kind);
