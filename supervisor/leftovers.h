/* Sessions whose supervisor died: their processes and cgroups are removed, their records finished.
 */
#pragma once

#include "host.h"

/*
 * Find and finish them. Their ends come on the event loop. Returns how many could not be taken yet,
 * because the recorder of their dead supervisor still writes: call again in a moment.
 */
size_t leftovers_finish(struct host *h);

/*
 * Once more in two seconds, on the event loop, for the cgroups that had no session yet: a launcher
 * that was still dying holds its own. 0 or -errno.
 */
int leftovers_look_again(struct host *h);
