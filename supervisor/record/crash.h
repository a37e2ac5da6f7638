/*
 * Places where vitrined may be killed. In a build for tests (make CRASH=1) the one that is passed
 * as the n-th kills the process, n being VITRINE_CRASH_AT in its environment; in any other they are
 * nothing.
 */
#pragma once

#ifdef VITRINE_CRASH_POINTS
void crash_point(void);
#else
static inline void crash_point(void)
{
}
#endif
