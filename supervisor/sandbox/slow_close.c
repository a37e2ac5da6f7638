/* A thread for each call: they are few, and short. See slow_close.h. */
#include "slow_close.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct closing {
	int fds[SLOW_CLOSE_MAX];
	size_t count;
};

static void *run(void *context)
{
	struct closing *c = context;

	for (size_t i = 0; i < c->count; i++)
		if (c->fds[i] >= 0)
			close(c->fds[i]);
	free(c);
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
		if (start(c) != 0)
			run(c);
		return;
	}
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}
