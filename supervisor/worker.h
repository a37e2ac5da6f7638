/*
 * A thread that does for the loop what waits for a disk: one piece of work after another, in the
 * order in which they came.
 */
#pragma once

#include <systemd/sd-event.h>

struct worker;

struct work {
	int (*run)(void *context);	    /* in the thread; 0 or -errno */
	void (*done)(void *context, int r); /* in the loop, with what run returned */
	void *context;
};

/* 0 or -errno. */
int worker_start(sd_event *loop, struct worker **ret_worker);
/* Do and tell all that waits, then end. NULL is allowed. */
void worker_stop(struct worker *w);
/* Without a worker, or memory to wait in, it is done and told at once. */
void worker_add(struct worker *w, const struct work *work);
