/*
 * What is on its way to a receiver: one batch, from the sessions of one part of a lane's feed.
 *
 * A batch is sent until each of its records is delivered, or refused for good and kept as a dead
 * letter; only then does the cursor move and the next batch begin. So an outage costs no memory,
 * and the records of a session arrive in its order, however many flights its lane has.
 */
#pragma once

#include "cursor.h"
#include "lane.h"
#include "pace.h"

/* What the flights of a lane share. */
struct outlet {
	struct lane_setup setup; /* .sink is the lane's own copy */
	struct sink_config sink;
	struct hide_key key;
	struct cursor cursor;
	struct pace pace;
	bool is_dirty; /* the cursor moved since it was saved */
	bool is_draining, is_broken;
	uint64_t bytes, batches, delivered_ns;
	char note[512];	  /* of the last success, "" where it had nothing to say */
	bool told_paused; /* what the operator was told last */
	uint64_t told_ms; /* and when; 0: that all goes on */
};

struct flight;

/* @part of @parts. @outlet is borrowed. 0 or -errno with a fault. */
int flight_new(struct outlet *outlet, unsigned part, unsigned parts, struct flight **ret_flight,
	       struct knob_fault *f);
void flight_free(struct flight *f);

/* 0 or -errno. */
int flight_scan(struct flight *f);
/* Read records, and send what is due. */
void flight_turn(struct flight *f);
/* Count anew what one of the sessions has to be read. */
void flight_measure(struct flight *f);
/* SIGHUP. */
void flight_reopen(struct flight *f);

bool flight_is_sending(const struct flight *f);
/* True when nothing is on its way, and nothing that was read can be sent any more. */
bool flight_is_drained(const struct flight *f);

struct flight_status {
	size_t in_batch;
	uint64_t oldest_ns; /* 0: none */
	uint64_t resets;
	uint64_t pending; /* records that are still to be read */
};

struct flight_status flight_status(const struct flight *f);
