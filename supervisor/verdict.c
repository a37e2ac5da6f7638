/* How a session or a command ended. */
#include "verdict.h"

#include "record/jansson_cleanup.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static const char *const reason_names[] = {
	[VERDICT_NONE] = NULL,
	[VERDICT_EXIT] = "exit",
	[VERDICT_SIGNAL] = "signal",
	[VERDICT_TIMEOUT] = "timeout",
	[VERDICT_OOM] = "oom",
	[VERDICT_LIMIT] = "limit",
	[VERDICT_KILLED] = "killed",
	[VERDICT_SUPERVISOR_LOST] = "supervisor_lost",
	[VERDICT_SETUP_FAILED] = "setup_failed",
};

void verdict_decide(struct verdict *v, const struct verdict *other)
{
	struct verdict decided = *other;

	if (v->reason != VERDICT_NONE)
		return;
	decided.cpu_ns = v->cpu_ns;
	decided.memory_peak = v->memory_peak;
	decided.wall_ns = v->wall_ns;
	*v = decided;
}

struct verdict verdict_of_wait_status(int status)
{
	if (WIFSIGNALED(status))
		return (struct verdict){.reason = VERDICT_SIGNAL,
					.signal = WTERMSIG(status),
					.core_dumped = WCOREDUMP(status)};
	return (struct verdict){.reason = VERDICT_EXIT, .exit_code = WEXITSTATUS(status)};
}

const char *verdict_reason_name(enum verdict_reason reason)
{
	return reason_names[reason];
}

enum verdict_reason verdict_reason_by_name(const char *name)
{
	for (size_t i = VERDICT_NONE + 1; i < sizeof(reason_names) / sizeof(reason_names[0]); i++)
		if (name && !strcmp(reason_names[i], name))
			return (enum verdict_reason)i;
	return VERDICT_NONE;
}

static void put_text(json_t *fields, const char *name, const char *text)
{
	if (text && *text)
		json_object_set_new(fields, name, json_string(text));
}

static void put_number(json_t *fields, const char *name, uint64_t value)
{
	if (value)
		json_object_set_new(fields, name, json_integer((json_int_t)value));
}

/* Which process it was: its key, and its numbers. */
static json_t *sender_object(const struct verdict *v)
{
	json_t *sender = json_pack(
		"{s:o, s:I}", "proc",
		json_sprintf("%u-%llx", v->sender_host_pid, (unsigned long long)v->sender_start_ns),
		"host_pid", (json_int_t)v->sender_host_pid);

	put_number(sender, "pid", v->sender_pid);
	return sender;
}

json_t *verdict_fields(const struct verdict *v)
{
	cleanup(json) json_t *fields = json_object();
	cleanup(json) json_t *usage = json_object();

	if (!fields || !usage)
		return NULL;
	put_text(fields, "reason", reason_names[v->reason]);
	if (v->reason == VERDICT_EXIT)
		json_object_set_new(fields, "exit_code", json_integer(v->exit_code));
	put_number(fields, "signal", v->signal);
	if (v->core_dumped)
		json_object_set_new(fields, "core_dumped", json_true());
	put_text(fields, "limit", v->limit);
	put_text(fields, "by", v->by);
	if (v->sender_host_pid)
		json_object_set_new(fields, "sender", sender_object(v));
	put_text(fields, "step", v->step);
	put_number(fields, "errno", v->error);
	put_text(fields, "error", v->text);

	put_number(usage, "cpu_ns", v->cpu_ns);
	put_number(usage, "memory_peak", v->memory_peak);
	put_number(usage, "wall_ns", v->wall_ns);
	if (json_object_size(usage) > 0)
		json_object_set(fields, "usage", usage);
	return take(fields);
}

int verdict_status(const struct verdict *v)
{
	switch (v->reason) {
	case VERDICT_EXIT:
		return v->exit_code;
	case VERDICT_SIGNAL:
	case VERDICT_TIMEOUT:
	case VERDICT_OOM:
	case VERDICT_LIMIT:
	case VERDICT_KILLED:
		return 128 + (v->signal ? v->signal : SIGKILL);
	case VERDICT_SETUP_FAILED:
		if (v->step && !strcmp(v->step, VERDICT_STEP_EXEC))
			return v->error == ENOENT ? 127 : 126;
		return VERDICT_STATUS_FAILED;
	case VERDICT_SUPERVISOR_LOST:
	case VERDICT_NONE:
		break;
	}
	return VERDICT_STATUS_FAILED;
}
