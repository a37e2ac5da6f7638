/*
 * The commands that read records.
 */
#pragma once

#include "../supervisor/record/command.h"

extern const struct command command_compliance;
extern const struct command command_diff;
extern const struct command command_files;
extern const struct command command_hosts;
extern const struct command command_lineage;
extern const struct command command_note;
extern const struct command command_ps;
extern const struct command command_replay;
extern const struct command command_report;
extern const struct command command_schema;
extern const struct command command_search;
extern const struct command command_show;
extern const struct command command_stats;
extern const struct command command_tree;
extern const struct command command_keys;
extern const struct command command_prove;
extern const struct command command_verify;
extern const struct command command_bundle;
extern const struct command command_import;
