/*
 * A thread for each call, so that none waits for another. One or two that have nothing to do any
 * more are kept for calls to come. See slow_close.h.
 */
#include "slow_close.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT_MAX 2

struct closing {
	struct closing *next;
	int fds[SLOW_CLOSE_MAX];
	size_t count;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	size_t kept; /* threads that wait, and have been handed nothing */
	struct closing *handed;
} threads = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static bool hand_over(struct closing *c)
{
	pthread_mutex_lock(&threads.lock);
	bool is_kept = threads.kept > 0;
	if (is_kept) {
		threads.kept--;
		c->next = threads.handed;
		threads.handed = c;
		pthread_cond_signal(&threads.wake);
	}
	pthread_mutex_unlock(&threads.lock);
	return is_kept;
}

/* NULL: as many are kept as shall be. */
static struct closing *wait_for_next(void)
{
	struct closing *c = NULL;

	pthread_mutex_lock(&threads.lock);
	if (threads.kept < KEPT_MAX) {
		threads.kept++;
		while (!threads.handed)
			pthread_cond_wait(&threads.wake, &threads.lock);
		c = threads.handed;
		threads.handed = c->next;
	}
	pthread_mutex_unlock(&threads.lock);
	return c;
}

static void close_all(struct closing *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->fds[i] >= 0)
			close(c->fds[i]);
	free(c);
}

static void *run(void *context)
{
	for (struct closing *c = context; c; c = wait_for_next())
		close_all(c);
	return NULL;
}

static int start(struct closing *c)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int r = pthread_attr_init(&attributes);

	if (r)
		return r;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attributes, run, c);
	pthread_attr_destroy(&attributes);
	return r;
}

void slow_close(const int *fds, size_t count)
{
	struct closing *c = malloc(sizeof(*c));

	if (c) {
		memcpy(c->fds, fds, count * sizeof(*fds));
		c->count = count;
		if (!hand_over(c) && start(c) != 0)
			close_all(c);
		return;
	}
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}
