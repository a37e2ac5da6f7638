/*
 * The directories of a session's own file system, by file handle: which name each has in which
 * other, as of the fanotify event in hand. Events keep it up to date, so a directory that is
 * renamed takes all below it along; one that is met for the first time is looked up by
 * vitrine-names.
 *
 * vitrine-names answers with what is true now, which may be later than the event in hand. Events
 * that came meanwhile are therefore asked first (directories_options.later).
 */
#pragma once

#include "../record/event.h"
#include "names_wire.h"

struct directories;

/* Where a directory lies. */
struct place {
	struct file_id parent;
	char name[256];
	size_t size; /* of the name; 0: the directory is the root */
};

struct directories_options {
	int names_fd;	   /* socket of vitrine-names; borrowed */
	int root_mount_fd; /* borrowed, needed for the opening alone */
	/* Where @directory lay before the first event behind the one in hand that moves or removes
	 * it; false: there is none. */
	bool (*later)(void *context, const struct file_id *directory, struct place *ret_place);
	/* Read all events that are there by now. */
	void (*catch_up)(void *context);
	void *context;
};

/* 0, -ENOTCONN where vitrine-names does not answer, -errno. */
int directories_new(const struct directories_options *options,
		    struct directories **ret_directories);
void directories_free(struct directories *d);

bool file_id_equal(const struct file_id *a, const struct file_id *b);

/* @directory has @name (@size bytes) in @parent from now on. 0 or -ENOMEM. */
int directories_put(struct directories *d, const struct file_id *directory,
		    const struct file_id *parent, const char *name, size_t size);

/*
 * The path of @directory from the session's root, then "/" and @name unless that is empty or ".".
 * *ret_path is malloc'ed, NUL-terminated. 0, -ESTALE where nobody knows the directory, -ENOMEM,
 * -ENAMETOOLONG.
 */
int directories_path(struct directories *d, const struct file_id *directory, struct bytes name,
		     char **ret_path, size_t *ret_size);

/* Forget all but the root: events were lost. */
void directories_clear(struct directories *d);
