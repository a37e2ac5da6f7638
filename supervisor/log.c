/* One line an event on standard error, by a single write(2), so that lines of processes never mix.
 */
#include "log.h"

#include "fault.h"
#include "record/cleanup.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *word;
	int priority; /* as in syslog(3) */
} levels[] = {
	[LOG_LEVEL_ERROR] = {"error: ", 3},
	[LOG_LEVEL_WARNING] = {"warning: ", 4},
	[LOG_LEVEL_NOTICE] = {"", 5},
	[LOG_LEVEL_DEBUG] = {"debug: ", 7},
};

void log_init(struct log *ret_log, const char *program, enum log_level least)
{
	*ret_log = (struct log){
		.program = program,
		.least = least,
		.journal = getenv("JOURNAL_STREAM") != NULL,
	};
}

void log_write(const struct log *log, enum log_level level, const char *format, ...)
{
	char text[FAULT_TEXT], line[FAULT_TEXT + 64];
	struct fault escaped;
	va_list arguments;
	int length;

	if (level > log->least)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	fault_say(&escaped, NULL, "%s", text);

	if (log->journal)
		length = snprintf(line, sizeof(line), "<%d>%s\n", levels[level].priority,
				  escaped.text);
	else
		length = snprintf(line, sizeof(line), "%s: %s%s\n", log->program,
				  levels[level].word, escaped.text);
	if (write(STDERR_FILENO, line, length) < 0)
		return; /* there is nobody left to tell */
}
