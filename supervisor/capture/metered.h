/* A journal's way to the kernel, with what it writes and syncs counted and timed. */
#pragma once

#include "../metrics/metric.h"
#include "../record/journal.h"

/* @cells are borrowed for the life of every journal that uses it; any thread may. */
struct journal_system metered_system(struct metrics_recorder *cells);
