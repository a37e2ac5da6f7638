/*
 * A sink's lane: what goes from the journals to one receiver, at its own pace. Of two lanes neither
 * waits for the other; the flights of one lane (flight.h) share its cursor and its pace.
 */
#pragma once

#include "cursor.h"
#include "export_config.h"

struct lane;

struct lane_setup {
	const struct export_config *config; /* read by lane_new alone */
	const struct sink_config *sink;	    /* copied */
	sd_event *event;
	struct http_engine *http;
	int sessions_fd;  /* directory of sessions */
	int directory_fd; /* of cursors and dead letters */
	/* Tell the operator; borrowed. */
	void (*say)(void *context, const char *sink, const char *text);
	void *context;
};

int lane_new(const struct lane_setup *setup, struct lane **ret_lane, struct knob_fault *f);
void lane_free(struct lane *l);

/* Look for sessions that came and went. */
void lane_scan(struct lane *l);
/* Count anew what one of the sessions has to be read. */
void lane_measure(struct lane *l);
/* Look for records, and send what is due. */
void lane_turn(struct lane *l);

/* No more batches are begun; what was read is sent at once. True when nothing is on its way. */
bool lane_drain(struct lane *l);

/* SIGHUP. */
void lane_reopen(struct lane *l);

/* Write the cursor, if it has moved. 0 or -errno. */
int lane_save(struct lane *l);

/* The sink that it is of; valid as long as the lane is. */
const struct sink_config *lane_sink(const struct lane *l);

struct lane_status {
	const char *name, *type;
	const char *state; /* idle, sending, waiting, paused */
	const char *why;   /* of the last failure, "" after a success */
	struct cursor_totals totals;
	uint64_t retries, bytes, batches, resets;
	size_t in_batch;
	uint64_t pending;	/* records that are to be read or on their way; see feed_measure */
	uint64_t cursor_errors; /* times that the cursor could not be written */
	uint64_t delivered_ns;	/* wall clock of the last success; 0: none yet */
	uint64_t oldest_ns;	/* time of the oldest record on its way; 0: none */
};

struct lane_status lane_status(const struct lane *l);
