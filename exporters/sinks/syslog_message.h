/*
 * One record as one syslog message. Whatever it holds, it is one line, and not longer than allowed.
 */
#pragma once

#include "../project/hide.h"
#include "../project/projection.h"

struct syslog_form {
	bool is_old;	 /* RFC 3164 instead of 5424 */
	bool is_counted; /* RFC 6587, 3.4.1: the length goes before it */
	unsigned facility;
	size_t max_bytes; /* without that length */
	const struct hide_key *key;
};

/*
 * Append the message of the record whose projection is @line. A message that would be too long
 * holds, instead of the line, an object that names the record, says "truncated", how long the line
 * was and, where there is a key, its digest, and has as much of its beginning as fits.
 */
int syslog_message(const struct syslog_form *form, const struct projected *p, struct bytes line,
		   struct json_buffer *out);
