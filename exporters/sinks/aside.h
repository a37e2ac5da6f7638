/*
 * Work that may block, beside the loop: one job at a time, in a thread of its own.
 */
#pragma once

#include <systemd/sd-event.h>

struct aside;

/*
 * @job runs in the thread, @done in the loop after it; both get @context, which belongs to the job
 * from aside_start until @done. 0 or -errno.
 */
int aside_new(sd_event *event, void (*job)(void *context), void (*done)(void *context),
	      void *context, struct aside **ret_aside);

/* Waits for the job; its @done does not come any more. */
void aside_free(struct aside *a);

/* Begin the job. None may be on its way. */
void aside_start(struct aside *a);
