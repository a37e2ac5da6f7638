/*
 * Hashes of contents, within a budget. A file in which a secret of the session stands has none:
 * who knows the rest of it could try secrets against its hash.
 */
#pragma once

#include "../redact/secrets.h"
#include "final_wire.h"

#include <sys/stat.h>

struct content_budget {
	bool is_off;
	uint64_t bytes_max, bytes; /* that may be read in all, and that were */
	uint64_t deadline_ns;	   /* monotonic */
	struct secrets *secrets;   /* NULL: the session was given none */
};

struct content;

int content_new(const struct content_budget *budget, struct content **ret_content);
void content_free(struct content *c);

/*
 * Put the hash of the regular file @name in @dir_fd, of which @status is known, into @file, or why
 * there is none. What is opened is that file or nothing: no link is followed, nothing waited for.
 */
void content_hash(struct content *c, int dir_fd, const char *name, const struct stat *status,
		  struct final_file *file);

bool content_is_out_of_time(struct content *c);
uint64_t content_bytes(const struct content *c);
