/*
 * Holds a query against the records of all sessions, with the help of their index where there is
 * one. What is found was read in a journal, checked, and matched there; the index only says where
 * nothing can be. What it does not know yet it learns while it is read.
 */
#pragma once

#include "filter.h"
#include "search_index.h"

struct search {
	struct filter filter;	    /* .query NULL: nothing is looked for, all is indexed */
	uint64_t limit;		    /* of events; 0: none */
	struct search_index *index; /* owned; NULL: none */
	/* An event that matches, valid during the call. 0 or -errno. */
	int (*found)(void *context, const struct manifest *m, const struct origin *origin,
		     const struct event *e);
	void *context;

	uint64_t found_count, sessions_found, sessions, records; /* records: that were read */
	uint64_t damaged, unreadable;				 /* sessions */
	bool is_cut;						 /* there is more than the limit */
};

/* The newest session first. 0 or -errno. */
int search_all(struct search *s, int state_fd);
void search_end(struct search *s);
