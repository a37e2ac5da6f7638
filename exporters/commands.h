/*
 * The commands of vitrine that send records elsewhere.
 */
#pragma once

#include "../supervisor/record/command.h"

extern const struct command command_export;
