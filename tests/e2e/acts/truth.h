/*
 * What the acts program knows that it did: one JSON object a line, kept in memory and printed at
 * the end. Texts are in hex, so that any byte survives. Keys are those of the canonical JSON.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Start a fact about process @pid (as the session sees it). */
void truth(const char *kind, pid_t pid);
void truth_number(const char *key, long long value);
void truth_bool(const char *key, bool value);
void truth_text(const char *key, const char *text);
/* A list of texts that may hold anything; NULL-terminated. */
void truth_list(const char *key, char *const *items);
void truth_end(void);

/* Facts that come with nearly every act. */
void truth_fork(pid_t parent, pid_t child);
void truth_exit(pid_t pid, int wait_status);
/* path, dev and ino of what is at @path now. */
void truth_file(const char *kind, const char *path);

void truth_print(void);

/* End with a message if a step of an act itself failed: the test is then void. */
#define MUST(call)                                                                                 \
	({                                                                                         \
		__typeof__(call) must_r_ = (call);                                                 \
		if (must_r_ == (__typeof__(call))-1)                                               \
			acts_fail(#call, __FILE__, __LINE__);                                      \
		must_r_;                                                                           \
	})
void acts_fail(const char *what, const char *file, int line) __attribute__((noreturn));

/* The groups. */
void acts_exec(const char *self);
void acts_files(void);
void acts_write_methods(void);
void acts_names(void);
void acts_net(void);
void acts_unix(void);
void acts_dns(void);
void acts_cred(void);
void acts_entry(void);
void acts_flood(int count);
void acts_burst(int count);
void acts_closes(int count);
void acts_race(int count);

/* Fork; the child runs @body(context) and exits with what it returns. Records fork and exit.
 * Returns the child's pid. */
pid_t acts_child(int (*body)(void *), void *context, int *ret_status);
