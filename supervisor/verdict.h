/* How a session or a command ended: one true reason, and what `vitrine run` exits with for it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum verdict_reason {
	VERDICT_NONE, /* it has not ended */
	VERDICT_EXIT,
	VERDICT_SIGNAL,
	VERDICT_TIMEOUT,
	VERDICT_OOM,
	VERDICT_LIMIT,
	VERDICT_KILLED,
	VERDICT_SUPERVISOR_LOST,
	VERDICT_SETUP_FAILED,
};

#define VERDICT_STEP_EXEC "exec" /* step of the set-up in which the command itself is started */
#define VERDICT_STATUS_FAILED 125

struct verdict {
	enum verdict_reason reason;
	int exit_code, signal;
	bool core_dumped;
	const char *limit;		       /* static; with VERDICT_LIMIT */
	const char *by;			       /* static: who killed it; NULL: unknown */
	uint32_t sender_host_pid;	       /* process that sent the signal; 0: none is known */
	uint32_t sender_pid;		       /* the same as the session sees it; 0: not */
	uint64_t sender_start_ns;	       /* when that was started, since boot */
	const char *step;		       /* static; with VERDICT_SETUP_FAILED */
	int error;			       /* errno of the step; 0: none */
	char text[512];			       /* what went wrong, in words; may be empty */
	uint64_t cpu_ns, memory_peak, wall_ns; /* 0: unknown */
};

/* Take over reason and circumstances of @other, unless @v has a reason: the first one is the true
 * one. The usage stays. */
void verdict_decide(struct verdict *v, const struct verdict *other);

/* The verdict of a wait status as from waitpid. */
struct verdict verdict_of_wait_status(int status);

/* NULL for VERDICT_NONE; and back, VERDICT_NONE for what is no reason. */
const char *verdict_reason_name(enum verdict_reason reason);
enum verdict_reason verdict_reason_by_name(const char *name);

/* Members of exec.end and session.end, as in the canonical JSON; what is unknown is absent. NULL
 * when out of memory. */
json_t *verdict_fields(const struct verdict *v);

/* Exit status: the command's own, 128+n for signal n, 126 and 127 as a shell, 125 when it never
 * ran. */
int verdict_status(const struct verdict *v);
