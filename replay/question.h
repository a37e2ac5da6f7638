/*
 * What the commands that answer a question about a session have in common: their options, how they
 * are run, and what every answer has to say of itself: that records it needed are missing.
 */
#pragma once

#include "actors.h"
#include "query.h"
#include "view.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/command.h"
#include "../supervisor/record/store.h"

struct question_options {
	const char *state, *query, *workspace;
	bool json, all, hash;
	int color;
};

#define QUESTION_OFFSET(member) offsetof(struct question_options, member)

/* Rows for a table of options whose struct begins with a struct question_options. */
#define QUESTION_OPTION_FILTER                                                                     \
	{                                                                                          \
		"filter", 0, "FILTER",                                                             \
			"only by events that this is true for; see FILTER LANGUAGE in "            \
			"vitrine-replay(1)",                                                       \
			OPTION_TEXT, QUESTION_OFFSET(query)                                        \
	}
#define QUESTION_OPTIONS                                                                           \
	{"json", 'j', NULL, "print one JSON object", OPTION_FLAG, QUESTION_OFFSET(json)},          \
		{"color",                                                                          \
		 0,                                                                                \
		 "WHEN",                                                                           \
		 "colours: by itself on a terminal only",                                          \
		 OPTION_CHOICE,                                                                    \
		 QUESTION_OFFSET(color),                                                           \
		 .choices = color_choices},                                                        \
		{"state",     0,                                                                   \
		 "DIR",	      "state directory (" STORE_DEFAULT_STATE ")",                         \
		 OPTION_TEXT, QUESTION_OFFSET(state)},                                             \
	{                                                                                          \
		0                                                                                  \
	}
#define QUESTION_DEFAULTS                                                                          \
	{                                                                                          \
		.state = STORE_DEFAULT_STATE                                                       \
	}

#define QUESTION_SESSION                                                                           \
	"SESSION is an id, a unique beginning of one (4 digits or more), a name (the newest of "   \
	"that name), 'last', or the path of a bundle (FILE.tar) or of a session's directory. The " \
	"answer is taken from the journal, which is read once; where "                             \
	"records that matter are missing from it, the answer says so."

#define QUESTION_STATUS                                                                            \
	{                                                                                          \
		"EXIT STATUS", "0, or 1 if the session cannot be found or read, or its record is " \
			       "damaged or has no end, or 2 for a bad command line."               \
	}

/* What the view of a question finds in view_options.asked. */
struct question {
	const struct question_options *options;
	const char *subject; /* what is asked about; NULL: the whole session */
};

/* Parse the filter, open session @what, play it to @view. Returns the exit status. */
int question_run(const char *called, const struct view *view, const struct question *asked,
		 const char *what);

/* What every such view keeps. */
struct answer {
	struct pen pen;
	const struct question *asked;
	const char *session;
	struct actors *actors;
	uint64_t missing[EVENT_CLASS_COUNT], missing_others; /* records, by what the gaps say */
	uint64_t damages;
};

int answer_begin(struct answer *a, const struct view_options *options); /* 0 or -ENOMEM */
int answer_add(struct answer *a, const struct event *e);
void answer_free(struct answer *a);

/* A loud line if records of @class, or of a class that is not known, are missing. */
void answer_warn(const struct answer *a, enum event_class class);
/* "session", "ended", and what is missing: the first members of an answer's object. */
void answer_open_json(const struct answer *a, struct document *d, enum view_end how,
		      enum event_class class);
