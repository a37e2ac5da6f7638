/*
 * What all views say alike.
 */
#include "view.h"

const char *view_end_text(enum view_end how)
{
	switch (how) {
	case VIEW_ENDED:
		return NULL;
	case VIEW_RUNNING:
		return "still runs";
	case VIEW_LOST:
		return "supervisor_lost: vitrined died before it could end the session";
	case VIEW_TORN:
		return "THE RECORD HAS NO END: what came last is missing";
	}
	return NULL;
}
