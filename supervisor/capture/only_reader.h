/*
 * For programs that look at files of sessions and do nothing else.
 */
#pragma once

/* Become nobody, who may read whatever there is (CAP_DAC_READ_SEARCH), has no other right, gains
 * none, and leaves no core. 0 or -errno. */
int only_reader_become(void);
