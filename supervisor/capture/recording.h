/*
 * The record of one session while it is made: ring -> capture -> enrich -> redact -> journal.
 *
 * The ring's consumer position moves only when the journal has, by write(2), all that lies below
 * it. While the journal cannot be written nothing is drained or relayed, and the session is frozen
 * (unless it asked for on_loss count): nothing is dropped.
 */
#pragma once

#include "../metrics/metric.h"
#include "../record/checkpoints.h"
#include "../record/journal.h"
#include "../redact/redact.h"
#include "../sandbox/syscall_policy.h"
#include "exec_relays.h"
#include "freeze.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct in_hand;
struct kept_rings;
struct recording;

enum on_loss { ON_LOSS_FREEZE, ON_LOSS_COUNT, ON_LOSS_KILL };

enum recording_notice {
	RECORDING_TROUBLE, /* the journal cannot be written (errno), or can again (0) */
	RECORDING_LOST,	   /* a record was lost under ON_LOSS_KILL; told once */
	RECORDING_OUTPUT,  /* a command, or with 0 all of them, wrote more than may be */
};

/* What all recordings of one process share. Borrowed for their lives. */
struct recording_host {
	sd_event *loop;
	struct freezer *freezer;
	struct kept_rings *rings;    /* NULL: none is kept */
	uint8_t key[32];	     /* deployment key */
	const struct shapes *shapes; /* of redaction; NULL: the secrets alone are looked for */
	struct clean *clean;	     /* of recordings that ask for nothing else */
	int numbers_fd, losses_fd, written_files_fd, file_counts_fd; /* BPF maps */
	struct in_hand *in_hand;    /* of each slot: shared with vitrined; never NULL */
	const uint64_t *exec_bytes; /* by slot: see bpf/exec_room.h; NULL: not known */
	int names_fd;		    /* socket of vitrine-names; -1 without */
	uint32_t cpus;		    /* possible ones */
	int64_t wall_minus_boot_ns;
	bool is_held;		   /* who writes events commits them by itself, soon */
	const struct event *about; /* what each session.start has beside its own; NULL: nothing */
	struct metrics_recorder *metrics; /* what is counted of all of them; never NULL */
	struct journal_system system;	  /* of their journals */
	void (*notice)(void *context, const char *session, enum recording_notice what, int error,
		       uint32_t exec);
	void *notice_context;
};

/* What a recording stands on: known before it is known what the session is to do. */
struct recording_ground {
	const char *session;
	uint32_t slot;
	uint64_t ring_id; /* 0: it does not come again */
	uint64_t ring_bytes, high_water;
	uint32_t uid_base, uid_count;
	int journal_fd;			   /* directory; borrowed */
	const struct checkpoints_key *key; /* signs it; borrowed; NULL: it is unsigned as yet */
	/* Taken over on success, except where -1. Without a ring only the journal is there. */
	int ring_fd, freeze_fd, fanotify_fd, root_mount_fd;
};

struct recording_options {
	bool is_bare; /* of the ground the journal is all that is used */
	enum on_loss on_loss;
	uint64_t disk_wait_ns; /* after this long without a journal, streams go on unrecorded */
	enum output_policy output;
	uint64_t output_cap;   /* per command and stream */
	uint64_t output_limit; /* of all commands; 0: none */
	const json_t *watch_reads;
	bool is_explained;		 /* the tree will be held against what records say of it */
	bool redact_output;		 /* deliver output as the record has it */
	const json_t *redact_off;	 /* names of rules; NULL: none */
	struct syscall_changes syscalls; /* of the policy */
	const json_t *redact_rules;	 /* of the policy; NULL: none */
	const struct redact_secret *secrets;
	size_t secret_count;
	uint32_t exec;	      /* a command that is known before it is told of; 0: none */
	uint64_t exec_cgroup; /* its cgroup */
};

/*
 * In two steps, between which any time may pass: the journal, and all that looks at the ring; then
 * what the session asks for, before anything happens in it. What fails leaves nothing but what
 * recording_free takes. 0, or -errno with words about it in *ret_why (static).
 */
int recording_prepare(struct recording_host *host, const struct recording_ground *ground,
		      struct recording **ret_recording, const char **ret_why);
int recording_open(struct recording *r, const struct recording_options *options,
		   const char **ret_why);
bool recording_is_open(const struct recording *r);
void recording_free(struct recording *r);

const char *recording_session(const struct recording *r);
/* The journal already ends with session.end. */
bool recording_is_ended(const struct recording *r);

/* Every few milliseconds: drain, look after freezing, retry a failed journal. Returns true if there
 * was something to drain. */
bool recording_tick(struct recording *r);

/* Drain what the ring holds now, so that what comes next in the record is also later. */
void recording_drain(struct recording *r);

/* An event of vitrined's: JSON names and values. 0, -EINVAL (words in *ret_why, valid until the
 * next call) or -errno. */
int recording_event(struct recording *r, enum event_kind kind, json_t *fields,
		    const char **ret_why);

/* BPF programs missed @count runs. */
int recording_missed(struct recording *r, uint64_t count);
/* The wall clock was stepped. */
int recording_clock_step(struct recording *r, int64_t step_ns);

/* Start an event of our own with the time of now, pass one through redaction to the journal, and
 * make sure that it is in the file. While the journal fails, recording_commit returns the error and
 * what was emitted waits. */
struct event *recording_begin(struct recording *r, enum event_kind kind);
int recording_emit(struct recording *r, struct event *e);
int recording_commit(struct recording *r);

/* What a stream has read is in hand (in_hand.h) before anything is done with it, and until it is in
 * the file. */
void recording_tell_taken(struct recording *r);
void recording_tell_written(struct recording *r);

/* The journal cannot be written now. */
bool recording_is_waiting(const struct recording *r);
/* It could not for longer than disk_wait: the session is being killed, its streams go unrecorded.
 */
bool recording_gave_up(const struct recording *r);

/* ---- commands ---- */

/* A command that is going to run. 0 or -errno (-EEXIST, -ENOSPC). */
struct recording_command {
	uint32_t exec;
	uint64_t cgroup;
	uint64_t output_limit; /* 0: none but the session's */
};
int recording_add_exec(struct recording *r, const struct recording_command *command,
		       struct exec_relays **ret_relays);
/*
 * Write exec.start of command @exec with @fields. Its process waits at the other end of @gate_fd,
 * taken over on success, and is let go once that is in the file. 0, or -errno with words in
 * *ret_why.
 */
int recording_start_exec(struct recording *r, uint32_t exec, json_t *fields, int gate_fd,
			 const char **ret_why);
/* Sign the record from here on with @key, borrowed. 0 or -errno with words in *ret_why. */
int recording_sign(struct recording *r, const struct checkpoints_key *key, const char **ret_why);

/* NULL if there is none of that number. */
struct exec_relays *recording_exec(struct recording *r, uint32_t exec);

/*
 * Command @exec is over: carry on what its streams hold, then write exec.end with @fields and the
 * totals, then call @closed once; NULL: this is the last one, and all is dead. 0 or -errno.
 */
typedef void recording_exec_closed(void *context, struct recording *r, uint32_t exec,
				   const struct exec_totals *totals, int error);
int recording_close_exec(struct recording *r, uint32_t exec, json_t *fields,
			 recording_exec_closed *closed, void *context, const char **ret_why);

/* What the last exec.end or session.end says, as an object of JSON; empty where there is none.
 * Valid until the next one. */
struct bytes recording_verdict(const struct recording *r);
/* The same parsed, the caller's; NULL where there is none. */
json_t *recording_verdict_object(const struct recording *r);

/* ---- the end ---- */

struct recording_end {
	uint64_t records, lost;
	json_t *counts;		 /* owned */
	int error;		 /* 0, or the errno for which the journal is not whole */
	struct journal *journal; /* owned: to be closed, which may take long */
};

/* @end, and all that it holds, is the callee's, and so is @r. */
typedef void recording_closed(void *context, struct recording *r, struct recording_end *end);

/*
 * The session's processes are dead and vitrine-final looks at its tree, for @seconds at most: what
 * it tells over @socket (taken over on success) is recorded before the end; -1: the tree is as it
 * was found. 0 or -errno.
 */
int recording_look(struct recording *r, int socket, uint64_t seconds, const char **ret_why);

/* When the commands that are being closed have their ends: drain to the end, write what is still
 * open, what the tree is like, the account and session.end with @fields; then @closed is called,
 * maybe before this returns. 0 or -errno (nothing was written yet, @closed is not called). */
int recording_close(struct recording *r, json_t *fields, recording_closed *closed, void *context,
		    const char **ret_why);

/* What it is like now, added to the sums of all. */
struct recording_gauges {
	uint64_t ring_size, ring_used, ring_fullest; /* the last in units of 10^-9 */
	uint64_t frozen, waiting;
};
void recording_gauge(const struct recording *r, struct recording_gauges *sums);

/* Compress a little of what is complete, when there is nothing else to do. True if it did. */
bool recording_tidy(struct recording *r);

/* vitrined is gone: drain and close the journal without a session.end. */
void recording_seal(struct recording *r);
