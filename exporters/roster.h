/*
 * The sinks at work, by the configuration in force. A new configuration leaves alone those whose
 * keys it does not change; the others end what is on their way first, and nothing is lost between
 * the old and the new.
 */
#pragma once

#include "lane.h"

struct roster;

/* @setup: all but .config and .sink, which are filled in. 0 or -ENOMEM. */
int roster_new(const struct lane_setup *setup, struct roster **ret_roster);
void roster_free(struct roster *r);

/*
 * Put @config (borrowed until another one is, or roster_free) in force; what leaves has its drain_s
 * from @now_ms (monotonic) on. Nothing is opened yet: roster_open does that. 0 or -ENOMEM, with the
 * old one in force.
 */
int roster_apply(struct roster *r, const struct export_config *config, uint64_t now_ms);

/*
 * Open what is to be opened. 0; or, for the first that cannot be opened, -errno with a fault: it is
 * tried again at the next call.
 */
int roster_open(struct roster *r, struct knob_fault *f);

/* Let all have their turn, and close what has left. */
void roster_turn(struct roster *r, bool scans, uint64_t now_ms);

/* Let each lane count what one of its sessions has to be read. */
void roster_measure(struct roster *r);

/* End what is on its way; true when nothing is. */
bool roster_drain(struct roster *r);

/* SIGHUP. */
void roster_reopen(struct roster *r);

/* Write all cursors that have moved. */
void roster_save(struct roster *r);

/* At most @room; returns their number. */
size_t roster_status(const struct roster *r, struct lane_status *list, size_t room);
