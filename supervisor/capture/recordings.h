/*
 * The recorder process: its socket to vitrined, its loop and the recordings of all sessions. Rings
 * come before requests, requests before streams.
 */
#pragma once

#include "../control.h"
#include "../log.h"
#include "../metrics/page.h"
#include "closer.h"
#include "recording.h"

#define RECORDINGS_PRIORITY_FREEZER (-20)
#define RECORDINGS_PRIORITY_TICK (-10)
#define RECORDINGS_PRIORITY_SOCKET 0

struct recordings {
	const struct log *log;
	int socket; /* to vitrined */
	sd_event *loop;
	sd_event_source *tick;
	struct recording_host host;
	struct metrics_page in_hand;	/* host.in_hand; private likewise */
	struct metrics_page metrics;	/* host.metrics; private until vitrined gives one */
	struct shapes *shapes;		/* owned; since the start */
	struct clean *clean;		/* likewise */
	struct closer *closer;		/* since the start */
	struct json_arena *about_arena; /* owned; holds host.about */
	struct event about;
	json_t *held;		    /* owned; what is to be sent together; NULL: nothing is held */
	struct recording *asked_of; /* by the request in hand; NULL: none */
	bool is_started;
	struct recording **list; /* owned, @count of @room */
	size_t count, room;
	struct closing *told; /* sessions whose end was told, and that hold things yet */
	sd_event_source *let_go;
};

/* Serve the socket (borrowed) until vitrined closes it; then seal all journals. 0 or -errno. */
int recordings_run(int socket, const struct log *log);

/* ---- for the requests ---- */

/*
 * Count from here on where vitrined wants to have it: on the page behind @fd (borrowed); -1: for
 * nobody. Before the first recording. 0 or -errno.
 */
int recordings_count_on(struct recordings *all, int fd);
/* Tell what is in hand on the page behind @fd (borrowed); -1: for nobody. 0 or -errno. */
int recordings_share(struct recordings *all, int fd);

struct recording *recordings_find(const struct recordings *all, const char *session);
/* -EEXIST, or takes it over. */
int recordings_add(struct recordings *all, struct recording *recording);
/* One of them is open now. */
void recordings_start_ticking(struct recordings *all);
/* Take it out; the caller frees it. */
void recordings_remove(struct recordings *all, struct recording *recording);

/* Send a message (its reference is taken). Trouble is logged: vitrined finds out by itself. */
void recordings_send(struct recordings *all, json_t *message);
void recordings_send_text(struct recordings *all, const char *text, size_t size);

/* Let go of what sessions hold whose end was told: recordings_close.c. */
void recordings_let_go(struct recordings *all);

/* The request in hand is of @recording (NULL: of none); what was recorded for another is written.
 */
void recordings_ask(struct recordings *all, struct recording *recording);

/* What is sent from here on goes out at once, as one message; and what is recorded is written by
 * then, as far as nobody needed it earlier. */
void recordings_hold(struct recordings *all);
void recordings_release(struct recordings *all);

/* Serve one message of vitrined's: recordings_requests.c. */
void recordings_serve(struct recordings *all, struct control_message *m);
