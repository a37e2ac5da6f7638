/*
 * Ways out of a sandbox, tried. Each prints what came of it:
 *
 *   try<TAB>NAME<TAB>held|ESCAPED<TAB>DETAIL
 *   attempt<TAB>PID<TAB>SYSCALL<TAB>ERRNO<TAB>ARGUMENTS      for each call that has to be in the
 * record
 *
 * and leaves, where it may leave anything, the mark of the run, which the host is searched for.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* The mark: a word that is nowhere else on the host. */
extern const char *mark;

/* What came of @name; the rest says what was found, printf-like. */
void came(const char *name, bool held, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A call that the filter has to refuse with @error, and the record to hold as @name with
 * @arguments. */
void must_refuse(const char *name, const char *arguments, int error, long number, long a, long b,
		 long c, long d, long e, long f);

/* Open @path as @flags say: it has to fail. */
void must_not_open(const char *name, const char *path, int flags);

/* The groups. */
void try_calls(void);	    /* system calls that are refused */
void try_entries(void);	    /* the same by other entries */
void try_descriptors(void); /* what was left open, and what leads out of the root */
void try_kernel_files(void);
void try_devices(void);
void try_processes(void);
void try_privileges(void);
void try_marks(void); /* what is allowed inside and must not be seen outside */
