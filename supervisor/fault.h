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
 * escaped. */
void fault_say(struct fault *f, const char *code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same with the value of @error, so that a caller can `return fault_set(...)`. */
#define fault_set(f, error, code, ...)                                                             \
	({                                                                                         \
		int fault_error_ = (error);                                                        \
		fault_say(f, code, __VA_ARGS__);                                                   \
		fault_error_;                                                                      \
	})
