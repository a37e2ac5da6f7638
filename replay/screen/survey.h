/*
 * One pass over a session in small steps, beside what the person does: the lanes, the process tree,
 * and where things are that one wants to jump to. It goes on when a journal grows.
 */
#pragma once

#include "numbers.h"

#include "../filter.h"
#include "../lanes.h"
#include "../tree.h"

/* What can be jumped to. */
enum landmark {
	LANDMARK_GAP,	   /* holes: gap records, damage, sensors lost */
	LANDMARK_DENIAL,   /* what was refused, and limits */
	LANDMARK_REDACTED, /* records that something was cut from */
	LANDMARK_STREAM,   /* what a terminal's picture is made of */
	LANDMARK_ATTACK,
	LANDMARK_COUNT
};

struct survey {
	struct reader *reader;
	struct lanes lanes;
	struct tree *tree;
	struct numbers landmarks[LANDMARK_COUNT];
	struct numbers whole; /* every record that can be read */
	struct origin origin;
	bool has_origin, has_end;
	uint64_t seq, last_boot_ns; /* of the last record that was read */
	uint64_t damages;
};

/* 0 or -errno. */
int survey_open(int dir_fd, struct survey *s);
void survey_close(struct survey *s);

/* Read some more, for @budget_ns at most. 1: there is more; 0: not for now; -errno. */
int survey_step(struct survey *s, uint64_t budget_ns);

/* The clock that steps are measured by. */
uint64_t monotonic_ns(void);
