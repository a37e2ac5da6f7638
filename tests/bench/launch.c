/*
 * How long programs take from their start to their end, by turns: so that what else the machine
 * does is the same for all of them.
 *
 *   bench-launch ROUNDS PAUSE_MS COMMAND...
 *
 * Each COMMAND is one argument, split at blanks. Prints for each a line: median, 90th and 99th
 * percentile in microseconds.
 */
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <fcntl.h>

#define WORDS_MAX 64

extern char **environ;

struct program {
	char *words[WORDS_MAX];
	uint64_t *times_ns;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void split(char *text, struct program *p)
{
	size_t count = 0;

	for (char *word; count + 1 < WORDS_MAX && (word = strsep(&text, " "));)
		if (*word)
			p->words[count++] = word;
}

static int time_one(struct program *p, const posix_spawn_file_actions_t *streams, size_t round)
{
	uint64_t begun_ns = now_ns();
	int status;
	pid_t pid;

	if (posix_spawnp(&pid, p->words[0], streams, NULL, p->words, environ) != 0 ||
	    waitpid(pid, &status, 0) != pid)
		return -1;
	p->times_ns[round] = now_ns() - begun_ns;
	return status == 0 ? 0 : -1;
}

static int compare(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return (*a > *b) - (*a < *b);
}

static void print(struct program *p, size_t rounds)
{
	qsort(p->times_ns, rounds, sizeof(*p->times_ns), compare);
	printf("%.0f %.0f %.0f\n", (double)p->times_ns[rounds / 2] / 1e3,
	       (double)p->times_ns[rounds * 9 / 10] / 1e3,
	       (double)p->times_ns[rounds * 99 / 100] / 1e3);
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 3 ? strtoul(argv[1], NULL, 10) : 0, count = (size_t)argc - 3;
	struct program *programs = calloc(count + 1, sizeof(*programs));
	posix_spawn_file_actions_t streams;

	if (rounds == 0 || !programs) {
		fprintf(stderr, "usage: bench-launch ROUNDS PAUSE_MS COMMAND...\n");
		return 2;
	}
	const struct timespec pause = {.tv_nsec = strtol(argv[2], NULL, 10) * 1000000};
	posix_spawn_file_actions_init(&streams);
	posix_spawn_file_actions_addopen(&streams, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&streams, 1, "/dev/null", O_WRONLY, 0);
	for (size_t i = 0; i < count; i++) {
		split(argv[3 + i], &programs[i]);
		programs[i].times_ns = calloc(rounds, sizeof(uint64_t));
	}
	for (size_t round = 0; round < rounds; round++)
		for (size_t i = 0; i < count; i++) {
			if (time_one(&programs[i], &streams, round) < 0) {
				fprintf(stderr, "%s failed\n", programs[i].words[0]);
				return 1;
			}
			nanosleep(&pause, NULL);
		}
	for (size_t i = 0; i < count; i++)
		print(&programs[i], rounds);
	return 0;
}
