/* The daemon's log, for operators: one line an event on standard error. Only main, the loop and the
 * requests' table write it. */
#pragma once

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_NOTICE, LOG_LEVEL_DEBUG };

struct log {
	const char *program;
	enum log_level least; /* what is less urgent is not written */
	int journal;	      /* lines begin with <N> as systemd's journal reads them */
};

/* Set up @ret_log for @program: whether standard error is systemd's journal is told by its
 * environment. */
void log_init(struct log *ret_log, const char *program, enum log_level least);

/* Write a line, printf-like. Control characters are escaped. */
void log_write(const struct log *log, enum log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
