/*
 * The loops that `make bench` times, inside a session and bare. Prints nanoseconds per turn.
 *
 *   loops files N [DIRECTORY]   open for writing, write one byte, close
 *   loops execs N PROGRAM       fork, exec, wait
 *   loops getppid N             the cheapest system call
 *   loops latency N             sleep for 2 ms and write a byte: how late that is done, the 95th of
 * a hundred
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 2000000

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int files(long count, const char *directory)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/loop-%d", directory, (int)getpid());
	for (long i = 0; i < count; i++) {
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		if (fd < 0 || write(fd, "x", 1) != 1)
			return -1;
		close(fd);
	}
	unlink(path);
	return 0;
}

static int execs(long count, char *program)
{
	char *argv[] = {program, NULL};
	int status;

	for (long i = 0; i < count; i++) {
		pid_t pid;

		if (posix_spawn(&pid, program, NULL, NULL, argv, NULL) != 0 ||
		    waitpid(pid, &status, 0) < 0 || status)
			return -1;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int latency(long count)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t *late = calloc((size_t)count, sizeof(*late));
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	for (long i = 0; late && i < count; i++) {
		uint64_t start = now_ns();

		nanosleep(&pause, NULL);
		if (write(null, "x", 1) != 1)
			return -1;
		late[i] = now_ns() - start - PAUSE_NS;
	}
	if (!late)
		return -1;
	qsort(late, (size_t)count, sizeof(*late), compare);
	printf("%.1f\n", (double)late[count * 95 / 100]);
	free(late);
	close(null);
	return 0;
}

int main(int argc, char *argv[])
{
	long count = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	uint64_t start = now_ns();
	int r = 0;

	if (count <= 0)
		return 2;
	if (!strcmp(argv[1], "files"))
		r = files(count, argc > 3 ? argv[3] : "/tmp");
	else if (!strcmp(argv[1], "execs"))
		r = execs(count, argc > 3 ? argv[3] : "/bin/true");
	else if (!strcmp(argv[1], "latency"))
		return latency(count) < 0;
	else if (!strcmp(argv[1], "getppid"))
		for (long i = 0; i < count; i++)
			syscall(SYS_getppid);
	else
		return 2;
	if (r) {
		perror(argv[1]);
		return 1;
	}
	printf("%.1f\n", (double)(now_ns() - start) / count);
	return 0;
}
