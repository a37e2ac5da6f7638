/*
 * ECS: what a record's ATT&CK tags fill of threat.*.
 */
#pragma once

#include "shape.h"

/* For a record that has tags. */
extern const struct shape_row ecs_threat_rows[];
