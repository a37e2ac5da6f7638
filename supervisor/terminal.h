/* The user's own terminal while a session has it: raw, and put back whatever happens. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

struct terminal {
	int fd; /* -1: not raw */
	struct termios saved;
};

#define TERMINAL_NONE                                                                              \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Size of the terminal @fd; false if it is none or has no size. */
bool terminal_size(int fd, uint16_t *ret_columns, uint16_t *ret_rows);

/* Make terminal @fd (borrowed) raw. What is no terminal is left alone. 0 or -errno. */
int terminal_make_raw(int fd, struct terminal *t);
/* Put it back as it was. Can be called twice. */
void terminal_restore(struct terminal *t);

/* A descriptor of the terminal that /dev/tty (@fd) stands for: another process cannot open /dev/tty
 * for us. -1 if @fd is something else. */
int terminal_real(int fd);
