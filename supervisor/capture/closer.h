/*
 * Closes journals in a thread of its own: to sync and compress a large one takes a second, and the
 * rings of other sessions do not wait.
 */
#pragma once

#include "../log.h"
#include "../record/journal.h"

#include <systemd/sd-event.h>

struct closer;

/* Called in the loop when the records are on disk and their end is signed. @error: 0 or -errno;
 * @note: hash of its last checkpoint, zero if it has none. */
typedef void closer_done(void *context, int error, const uint8_t note[HASH_SIZE]);

/* Start the thread; @log (borrowed) is told what fails when its end was told already. 0 or -errno.
 */
int closer_start(sd_event *loop, int64_t priority, const struct log *log,
		 struct closer **ret_closer);

/* Close everything that waits, tell, and end. NULL is allowed. */
void closer_stop(struct closer *c);

/* Takes @journal over. Where there is no memory to wait in, it is closed and told at once. */
void closer_add(struct closer *c, struct journal *journal, closer_done *done, void *context);
