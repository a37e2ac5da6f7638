/*
 * Executing a command as a shell would find it.
 */
#pragma once

/*
 * Execute argv[0]: as it is where it has a slash, else the first that may be executed along PATH of
 * @env. A text file without #! goes to /bin/sh. Returns only on failure, with -errno of an execve
 * that was really made, so that the kernel's record has it too.
 */
int lookup_and_execute(char *const *argv, char *const *env);
