/* The state of a recording; for recording.c, recording_write.c and recording_drain.c alone. */
#pragma once

#include "../record/journal.h"
#include "../record/json.h"
#include "account.h"
#include "capture.h"
#include "explained.h"
#include "final.h"
#include "join.h"
#include "recording.h"
#include "ring.h"
#include "spill.h"

#define RECORDING_EXECS 64
#define SECOND_NS 1000000000ULL

/* What the record itself knows of usage. */
struct recording_usage {
	uint64_t processes;   /* made */
	uint64_t write_bytes; /* to files */
};

struct recording_exec {
	struct exec_relays *relays; /* owned */
	int gate_fd;		    /* owned; -1: none, or it is open */
	bool is_closed;		    /* to be freed at the next tick */
	json_t *fields;		    /* owned; of exec.end, while the streams are carried on */
	bool is_last;		    /* nothing is alive, and the end of the session follows */
	recording_exec_closed *closed;
	void *context;
	struct recording *owner;
	struct recording_usage usage;
};

struct recording {
	struct recording_host *host;
	struct recording_ground ground;
	struct recording_options options;
	bool is_open;
	char *session;	    /* owned */
	const char **reads; /* owned; watch_reads as C strings of our own */
	bool is_ended;
	bool has_start; /* session.start was given to it, and is before all else */

	/* From the kernel. */
	bool has_ring;
	bool has_secrets; /* the session was given some */
	struct ring ring;
	sd_event_source *ring_source;
	struct freeze *freeze;
	struct account *account;
	struct join *join;
	struct capture *capture;
	uint64_t idle_drains;
	bool told_lost;
	bool is_finished; /* what the kernel knew at the end is taken */

	/* To the file. */
	struct redactor *redactor;
	struct redactor *delivery; /* of output to the client; NULL: it gets it as it is */
	struct shapes *shapes;	   /* with the rules of the policy; NULL: the host's */
	struct journal *journal;
	struct spill spill;
	bool is_dirty;		/* something was appended and not flushed */
	uint64_t flushed_ns;	/* when the journal was last flushed; monotonic */
	uint64_t waiting_since; /* boot time; 0: the journal takes records */
	uint64_t retry_ns;	/* when to try again; monotonic */
	uint64_t tidy_ns;	/* when to look for what can be compressed; monotonic */
	int waiting_error;
	bool gave_up;
	uint64_t paused_since; /* boot time at which the ring's freeze was told; 0 */

	struct event own; /* one of ours being made */
	struct json_arena *arena;
	struct json_buffer verdict; /* of the last end that was written; empty: none */
	struct recording_exec execs[RECORDING_EXECS];
	struct output_budget output;	/* of all commands */
	uint32_t left[RECORDING_EXECS]; /* commands that another supervisor's death left without end
					 */
	size_t left_count;
	struct exec_totals totals; /* of the commands that ended */
	struct recording_usage usage;

	/* Of the tree. */
	struct explained *explained; /* what records say of it; NULL: none yet */
	struct final *final;	     /* what it is like at the end; NULL: nobody looks */
	bool is_looked_at;	     /* by somebody, for whom its end waits */
	struct recording_ending *ending;
};

/* ---- recording.c ---- */

int recording_read_fields(struct recording *r, json_t *fields, struct event *e,
			  const char **ret_why);
void recording_put_usage(struct event *e, const struct recording_usage *usage);
void recording_free_exec(struct recording_exec *exec);
/* Nothing looks at the session's files any more. While vitrined has them too, as it has until it is
 * told of the end, this waits for no grace period of the kernel. */
void recording_leave_files(struct recording *r);

/* ---- recording_end.c ---- */

void recording_drop_end(struct recording *r);
/* A command has ended: go on, if the session's end waits for nothing else. */
void recording_go_on(struct recording *r);

/* NULL if there is none of that number, or it has ended. */
struct recording_exec *recording_find_exec(struct recording *r, uint32_t exec);

/* How full the ring is with @used bytes, in units of 10^-9. */
static inline uint64_t recording_fullness(const struct recording *r, uint64_t used)
{
	return (uint64_t)((double)used / (double)r->ring.size_bytes * 1e9);
}

/* ---- recording_left.c ---- */

/* What the journal that was opened holds already: its end, or commands that have none. */
void recording_look_back(struct recording *r);
/* Write the ends of those. 0 or -errno. */
int recording_end_left(struct recording *r);

/* ---- recording_write.c ---- */

/* Write out what redaction holds back. */
int recording_flush_redaction(struct recording *r);
/* Once a tick: write out what redaction has held back for long enough. */
void recording_release_held(struct recording *r);
/* What an end says is told to vitrined from the record itself, behind redaction. */
void recording_keep_verdict(struct recording *r, const struct event *end);
/* Once a tick: seal what is old, try again what failed. */
void recording_look_after_journal(struct recording *r);
/* Try again now; 0 if the journal takes records. */
int recording_retry(struct recording *r);

/* ---- recording_drain.c ---- */

/* What looks at the ring; and have it look. 0 or -errno. */
int recording_find_ring(struct recording *r);
int recording_watch_ring(struct recording *r);
/* Nothing of ours looks at the ring after that; what was made of it is still there. */
void recording_leave_ring(struct recording *r);
void recording_free_capture(struct recording *r);
/* True if there was something. */
bool recording_drain_ring(struct recording *r);
/* To the end: nothing comes any more, but for what was on its way when it was called before. 0 or
 * -errno. */
int recording_finish_ring(struct recording *r);
/* The same before that, if the journal takes it; what fails is done again. */
void recording_finish_ahead(struct recording *r);
/* Tell of freezing, and thaw what has been drained. */
void recording_look_after_freeze(struct recording *r);
