/*
 * Why something was refused: a code for programs and one line for people. Functions that can be
 * refused fill one; the edge that faces a person or a client shows it.
 */
#pragma once

#define FAULT_TEXT 1024

struct fault {
	const char *code; /* static: "bad_request", "bad_policy", "setup_failed", ...; NULL: none */
	char text[FAULT_TEXT];
};

/* Fill @f, printf-like; what is in it already is replaced. Control characters in the text are
 * escaped. Returns @error, so that a caller can `return fault_set(...)`. */
int fault_set(struct fault *f, int error, const char *code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
