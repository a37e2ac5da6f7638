/*
 * An event as another system kept it, and gives it back: canonical, in OCSF, ECS, OTLP or CEF, bare
 * or in the wrapping of a search ("_source", "result", "event", "_raw", "resourceLogs").
 */
#pragma once

#include "../supervisor/record/event.h"

#include <jansson.h>

/*
 * Find in @file, JSON or an object or a line of CEF a line, the event @seq of @session. A file with
 * one object alone gives that one, whichever it is. 0, -ENODATA (it is not there), -EBADMSG (no
 * JSON) or -errno.
 */
int elsewhere_read(const char *file, const char *session, uint64_t seq, json_t **ret_event);

/*
 * True if @told says of @e, number e->seq of @session, what it has to say: every member that we
 * would have written, with our value. What a system added beside is not looked at; what the record
 * says of itself in our own object ("unmapped", "vitrine") may have nothing beside.
 */
bool elsewhere_matches(const json_t *told, const char *session, const struct event *e);
