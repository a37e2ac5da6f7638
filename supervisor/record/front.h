/*
 * The file `front` of a session whose first segments were removed by retention: the act that says
 * so (acts.h), the very line that the ledger of the host signs.
 *
 * It is written before the first of them goes. A reader begins behind it, whatever is still there;
 * what is missing and not in it was not removed by retention.
 */
#pragma once

#include "event.h"
#include "hash.h"

#define FRONT_FILE "front"

struct front {
	uint32_t segments; /* that went: those from 0 on */
	uint64_t last;	   /* number of the last record in them */
	uint64_t time_ns;  /* when that was written down */
	bool has_note;
	uint8_t note[HASH_SIZE]; /* the checkpoint over these records */
	uint8_t hash[HASH_SIZE]; /* of the line */
	char session[33];
};

/* 0; -ENOENT: nothing was removed; -EBADMSG: it is not such a line; or -errno. */
int front_read(int dir_fd, struct front *ret_front);

/* Write @line, an act without its newline; all of it or nothing. 0 or -errno. */
int front_write(int dir_fd, struct bytes line);
