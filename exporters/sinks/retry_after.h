/*
 * Retry-After, RFC 9110 section 10.2.3: seconds, or a date in any of the three forms of HTTP.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#define RETRY_AFTER_MAX_S 300 /* what a receiver may ask for at most */

/* The wait in milliseconds that @text (may be NULL) asks for at @now; 0: none, or no sense in it.
 */
uint64_t retry_after_ms(const char *text, time_t now);
