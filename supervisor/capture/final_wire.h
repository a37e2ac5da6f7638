/*
 * What vitrine-final and the recorder say to each other about one session's tree, over a
 * SOCK_SEQPACKET socket of that session alone. Each packet is a struct final_packet; behind it the
 * name, and the target of a symbolic link.
 *
 * vitrine-final walks the upper layer of the root and tells what is in it, directory by directory,
 * then FINAL_WALKED with the totals. After that it answers each FINAL_LOOK, which names a path in
 * /workspace, with a FINAL_FOUND, until the recorder closes the socket.
 */
#pragma once

#include "../record/hash.h"

#include <stdbool.h>
#include <stdint.h>

#define FINAL_NAME_MAX 4096
#define FINAL_PACKET_MAX (sizeof(struct final_packet) + 2 * FINAL_NAME_MAX)

enum final_kind {
	FINAL_ENTER = 1, /* a directory, by its name in the one before: what follows lies in it */
	FINAL_LEAVE,	 /* back to the directory above */
	FINAL_FOUND,	 /* something that is not as it was, by its name */
	FINAL_WALKED,	 /* all has been told; totals follow */
	FINAL_LOOK,	 /* to vitrine-final: look at this path below /workspace */
};

/* How it differs from what the session found. */
enum final_change {
	FINAL_SAME, /* it was written or touched, and is what it was */
	FINAL_CREATED,
	FINAL_MODIFIED,
	FINAL_REPLACED, /* by something of another type, or a directory by a new one */
	FINAL_DELETED,
	FINAL_ATTRIBUTES, /* mode or owner alone */
	FINAL_CHANGES
};

/* Why there is no hash of a regular file's content. */
enum final_unhashed {
	FINAL_HASHED,
	FINAL_OFF,	  /* the policy asks for none */
	FINAL_TOO_LARGE,  /* larger than all that may be read */
	FINAL_BYTES,	  /* what may be read was used up by other files */
	FINAL_TIME,	  /* the time was over */
	FINAL_SECRET,	  /* a secret of the session is in it */
	FINAL_UNREADABLE, /* it could not be read, or changed meanwhile */
	FINAL_UNHASHED
};

struct final_file {
	uint32_t mode; /* as st_mode; 0: there is none */
	uint32_t uid, gid;
	uint32_t unhashed; /* enum final_unhashed, of a regular file */
	uint64_t size;
	uint8_t sha256[HASH_SIZE];
};

struct final_packet {
	uint32_t kind;
	uint32_t change;
	uint64_t dev, ino; /* as the session saw them; 0: not known */
	struct final_file now, before;
	uint32_t name_size, target_size;
};

/* What follows the head of FINAL_WALKED. */
struct final_totals {
	uint64_t found;	      /* told */
	uint64_t untold;      /* past the cap of files */
	uint64_t too_deep;    /* directories whose content was left out */
	uint64_t unreadable;  /* likewise, because they could not be read */
	uint64_t bytes;	      /* read for hashes */
	uint64_t out_of_time; /* 1: the walk was ended before it was through */
};
