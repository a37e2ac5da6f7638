/*
 * vitrine-metrics as a process beside the one whose cells it tells: started, watched, started anew.
 */
#pragma once

#include "page.h"

#include <sys/types.h>
#include <systemd/sd-event.h>

struct metrics_service;

#define METRICS_PAGES_MAX 2

struct metrics_service_options {
	sd_event *event;
	const char *listen; /* borrowed; see listen.h */
	const char *serves; /* "daemon" or "exporter" */
	/* In the order that it wants them; borrowed for the call. */
	const struct metrics_page *pages[METRICS_PAGES_MAX];
	size_t page_count;
	uid_t uid; /* 0: that of this process */
	gid_t gid;
	/* Something went wrong after the start. Once a fault. */
	void (*say)(void *context, const char *text);
	void *context;
};

/* 0, or -errno with words in @ret_error, which name the place and the mend. */
int metrics_service_new(const struct metrics_service_options *options,
			struct metrics_service **ret_service, char ret_error[512]);
/* End it, and take its socket away. NULL is allowed. */
void metrics_service_free(struct metrics_service *s);
