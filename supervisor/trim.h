/*
 * The first segments of a long record go alone: those that are sealed, of which a checkpoint signs
 * what was in them, and for which it is kept how the tree goes on behind them (record/turns.h). The
 * session may still run: whoever writes is behind them.
 */
#pragma once

#include "clerk.h"

/* Behind so many segments the record can begin. */
struct trim_border {
	uint32_t segments;
	uint64_t last;	  /* number of the last record before */
	uint64_t time_ns; /* of the checkpoint there: nothing before is younger */
	uint64_t bytes;	  /* of the segments before that are there */
	uint8_t note[HASH_SIZE];
};

/* Those of the record in @dir_fd, in order; *ret_borders is the caller's. 0 or -errno. */
int trim_borders(int dir_fd, struct trim_border **ret_borders, size_t *ret_count);

/*
 * Take away what is before @border: the act is on disk, and `front` says so, before the first file
 * goes. 0; -EBUSY: it was held meanwhile; or -errno.
 */
int trim_record(struct clerk *clerk, int sessions_fd, const char *session,
		const struct trim_border *border, const char *reason,
		const struct clerk_client *client);

/* Finish what a crash left of a removal whose act is @act. */
void trim_resume(int sessions_fd, const struct act *act);
