#include "truth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *text;
static size_t length, room;

static void put(const char *data, size_t size)
{
	if (length + size > room) {
		room = (length + size) * 2;
		text = realloc(text, room);
		if (!text)
			acts_fail("realloc", __FILE__, __LINE__);
	}
	memcpy(text + length, data, size);
	length += size;
}

static void put_string(const char *string)
{
	put(string, strlen(string));
}

static void put_hex(const char *string)
{
	char pair[3];

	put_string("\"");
	for (; *string; string++) {
		snprintf(pair, sizeof(pair), "%02x", (unsigned char)*string);
		put(pair, 2);
	}
	put_string("\"");
}

static void put_key(const char *key)
{
	put_string(", \"");
	put_string(key);
	put_string("\": ");
}

void truth(const char *kind, pid_t pid)
{
	put_string("{\"kind\": \"");
	put_string(kind);
	put_string("\"");
	if (pid)
		truth_number("pid", pid);
}

void truth_number(const char *key, long long value)
{
	char number[32];

	snprintf(number, sizeof(number), "%lld", value);
	put_key(key);
	put_string(number);
}

void truth_bool(const char *key, bool value)
{
	put_key(key);
	put_string(value ? "true" : "false");
}

void truth_text(const char *key, const char *value)
{
	put_key(key);
	put_string("{\"hex\": ");
	put_hex(value);
	put_string("}");
}

void truth_list(const char *key, char *const *items)
{
	put_key(key);
	put_string("[");
	for (size_t i = 0; items[i]; i++) {
		put_string(i ? ", " : "");
		put_string("{\"hex\": ");
		put_hex(items[i]);
		put_string("}");
	}
	put_string("]");
}

void truth_end(void)
{
	put_string("}\n");
}

void truth_fork(pid_t parent, pid_t child)
{
	truth("process.fork", parent);
	truth_number("child.pid", child);
	truth_end();
}

void truth_exit(pid_t pid, int wait_status)
{
	truth("process.exit", pid);
	if (WIFSIGNALED(wait_status))
		truth_number("signal", WTERMSIG(wait_status));
	else
		truth_number("exit_code", WEXITSTATUS(wait_status));
	truth_end();
}

void truth_file(const char *kind, const char *path)
{
	struct stat st;

	MUST(lstat(path, &st));
	truth(kind, getpid());
	truth_text("path", path);
	truth_number("ino", st.st_ino);
	truth_number("dev", st.st_dev);
}

void truth_print(void)
{
	for (size_t done = 0; done < length;) {
		ssize_t n = write(STDOUT_FILENO, text + done, length - done);

		if (n < 0)
			acts_fail("write", __FILE__, __LINE__);
		done += n;
	}
}

void acts_fail(const char *what, const char *file, int line)
{
	dprintf(STDERR_FILENO, "acts: %s:%d: %s: %s\n", file, line, what, strerror(errno));
	_exit(99);
}

pid_t acts_child(int (*body)(void *), void *context, int *ret_status)
{
	int status;
	pid_t child = MUST(fork());

	if (!child)
		_exit(body(context));
	truth_fork(getpid(), child);
	MUST(waitpid(child, &status, 0));
	truth_exit(child, status);
	if (ret_status)
		*ret_status = status;
	return child;
}
