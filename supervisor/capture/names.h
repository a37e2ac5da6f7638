/*
 * What the kernel says about names that are made, removed, moved and changed: fanotify events of
 * the session's own file system, joined to the records that BPF programs make of the calls.
 *
 * An event tells the thread, the directory (by handle) and the name, but not the call; a record
 * tells the call but only what it was given. Both come in the order in which one thread acts. The
 * kernel may merge an event into an earlier one that is not read yet, if thread, directory, name
 * and object are the same; so one event may stand for several acts, and a merged one says nothing
 * about the order of its acts.
 *
 * A name is given out only where an event proves that this thread did this to it. Where the order
 * leaves a choice, what the call was given decides, if one of the choices has that name: a caller
 * that forges what it was given can swap two of its own acts that lie milliseconds apart, and
 * nothing else. Where that decides nothing there is no name.
 */
#pragma once

#include "../record/event.h"

struct names;

struct names_options {
	int fanotify_fd, names_fd, root_mount_fd; /* borrowed; the last for the opening alone */
};

/* 0 or -errno. */
int names_new(const struct names_options *options, struct names **ret_names);
void names_free(struct names *n);

/*
 * Read what is queued. Called before a drain of records whose calls have returned by then. 0;
 * -EOVERFLOW: the kernel dropped events, so names are missing for a while; -errno.
 */
int names_take(struct names *n);

enum names_act {
	NAMES_CREATE, /* of anything but a directory */
	NAMES_MKDIR,
	NAMES_UNLINK,
	NAMES_RMDIR,
	NAMES_RENAME,
	NAMES_CHANGE, /* of an attribute */
};

struct names_query {
	uint32_t tid;
	enum names_act act;
	uint32_t sequence;   /* of an UNLINK, RMDIR or RENAME: count of these by this thread */
	struct bytes path;   /* what the call was given, from the session's root */
	struct bytes target; /* RENAME: the other one */
	bool exchange;	     /* RENAME: both were swapped */
	bool is_link;	     /* CREATE: a further name for something that is there */
};

/* Valid until the next call of names_take or names_find. */
struct names_answer {
	struct bytes path, target;
};

/* Find the event of this act and take it out. false: there is none, or it cannot be told which. */
bool names_find(struct names *n, const struct names_query *query, struct names_answer *ret_answer);

/* The path of this act is known from kernel objects: only take the event out. */
void names_skip(struct names *n, uint32_t tid, enum names_act act, struct bytes path);

struct names_counts {
	uint64_t events, found, not_found, unmatched, overflows;
};
struct names_counts names_counts(const struct names *n);
