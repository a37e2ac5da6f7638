/*
 * What stands around the records of an OTLP request: a line of the projection without them is one
 * element of resourceLogs.
 */
#pragma once

#include "../../supervisor/record/event.h"

#define OTLP_HEAD "{\"resourceLogs\":["
#define OTLP_TAIL "]}"

/* True if the table has a row for @kind. */
bool otlp_has_row(enum event_kind kind);
