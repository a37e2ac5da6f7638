/*
 * ECS: what its table covers.
 */
#pragma once

#include "../../supervisor/record/event.h"

/* True if the table has a row for @kind. */
bool ecs_has_row(enum event_kind kind);
