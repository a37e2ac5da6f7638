/*
 * Execs: how many arguments, how long, how strange, by which way, and why they fail.
 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *program; /* path of ourselves */
static char *no_environment[] = {NULL};

struct attempt {
	const char *path; /* NULL: by descriptor */
	int fd;
	char **argv;
};

static int run_attempt(void *context)
{
	struct attempt *a = context;

	if (a->path)
		execve(a->path, a->argv, no_environment);
	else
		syscall(SYS_execveat, a->fd, "", a->argv, no_environment, AT_EMPTY_PATH);
	return errno == ENOENT	  ? 44
	       : errno == EACCES  ? 45
	       : errno == ENOEXEC ? 46
	       : errno == E2BIG	  ? 47
				  : 48;
}

/* Run @argv by @path and say what the record has to show. */
static void run(const char *path, char **argv)
{
	struct attempt a = {.path = path, .argv = argv};
	int status;
	pid_t pid = acts_child(run_attempt, &a, &status);

	truth("process.exec", pid);
	truth_list("argv", argv);
	truth_text("requested", path);
	truth_text("exe.path", "/workspace/acts");
	truth_end();
	if (WEXITSTATUS(status) != 7)
		acts_fail(path, __FILE__, __LINE__);
}

static char **vector(size_t count)
{
	char **argv = calloc(count + 1, sizeof(*argv));

	if (!argv)
		acts_fail("calloc", __FILE__, __LINE__);
	argv[0] = "acts";
	argv[1] = "child";
	argv[2] = "7";
	return argv;
}

static char *filled(size_t size, char with)
{
	char *text = malloc(size + 1);

	if (!text)
		acts_fail("malloc", __FILE__, __LINE__);
	memset(text, with, size);
	text[size] = '\0';
	return text;
}

static void many_arguments(void)
{
	char **argv = vector(2048);

	for (size_t i = 3; i < 2048; i++) {
		argv[i] = filled(1 + i % 7, 'a' + i % 26);
	}
	run(program, argv);
}

static void long_argument(void)
{
	char **argv = vector(5);

	argv[3] = filled(128 * 1024 - 1, 'x'); /* MAX_ARG_STRLEN with its NUL */
	argv[4] = "curl evil";
	run(program, argv);
}

static void near_arg_max(void)
{
	size_t count = 15;
	char **argv = vector(3 + count);

	for (size_t i = 0; i < count; i++) {
		argv[3 + i] = filled(128 * 1024 - 1, 'A' + i);
	}
	run(program, argv);
}

static void strange_arguments(void)
{
	char **argv = vector(9);

	argv[3] = "";
	argv[4] = "\xff\xfe not utf-8 \xc3";
	argv[5] = "new\nline\ttab \x1b[31m";
	argv[6] = "[REDACTED:x:1] \"quoted\" \\ back";
	argv[7] = "\xe2\x80\xae rtl";
	argv[8] = "";
	run(program, argv);
	argv[0] = "";
	run(program, argv);
	argv[0] = "[kworker/0:1]";
	run(program, argv);
}

static void relative_path(void)
{
	char **argv = vector(3);

	MUST(chdir("/workspace"));
	run("./acts", argv);
	MUST(chdir("/"));
	run("workspace/../workspace/acts", argv);
}

static void by_descriptor(void)
{
	char **argv = vector(3);
	struct attempt a = {.fd = MUST(open(program, O_PATH | O_CLOEXEC)), .argv = argv};
	pid_t pid = acts_child(run_attempt, &a, NULL);

	truth("process.exec", pid);
	truth_list("argv", argv);
	truth_text("exe.path", "/workspace/acts");
	truth_end();
	close(a.fd);
}

static void from_memory(void)
{
	char **argv = vector(3);
	int from = MUST(open(program, O_RDONLY | O_CLOEXEC));
	struct attempt a = {.fd = MUST(memfd_create("acts-memory", MFD_CLOEXEC)), .argv = argv};
	struct stat st;
	pid_t pid;

	truth("file.read", getpid());
	truth_text("path", program);
	truth_end();
	MUST(fstat(from, &st));
	for (off_t at = 0; at < st.st_size;)
		MUST(sendfile(a.fd, from, &at, st.st_size - at));
	pid = acts_child(run_attempt, &a, NULL);
	truth("process.exec", pid);
	truth_list("argv", argv);
	truth_bool("exe.memfd", true);
	truth_end();
	close(a.fd);
	close(from);
}

static void *exec_in_thread(void *context)
{
	run_attempt(context);
	return NULL;
}

static __attribute__((noreturn)) int run_in_thread(void *context)
{
	pthread_t thread;

	pthread_create(&thread, NULL, exec_in_thread, context);
	for (;;)
		pause();
}

static void from_a_thread(void)
{
	char **argv = vector(3);
	struct attempt a = {.path = program, .argv = argv};
	pid_t pid = acts_child(run_in_thread, &a, NULL);

	truth("process.exec", pid);
	truth_list("argv", argv);
	truth_text("requested", program);
	truth_text("exe.path", "/workspace/acts");
	truth_end();
}

/* A file of the given text and mode, with the facts that making it leaves. */
static void make_file(const char *path, const char *content, mode_t mode)
{
	int fd = MUST(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
	struct stat st;

	MUST(fstat(fd, &st));
	truth_file("file.create", path);
	truth_end();
	MUST(write(fd, content, strlen(content)));
	close(fd);
	truth_file("file.modify", path);
	truth_number("bytes_written", strlen(content));
	truth_end();
}

static void through_scripts(void)
{
	char *argv[] = {"outer", "last", NULL};
	char *seen[] = {"/workspace/acts",
			"child 7",
			"/tmp/inner.sh",
			"two words",
			"/tmp/outer.sh",
			"last",
			NULL};
	struct attempt a = {.path = "/tmp/outer.sh", .argv = argv};
	pid_t pid;

	make_file("/tmp/inner.sh", "#!/workspace/acts child 7\n", 0755);
	make_file("/tmp/outer.sh", "#!/tmp/inner.sh two words\n", 0755);
	pid = acts_child(run_attempt, &a, NULL);
	truth("process.exec", pid);
	truth_list("argv", seen);
	truth_text("requested", "/tmp/outer.sh");
	truth_text("interpreter", "/workspace/acts");
	truth_text("exe.path", "/workspace/acts");
	truth_end();
}

static void fails(const char *path, char **argv, int error, const char *name)
{
	struct attempt a = {.path = path, .argv = argv};
	pid_t pid;

	/* Since 6.9 the file is looked for first: an argument in memory that nobody has touched is
	 * then not read by the kernel, and cannot be recorded. */
	for (char **argument = argv; *argument; argument++)
		*argument = strdup(*argument);
	pid = acts_child(run_attempt, &a, NULL);
	truth("process.exec_failed", pid);
	truth_list("argv", argv);
	truth_text("requested", path);
	truth_number("result", -error);
	truth_text("error", name);
	truth_end();
}

static void failing(void)
{
	char **argv = vector(4), **too_big = vector(4);

	argv[3] = "";
	fails("/no/such/program", argv, ENOENT, "ENOENT");
	make_file("/tmp/plain", "#!/no/such/interpreter\n", 0755);
	fails("/tmp/plain", argv, ENOENT, "ENOENT");
	make_file("/tmp/closed", "x", 0644);
	fails("/tmp/closed", argv, EACCES, "EACCES");
	make_file("/tmp/words", "just words\n", 0755);
	fails("/tmp/words", argv, ENOEXEC, "ENOEXEC");
	too_big[3] = filled(128 * 1024, 'y');
	fails(program, too_big, E2BIG, "E2BIG");
}

void acts_exec(const char *self)
{
	(void)self;
	program = "/workspace/acts";
	many_arguments();
	long_argument();
	near_arg_max();
	strange_arguments();
	relative_path();
	by_descriptor();
	from_memory();
	from_a_thread();
	through_scripts();
	failing();
}

#define BURST_ARGUMENTS 8
#define BURST_BYTES 120000

/* @count processes that begin an exec at the same moment, each with 960 KB of arguments: every
 * other one of a program that is not there. */
void acts_burst(int count)
{
	static char big[BURST_BYTES + 1];
	char *argv[BURST_ARGUMENTS + 2] = {"true"};
	int gate[2];
	char byte;

	memset(big, 'x', BURST_BYTES);
	for (int i = 1; i <= BURST_ARGUMENTS; i++)
		argv[i] = big;
	MUST(pipe2(gate, O_CLOEXEC));
	for (int i = 0; i < count; i++) {
		if (MUST(fork()) > 0)
			continue;
		close(gate[1]);
		if (read(gate[0], &byte, 1) == 0)
			execve(i % 2 ? "/bin/true" : "/no/such/program", argv, no_environment);
		_exit(0);
	}
	MUST(close(gate[0]));
	MUST(close(gate[1]));
	while (wait(NULL) > 0)
		continue;
	truth("burst", 0);
	truth_number("execs", count);
	truth_end();
}
