/*
 * Waits until a journal that is being written grows.
 */
#pragma once

struct follow {
	int fd; /* inotify */
};

#define FOLLOW_WAIT_MS 200 /* at most, so that the end of a supervisor is noticed */

/* Watch the session's directory @dir_fd (borrowed). 0 or -errno. */
int follow_open(int dir_fd, struct follow *ret_follow);

/* Wait for a change, FOLLOW_WAIT_MS at most. 0 or -errno. */
int follow_wait(struct follow *f);
void follow_close(struct follow *f);

static inline void cleanup_follow(struct follow *f)
{
	follow_close(f);
}
