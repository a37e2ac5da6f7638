/*
 * What vitrined counts, and vitrine-metrics, which tells it where the configuration asks for that.
 */
#pragma once

#include "host.h"

/* Make the pages of daemon and recorder; h->metrics is there from then on. 0 or -errno. */
int host_metrics_open(struct host *h, struct fault *ret_fault);
void host_metrics_close(struct host *h);

/* Once the loop runs: serve them, if that is asked for. 0 or -errno with a fault. */
int host_metrics_serve(struct host *h, struct fault *ret_fault);
