/*
 * The checkpoints of a session as events in their place: behind the last record that each covers.
 * They are no records themselves and have no number (seq 0), for they are about all before them.
 */
#pragma once

#include "../supervisor/record/note.h"

#include <sys/types.h>

struct signings {
	int fd;			 /* the file of checkpoints; -1: there is none */
	off_t read;		 /* so much of it stands in .text, or did */
	char text[4 * NOTE_MAX]; /* what is being read */
	size_t size, at;
	struct note note;	 /* the next one */
	bool has_note, is_given; /* it was; the next one has to be read */
	char root[2 * HASH_SIZE + 1];
	size_t length; /* of its text, which ends at .at */
};

#define SIGNINGS_NONE ((struct signings){.fd = -1})

/* Those in @dir_fd. 0, also where nothing is signed, or -errno. */
int signings_open(int dir_fd, struct signings *ret_signings);
void signings_close(struct signings *s);

/*
 * The next one that is about records up to @seq alone, as an event at @boot_ns, which is valid
 * until the next call. False: there is none now; the file may grow, and a later call looks again.
 */
bool signings_next(struct signings *s, uint64_t seq, uint64_t boot_ns, struct event *ret_event);
