/*
 * Calls that the session's filter refused, as events. The kernel's side tells of each call that
 * came back with an answer which the filter gives; whether it was the filter's follows from the
 * filter's own table, and what it says of the others stays out.
 */
#include "../record/cleanup.h"
#include "capture.h"

#include <errno.h>

#define ARGUMENTS_ROOM 256

static void put_refusal(struct capture *c, int error, const char *why)
{
	event_put_u64(&c->event, FIELD_errno_value, (uint64_t)error);
	event_put_text(&c->event, FIELD_error, capture_errno_name(error));
	event_put_text(&c->event, FIELD_reason, why);
}

/* Another entry: the name is that of its own table, behind the door that it came by. */
static int send_other_entry(struct capture *c, const struct wire_attempt *wire)
{
	bool x32 = wire->entry == ENTRY_X32;
	uint32_t arch = x32 ? SCMP_ARCH_X32 : SCMP_ARCH_X86;
	int call = (int)(x32 ? wire->call | __X32_SYSCALL_BIT : wire->call);
	cleanup(free) char *name = seccomp_syscall_resolve_num_arch(arch, call);
	const char *door = x32 ? "x32" : "i386";

	event_put_text(&c->event, FIELD_syscall,
		       name ? capture_text(c, "%s/%s", door, name)
			    : capture_text(c, "%s/%u", door, wire->call));
	put_refusal(c, (int)wire->error, syscall_other_entry_why);
	return capture_send(c);
}

int translate_attempt(struct capture *c, const struct wire_record *record)
{
	const struct wire_attempt *wire = (const void *)record->head;
	const uint64_t arguments[SYSCALL_ARGUMENTS] = {
		wire->argument_1, wire->argument_2, wire->argument_3,
		wire->argument_4, wire->argument_5, wire->argument_6,
	};
	struct event *e = capture_begin(c, record, EVENT_attempt);

	if (wire->entry != ENTRY_NATIVE)
		return send_other_entry(c, wire);

	const struct syscall_rule *rule = syscall_refusal(wire->call, (int)wire->error, arguments);
	/* What this session may do its filter does not refuse; the kernel itself may. */
	if (rule && rule->price && syscall_set_has(&c->options.syscalls.allowed, wire->call))
		rule = NULL;
	const char *why = rule ? rule->why : NULL;
	if (!why && wire->error == EPERM &&
	    syscall_set_has(&c->options.syscalls.denied, wire->call))
		why = syscall_denied_why;
	if (!why) {
		c->filtered[WIRE_CLASS_policy]++;
		return 0;
	}
	char *text = capture_room(c, ARGUMENTS_ROOM);
	event_put_text(e, FIELD_syscall, syscall_name(wire->call));
	if (text && *syscall_arguments(wire->call, arguments, text, ARGUMENTS_ROOM))
		event_put_text(e, FIELD_arguments, text);
	put_refusal(c, (int)wire->error, why);
	return capture_send(c);
}
