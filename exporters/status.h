/*
 * What is told about the sinks: a file that the exporter replaces each second, and the table that
 * people read.
 */
#pragma once

#include "export_config.h"
#include "lane.h"

/* Replace <dir>/status.json. 0 or -errno. */
int status_write(int dir_fd, const struct lane_status *list, size_t count);

/* Print how far each sink is, from the files alone. Returns the exit status. */
int status_show(const struct export_config *config, bool json);
