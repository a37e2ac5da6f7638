/*
 * What a sink is: a row of sink_types, and one file that frames records as its receiver wants them
 * and sends a batch without ever blocking the loop on somebody else.
 */
#pragma once

#include "../project/hide.h"
#include "../project/projection.h"
#include "batch.h"
#include "knob.h"

#include <systemd/sd-event.h>

enum answer {
	ANSWER_DONE,  /* each of the items that were sent has a verdict; open ones are sent again */
	ANSWER_RETRY, /* nothing is known to have been taken: all again, later */
	ANSWER_SPLIT, /* too much, or one that is refused among others: again in smaller parts */
	ANSWER_PAUSE, /* the receiver or the configuration is wrong: nothing goes until it is right
		       */
};

struct sink_answer {
	enum answer answer;
	uint64_t wait_ms; /* what the receiver asked for; 0: nothing */
	char why[512];	  /* "" where there is nothing to say */
};

/* Fill @a, printf-like. */
void sink_answer_set(struct sink_answer *a, enum answer answer, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

struct http_engine;

/* What a sink is opened with; all is borrowed for its life. */
struct sink_setup {
	const char *name;
	const json_t *values; /* checked and completed */
	sd_event *event;
	struct http_engine *http;
	const struct hide_key *key;
	/* Has to be called once for each send, during it or later. */
	void (*answer)(void *lane, const struct sink_answer *a);
	void *lane;
};

struct sink_type {
	const char *name;
	const char *doc;	  /* a sentence */
	const char *format;	  /* projection where the configuration names none */
	const struct knob *knobs; /* keys of its own */
	int (*open)(const struct sink_setup *setup, void **ret_state, struct knob_fault *f);
	/* Append the record to @out; @line is its projection, without the end of line. */
	int (*frame)(void *state, const struct projected *p, struct bytes line,
		     struct json_buffer *out);
	/* Send the first @count items. Give each its verdict before answering ANSWER_DONE. */
	void (*send)(void *state, struct batch *b, size_t count);
	void (*reopen)(void *state); /* SIGHUP; may be NULL */
	void (*free)(void *state);
};

/* The types, closed by NULL, and their names likewise. */
extern const struct sink_type *const sink_types[];
extern const char *const sink_type_names[];
const struct sink_type *sink_type_find(const char *name);

extern const struct sink_type sink_file, sink_syslog, sink_webhook, sink_hec, sink_elastic,
	sink_otlp, sink_clickhouse;
