/*
 * Executing a command as a shell would find it. See lookup.h.
 */
#include "lookup.h"

#include "../record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin"
#define SHELL "/bin/sh"
#define LINE_BYTES 128

static const char *search_path(char *const *env)
{
	for (; *env; env++)
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	return PATH_DEFAULT;
}

/* A shell takes a file for a program of its own unless a NUL stands in its first line. */
static bool is_text(const char *path)
{
	char line[LINE_BYTES];

	cleanup(close_fd) int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, line, sizeof(line));
	if (n < 0)
		return false;

	const char *end = memchr(line, '\n', (size_t)n);
	return !memchr(line, 0, end ? (size_t)(end - line) : (size_t)n);
}

static int execute_shell(const char *path, char *const *argv, char *const *env)
{
	size_t count = 0;

	while (argv[count])
		count++;
	cleanup(free) char **shell_argv = calloc(count + 2, sizeof(*shell_argv));
	if (!shell_argv)
		return -ENOMEM;
	shell_argv[0] = (char *)SHELL;
	shell_argv[1] = (char *)path;
	memcpy(shell_argv + 2, argv + 1, count * sizeof(*argv));
	execve(SHELL, shell_argv, env);
	return -errno;
}

static int execute(const char *path, char *const *argv, char *const *env)
{
	execve(path, argv, env);
	int r = -errno;

	return r == -ENOEXEC && is_text(path) ? execute_shell(path, argv, env) : r;
}

/* "<directory>/<name>", an empty directory being the current one. False if it is too long. */
static bool join(const char *directory, size_t length, const char *name, char ret_path[PATH_MAX])
{
	size_t name_length = strlen(name);
	if (length + 1 + name_length >= PATH_MAX)
		return false;

	memcpy(ret_path, directory, length);
	if (length > 0)
		ret_path[length++] = '/';
	memcpy(ret_path + length, name, name_length + 1);
	return true;
}

static bool may_execute(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

int lookup_and_execute(char *const *argv, char *const *env)
{
	const char *name = argv[0];
	char path[PATH_MAX], refused[PATH_MAX] = "", first[PATH_MAX] = "";

	if (*name == 0 || strchr(name, '/'))
		return execute(name, argv, env);

	for (const char *at = search_path(env), *end; at; at = *end ? end + 1 : NULL) {
		end = strchrnul(at, ':');
		if (!join(at, (size_t)(end - at), name, path))
			continue;
		if (may_execute(path))
			return execute(path, argv, env);

		if (!*first)
			memcpy(first, path, sizeof(first));
		if (!*refused && access(path, F_OK) == 0)
			memcpy(refused, path, sizeof(refused));
	}
	return execute(*refused ? refused : *first ? first : name, argv, env);
}
