/*
 * Tracepoints by name, as perf events. Uses the kernel's tracefs without mounting it anywhere: many
 * hosts do not have it mounted, and we leave no mount behind.
 */
#pragma once

struct tracefs;

int tracefs_open(struct tracefs **ret_tracefs); /* 0 or -errno */
void tracefs_free(struct tracefs *t);

/* Id of a tracepoint given as "syscalls/sys_enter_close"; -ENOENT if the kernel has none. */
int tracefs_event_id(const struct tracefs *t, const char *event);

/* A perf event on it, disabled, to which a program can be attached. Owned by the caller. */
int tracefs_open_event(const struct tracefs *t, const char *event);
