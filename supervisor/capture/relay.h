/*
 * A relay carries one stream from one descriptor to another, byte for byte, and has each piece
 * recorded before it goes on. It reads nothing more while the other end is not ready to take what
 * it has, so that a slow reader slows the writer and nobody else.
 *
 * When the other end goes away the relay records what is in the stream by then and closes its own
 * end, so that the writer sees what it would see without us: SIGPIPE, a hang-up.
 *
 * A relay that changes what it carries (`change`) passes on what it is given by relay_put instead,
 * in its own time.
 *
 * It never blocks: where a descriptor's description has no O_NONBLOCK, it is read and written only
 * after poll says so, and written in pieces of PIPE_BUF.
 */
#pragma once

#include "../record/event.h"

#include <systemd/sd-event.h>

#define RELAY_BUFFER (64 * 1024)

struct relay;

struct relay_options {
	sd_event *loop;
	int64_t priority; /* in the loop */
	int from, to;	  /* -1 for `to`: relayed nowhere. Taken over, closed at the end */
	/*
	 * Record a piece that was read; @offset is its place in the stream. 0 or -errno; -EAGAIN:
	 * not now, the relay waits for relay_resume and offers it again.
	 */
	int (*record)(void *context, struct bytes piece, uint64_t offset);
	/*
	 * NULL: pieces are passed on as they are. Else it is called behind `record` for each, and
	 * once more without a piece when no more follow: relay_put takes what goes in its place.
	 */
	int (*change)(void *context, const struct bytes *piece, uint64_t offset);
	/* The stream is over and relayed, called once. The relay may be freed in it. */
	void (*done)(void *context);
	void *context;
};

/* 0 or -errno; the descriptors are taken over in any case. */
int relay_new(const struct relay_options *options, struct relay **ret_relay);
void relay_free(struct relay *r);

/* Recording is possible again, or there is something new to pass on. */
void relay_resume(struct relay *r);

/* Pass this on, in the place of what was read. 0 or -ENOMEM. */
int relay_put(struct relay *r, struct bytes data);

/*
 * The command is over: carry on what is in the stream now, then be done, although writers may live
 * on and keep it open. For a stream into the session: be done at once.
 */
void relay_finish(struct relay *r);
void relay_stop(struct relay *r);

/* Relay nothing more: what comes is only recorded. */
void relay_discard(struct relay *r);

bool relay_is_done(const struct relay *r);
/* Done by relay_finish while something still held the other side open. */
bool relay_is_detached(const struct relay *r);
/* Bytes read so far. */
uint64_t relay_total(const struct relay *r);
