/*
 * The limits that a policy may set, as a table: `--limit KEY=VALUE[,KEY=VALUE...]` and the policy's
 * key "limits", an object of them.
 */
#pragma once

#include "setting_types.h"

/* What is in force; 0: no limit. */
struct limit_values {
	uint64_t memory_bytes, pids, cpu_milli, cpu_weight, wall_ms;
	uint64_t disk_bytes, inodes;
	uint64_t files, file_size_bytes, output_bytes, io_bytes, workspace_bytes;
};

/* For the table of types of settings: of a session, and of each of its commands. */
bool limit_settings_check(const struct setting *s, struct setting_place *p);
json_t *limit_settings_schema(const struct setting *s);
extern const char limit_settings_allowed[];
bool limit_settings_check_command(const struct setting *s, struct setting_place *p);
json_t *limit_settings_schema_command(const struct setting *s);
extern const char limit_settings_allowed_command[];

/*
 * Read a checked object, and give its values the one form in which a record holds them: numbers
 * where they are whole in bytes, processors or seconds. 0 or -ENOMEM.
 */
int limit_settings_read(json_t *limits, struct limit_values *ret_values);

/* Whether none of the limits in @given (unchecked) is above @most, which is what @whose allows. 0,
 * or -EPERM with a fault that names it. */
int limit_settings_within(json_t *given, const struct limit_values *most, const char *whose,
			  struct fault *ret_fault);

/* Whether @name is of the session as a whole: no command can have one of its own. */
bool limit_settings_is_shared(const char *name);

/*
 * Put what an option "KEY=VALUE,KEY=VALUE" says into @limits. 0, or -EINVAL with a fault that says
 * what is allowed.
 */
int limit_settings_option(const char *text, json_t *limits, struct fault *ret_fault);

/* A time as the limit `wall` takes it. False if @text is none. */
bool limit_settings_time(const char *text, uint64_t *ret_ms);
