/*
 * The table of sinks.
 */
#include "sink.h"

#include <stdarg.h>
#include <string.h>

const struct sink_type *const sink_types[] = {
	&sink_file,    &sink_syslog, &sink_webhook,    &sink_hec,
	&sink_elastic, &sink_otlp,   &sink_clickhouse, NULL,
};

const char *const sink_type_names[] = {"file",	  "syslog", "webhook",	  "hec",
				       "elastic", "otlp",   "clickhouse", NULL};

const struct sink_type *sink_type_find(const char *name)
{
	for (size_t i = 0; sink_types[i]; i++)
		if (!strcmp(sink_types[i]->name, name))
			return sink_types[i];
	return NULL;
}

void sink_answer_set(struct sink_answer *a, enum answer answer, const char *format, ...)
{
	va_list arguments;

	*a = (struct sink_answer){.answer = answer};
	va_start(arguments, format);
	vsnprintf(a->why, sizeof(a->why), format, arguments);
	va_end(arguments);
	for (char *at = a->why; *at; at++)
		if ((unsigned char)*at < 0x20 || (unsigned char)*at >= 0x7f)
			*at = '?';
}
