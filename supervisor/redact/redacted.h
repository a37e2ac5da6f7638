/*
 * A redacted record: the only type that journal_append takes. It is made by redact_event and
 * nowhere else.
 */
#pragma once

#include "../record/event.h"

struct redacted {
	struct event event;
};
