/*
 * How far a sink has come, in each session: a small file that is replaced as a whole.
 *
 * It may lag behind what was delivered, never lead. One that is torn, bent or somebody else's is
 * the same as none: everything is sent again, under the same ids.
 */
#pragma once

#include "../supervisor/record/store.h"

struct cursor_entry {
	char session[SESSION_ID_LENGTH + 1];
	uint64_t next_seq; /* the first record that is not settled */
	bool is_done;	   /* its journal was closed, and all of it is settled */
};

/* What became of the records, since the cursor was made. */
struct cursor_totals {
	uint64_t delivered, quarantined, filtered;
};

/* How far in the ledger of the host, and in the texts of the acts that it knows: bytes. */
struct cursor_acts {
	uint64_t ledger, text;
};

struct cursor {
	struct cursor_entry *entries; /* owned; in the order of the sessions' ids */
	size_t count, room;
	struct cursor_totals totals;
	struct cursor_acts acts;
};

void cursor_free(struct cursor *c);

/* The entry of @session, or NULL; made where there is none: NULL when out of memory. */
struct cursor_entry *cursor_find(const struct cursor *c, const char *session);
struct cursor_entry *cursor_need(struct cursor *c, const char *session);
void cursor_forget(struct cursor *c, const char *session);

/* Read the @size bytes of @text as the cursor of @sink. 0, -EBADMSG or -ENOMEM. */
int cursor_parse(const char *sink, const char *text, size_t size, struct cursor *ret_cursor);

/* Read <dir>/<sink>.cursor. 0, -ENOENT, -EBADMSG (torn, bent, or of another sink) or -errno. */
int cursor_read(int dir_fd, const char *sink, struct cursor *ret_cursor);
/* Write it: to another name, with fsync, then renamed. 0 or -errno. */
int cursor_write(int dir_fd, const char *sink, const struct cursor *c);
