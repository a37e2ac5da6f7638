/*
 * The records of a session by their number: read where they are needed, a page at a time, through
 * the journal's own index. A session of any size opens at once and takes no more memory than a few
 * pages.
 */
#pragma once

#include "../../supervisor/record/event.h"

struct pages;

/* The journal in directory @dir_fd (borrowed). 0 or -errno. */
int pages_open(int dir_fd, struct pages **ret_pages);
void pages_free(struct pages *p);

/*
 * Record @seq. Its values are valid until the next call. False: there is none that can be read, and
 * *ret_why (may be NULL) says why in words.
 */
bool pages_get(struct pages *p, uint64_t seq, struct event *ret_event, const char **ret_why);

/* The number of the last record that is there now; 0: none. Looks into the journal anew. */
uint64_t pages_last(struct pages *p);

/*
 * Of what retention removed: the number of the last record, whose place a gap takes, and of the
 * first. 0: nothing was. As pages_open and pages_refresh found it.
 */
uint64_t pages_removed(const struct pages *p, uint64_t *ret_first);

/* Forget what could not be read, and the end: the journal may have grown. */
void pages_refresh(struct pages *p);
