/*
 * Slots that all daemons of the host share: each session's range of user ids is picked by one, so
 * two sessions never have the same, whichever daemon runs them.
 */
#pragma once

#include <stdint.h>

#define SLOT_FILE "/run/vitrine/slots"

/*
 * Take a free slot below @count, looking first at @hint. It is held as long as *ret_fd is open, and
 * no longer than this process lives. 0, -ENOSPC (all are taken) or -errno.
 */
int slot_take(const char *file, uint32_t count, uint32_t hint, uint32_t *ret_slot, int *ret_fd);
