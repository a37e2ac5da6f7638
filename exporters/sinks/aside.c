/*
 * A thread that waits for its turn, and an eventfd by which it says that it is done.
 */
#include "aside.h"

#include "../../supervisor/record/cleanup.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>

struct aside {
	void (*job)(void *context), (*done)(void *context);
	void *context;
	sd_event_source *source;
	int fd; /* of the eventfd */
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock; /* of the two below */
	pthread_cond_t change;
	bool is_wanted, is_ending;
};

/* True if there is a job, false at the end. */
static bool wait_for_job(struct aside *a)
{
	bool is_wanted;

	pthread_mutex_lock(&a->lock);
	while (!a->is_wanted && !a->is_ending)
		pthread_cond_wait(&a->change, &a->lock);
	is_wanted = a->is_wanted;
	a->is_wanted = false;
	pthread_mutex_unlock(&a->lock);
	return is_wanted;
}

static void *work(void *context)
{
	struct aside *a = context;

	while (wait_for_job(a)) {
		uint64_t one = 1;

		a->job(a->context);
		while (write(a->fd, &one, sizeof(one)) < 0 && errno == EINTR)
			;
	}
	return NULL;
}

static int on_done(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct aside *a = context;
	uint64_t count;

	(void)source, (void)events;
	if (read(fd, &count, sizeof(count)) == sizeof(count))
		a->done(a->context);
	return 0;
}

int aside_new(sd_event *event, void (*job)(void *context), void (*done)(void *context),
	      void *context, struct aside **ret_aside)
{
	struct aside *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->job = job;
	a->done = done;
	a->context = context;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->change, NULL);
	a->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = a->fd < 0 ? -errno : sd_event_add_io(event, &a->source, a->fd, EPOLLIN, on_done, a);
	if (r >= 0)
		r = -pthread_create(&a->thread, NULL, work, a);
	a->has_thread = r == 0;
	if (r < 0) {
		aside_free(a);
		return r;
	}
	*ret_aside = a;
	return 0;
}

void aside_free(struct aside *a)
{
	if (!a)
		return;
	if (a->has_thread) {
		pthread_mutex_lock(&a->lock);
		a->is_ending = true;
		pthread_cond_signal(&a->change);
		pthread_mutex_unlock(&a->lock);
		pthread_join(a->thread, NULL);
	}
	sd_event_source_disable_unref(a->source);
	if (a->fd >= 0)
		close(a->fd);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->change);
	free(a);
}

void aside_start(struct aside *a)
{
	pthread_mutex_lock(&a->lock);
	a->is_wanted = true;
	pthread_cond_signal(&a->change);
	pthread_mutex_unlock(&a->lock);
}
