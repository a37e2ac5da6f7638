/*
 * The process that follows all journals and ships them: one loop, a lane for each sink.
 */
#pragma once

#include "export_config.h"

/* Run with @config, which it takes over, and with what @file says at each SIGHUP, until SIGTERM or
 * SIGINT. Returns the exit status; faults are told on standard error. */
int exporter_run(const char *file, struct export_config *config);
