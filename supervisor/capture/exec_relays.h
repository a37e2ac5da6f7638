/*
 * The streams of one command: which pieces of them are recorded, under the session's output policy
 * and cap, and how much there was.
 */
#pragma once

#include "relay.h"

#include <stdbool.h>
#include <stdint.h>

struct recording;
struct redactor;
struct exec_relays;

enum output_policy {
	OUTPUT_FULL, /* bytes, up to the cap */
	OUTPUT_META, /* sizes */
	OUTPUT_NONE, /* totals only */
};

enum exec_stream {
	EXEC_STDIN,
	EXEC_STDOUT,
	EXEC_STDERR,
	EXEC_TTY_INPUT,
	EXEC_TTY_OUTPUT,
	EXEC_STREAM_COUNT,
};

/* What a command wrote, and how much of it is in the record. A session's totals are the sums. */
struct exec_totals {
	struct {
		bool is_there;
		uint64_t total, kept;
	} streams[EXEC_STREAM_COUNT];
	bool truncated;	   /* some is not in the record because of the cap */
	uint64_t detached; /* output streams that somebody still held when the command had ended */
};

void exec_totals_add(struct exec_totals *to, const struct exec_totals *from);
/* Put them into an exec.end or session.end. */
void exec_totals_put(const struct exec_totals *totals, struct event *e);

/* How much may be written, and how much was. */
struct output_budget {
	uint64_t limit; /* 0: none */
	uint64_t written;
	bool is_over; /* that was told */
};

struct exec_relays_options {
	sd_event *loop;
	struct recording *recording; /* borrowed */
	uint32_t exec;
	enum output_policy output;
	uint64_t output_cap;
	uint64_t output_limit;	       /* bytes of all output streams; 0: none */
	struct output_budget *session; /* of all commands together; borrowed */
	struct redactor *delivery; /* output is delivered as it comes out of this; NULL: as it is */
	/* More came than output_limit, or than the session's budget: told once. Unless the command
	 * has ended already, nothing more is relayed. */
	void (*over_limit)(void *context, bool of_session);
	void *context;
};

int exec_relays_new(const struct exec_relays_options *options, struct exec_relays **ret_relays);
void exec_relays_free(struct exec_relays *e);

/* Deliver what the delivery's redactor gave out of stream @name of this command. 0 or -ENOMEM. */
int exec_relays_deliver(struct exec_relays *e, struct bytes name, struct bytes data);

uint32_t exec_relays_exec(const struct exec_relays *e);

/* Begin to relay @stream; the descriptors are taken over in any case. @to may be -1. 0 or -errno
 * (-EEXIST). */
int exec_relays_add(struct exec_relays *e, enum exec_stream stream, int from, int to);

/* Bytes that were read and are not recorded yet. */
void exec_relays_waiting(const struct exec_relays *e, uint64_t *ret_output, uint64_t *ret_input);

/* The window of the terminal changed: recorded as input. */
int exec_relays_resize(struct exec_relays *e, uint64_t columns, uint64_t rows);

/* The journal takes records again. */
void exec_relays_resume(struct exec_relays *e);

/* Nobody takes the output any more: it is recorded, and goes nowhere. For streams added later too.
 */
void exec_relays_discard(struct exec_relays *e);

/* The command is over: @finished is called, once, when all its output was carried on; this may be
 * at once. */
void exec_relays_finish(struct exec_relays *e, void (*finished)(void *context), void *context);
bool exec_relays_is_finishing(const struct exec_relays *e);

struct exec_totals exec_relays_totals(const struct exec_relays *e);
