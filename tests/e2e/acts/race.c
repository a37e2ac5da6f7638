/*
 * A name that changes while it is used: one thread removes files, another flips a byte of the path
 * that it gives. What the call was given, read before or after, is therefore often not what was
 * removed.
 */
#include "truth.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACE "/tmp/race"
#define FLIPPED (sizeof(PLACE)) /* the byte behind the slash */

struct race {
	volatile char path[64];
	atomic_bool is_over;
};

static void *flip(void *context)
{
	struct race *race = context;

	while (!race->is_over) {
		race->path[FLIPPED] = 'x';
		for (volatile int i = 0; i < 50; i++)
			;
		race->path[FLIPPED] = 'y';
		for (volatile int i = 0; i < 50; i++)
			;
	}
	return NULL;
}

static void make(const char *path)
{
	close(MUST(open(path, O_WRONLY | O_CREAT, 0600)));
}

/* The path that was removed, by what is left. */
static void remove_either(struct race *race, int number)
{
	char x[64], y[64];

	snprintf(x, sizeof(x), PLACE "/x%d", number);
	snprintf(y, sizeof(y), PLACE "/y%d", number);
	make(x);
	make(y);
	for (size_t i = FLIPPED + 1; i <= strlen(x); i++)
		race->path[i] = x[i];
	MUST(unlink((const char *)race->path));
	truth("file.delete", getpid());
	truth_text("path", access(x, F_OK) < 0 ? x : y);
	truth_end();
}

void acts_race(int count)
{
	struct race race = {.path = PLACE "/x"};
	pthread_t thread;

	MUST(mkdir(PLACE, 0700));
	if (pthread_create(&thread, NULL, flip, &race) != 0)
		acts_fail("pthread_create", __FILE__, __LINE__);
	for (int i = 0; i < count; i++)
		remove_either(&race, i);
	race.is_over = true;
	pthread_join(thread, NULL);
}
