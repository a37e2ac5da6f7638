/*
 * Splunk's HTTP Event Collector: what its answers are handed to.
 */
#pragma once

#include "http.h"

/* What the collector says of the acknowledgement that @context, the sink, waits for. */
void hec_acknowledge(void *context, const struct http_result *result);
