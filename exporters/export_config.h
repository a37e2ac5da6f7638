/*
 * The configuration of vitrine-export: one JSON object, whose keys are rows of tables.
 */
#pragma once

#include "sinks/sink.h"

#include "project/trait.h"

struct sink_config {
	const json_t *values; /* checked and completed; borrowed from the configuration */
	uint8_t print[32];    /* SHA-256 of them and of the secrets in files that they name */
	const char *name;
	const struct sink_type *type;
	const struct projection *projection;
	uint64_t kinds;		/* a bit for each enum event_kind that goes out */
	enum severity severity; /* what is less grave stays */
	const json_t *sessions; /* array of ids, names and tenants; NULL: all */
	uint64_t drop[EVENT_FIELD_WORDS];
	bool include_output, has_checkpoints, has_acts;
	unsigned concurrency; /* requests at once */
	size_t batch_bytes, batch_count;
	uint64_t batch_age_ms, backoff_ms, backoff_max_ms;
};

struct export_config {
	json_t *values; /* owned */
	const char *state, *directory;
	const char *metrics; /* where they are served; NULL: nowhere */
	uint64_t drain_ms;
	struct hide_key key;
	struct sink_config *sinks; /* owned */
	size_t sink_count;
};

/*
 * Make the configuration of @text. @file is its name in errors, which read "FILE:LINE: KEY: VALUE:
 * what is allowed". Files that it names (keys, secrets) are read only where @read_files: each sink
 * is then opened once, to see that it can be. 0 or -errno with a fault.
 */
int export_config_parse(const char *file, const char *text, size_t size, bool read_files,
			struct export_config *ret_config, struct knob_fault *ret_fault);
/*
 * What two configurations mean by "the same sink": equal keys, and equal secrets in the files that
 * they name.
 */
bool sink_config_equals(const struct sink_config *a, const struct sink_config *b);

int export_config_read(const char *file, struct export_config *ret_config,
		       struct knob_fault *ret_fault);
void export_config_free(struct export_config *c);

/* The tables, for the manual. */
extern const struct knob export_knobs[], sink_knobs[];
