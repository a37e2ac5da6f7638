/*
 * The state that names.c keeps and names_find.c looks through.
 */
#pragma once

#include "directories.h"
#include "names.h"

#define NAMES_THREADS 1024 /* buckets; a power of two */
#define NAMES_MERGEABLE 1  /* batches in which an act may still belong to an event that is taken */

/* An event as it came: what is needed until it has its path. */
struct raw_event {
	struct file_id directory, new_directory, child;
	char name[256], new_name[256];
	size_t name_size, new_name_size;
};

struct name_event {
	struct name_event *next;    /* of all, in the order of reading */
	struct name_event *sibling; /* of the same thread */
	struct raw_event *raw;	    /* NULL when its batch has its paths */
	uint64_t batch, read_ns;
	uint32_t tid;
	uint32_t acts, taken; /* bits: 1 << enum names_act */
	char *path, *target;  /* NULL: not known */
	char *late;	      /* the path after a directory above it was moved; NULL: the same */
	size_t path_size, target_size, late_size;
};

struct thread {
	struct thread *next;
	struct name_event *first, *last;
	uint32_t tid;
	uint32_t sequence; /* of the last record; 0: not known */
	uint32_t owed;	   /* acts whose events could not be told, and are still open */
};

struct names {
	struct names_options options;
	struct directories *directories;
	struct name_event *first, *last; /* all that are kept */
	struct name_event *fresh;	 /* first without its paths; NULL: none */
	struct name_event *batch_first;	 /* first of this batch; NULL: none yet */
	bool has_moved_directory;	 /* in this batch */
	uint64_t link_batch;		 /* in which something got a further name by a link */
	struct thread *threads[NAMES_THREADS];
	uint64_t batch;
	size_t count, thread_count;
	bool has_overflowed; /* since the last take */
	struct names_counts counts;
	uint8_t *buffer; /* READ_BYTES */
};

/* Where @tid's thread hangs, or would. */
struct thread **names_thread_at(struct names *n, uint32_t tid);
