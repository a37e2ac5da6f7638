/*
 * Packages that a session asked for or got: from the arguments of package managers, from what they
 * write into their databases, and from package.install records. Two tables say how each manager is
 * called and where it keeps what; to know one more is a row.
 */
#pragma once

#include "../supervisor/record/event.h"

#include <stdbool.h>

struct package {
	struct bytes manager;
	struct bytes name;
	struct bytes version; /* as it was asked for ("==2.1", ">=1"), or as it is; may be empty */
	bool is_installed;    /* it was seen to arrive; else it was asked for */
};

/* Call @found for each package in @e; what it gets lives as long as the event. 0, or its first
 * answer that is not. */
typedef int package_found(void *context, const struct package *p);
int packages_in(const struct event *e, package_found *found, void *context);
