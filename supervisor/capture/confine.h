/*
 * The recorder's own cage: it reads what sessions made, so it must be worth nothing to whoever
 * takes it over.
 */
#pragma once

#include <sys/types.h>

#define CONFINE_ERROR 256

/*
 * Drop to @uid and @gid (neither may be 0) in all threads, for good: no groups, no capabilities,
 * no new privileges, no core, no ptrace; then allow only the system calls that recording takes, and
 * try that others are refused. 0 or -errno with a message. A sanitizer build is not caged by
 * seccomp: the sanitizers need more.
 */
int confine_self(uid_t uid, gid_t gid, char ret_error[CONFINE_ERROR]);
