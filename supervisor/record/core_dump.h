/* Processes that see what a session keeps secret leave no image of their memory. */
#pragma once

/*
 * From here on no core of this process is written, wherever the host sends cores, and only root may
 * look into its memory. An exec takes it back. 0 or -errno.
 */
int core_dump_forbid(void);
