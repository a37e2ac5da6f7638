/*
 * Where metrics are served: a socket of this host's own.
 */
#pragma once

#include <stdbool.h>

#define METRICS_LISTEN_ALLOWED                                                                     \
	"unix:/PATH, or a loopback address and port: 127.0.0.1:PORT, [::1]:PORT"

/* True if @text is such a place. */
bool metrics_listen_is_valid(const char *text);

/*
 * Listen at @text: a socket of the file system has mode 0600 and replaces one that nobody listens
 * at any more. >= 0 or -errno (-EINVAL: @text is no such place; -EADDRINUSE).
 */
int metrics_listen(const char *text);

/* Take the name of a socket in the file system away. */
void metrics_unlisten(const char *text);
