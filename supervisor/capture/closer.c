/*
 * Two lists of jobs, to do and done, under one lock. The thread takes from the first and puts into
 * the second; the loop is woken to tell.
 */
#include "closer.h"

#include "../record/cleanup.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

struct job {
	struct job *next;
	struct journal *journal; /* until it is closed */
	int error;
	uint8_t note[HASH_SIZE];
	closer_done *done;
	void *context;
};

struct list {
	struct job *first, *last;
};

struct closer {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	struct list waiting, closed;
	int event_fd;
	sd_event_source *source;
	const struct log *log;
};

static void list_add(struct list *list, struct job *job)
{
	job->next = NULL;
	if (list->last)
		list->last->next = job;
	else
		list->first = job;
	list->last = job;
}

static struct job *list_take(struct list *list)
{
	struct job *job = list->first;

	if (job) {
		list->first = job->next;
		if (!list->first)
			list->last = NULL;
	}
	return job;
}

/* ---- the thread ---- */

static struct job *next_job(struct closer *c)
{
	pthread_mutex_lock(&c->lock);
	while (!c->waiting.first && !c->stop)
		pthread_cond_wait(&c->wake, &c->lock);
	struct job *job = list_take(&c->waiting);
	pthread_mutex_unlock(&c->lock);
	return job;
}

/* What is told is on disk already; what fails here is made again by who verifies or repairs. */
static void settle(struct closer *c, struct journal *journal)
{
	int r = journal_settle(journal);

	if (r < 0)
		log_write(c->log, LOG_LEVEL_ERROR, "the last checkpoint of a record: %s",
			  strerror(-r));
}

static void *run(void *context)
{
	struct closer *c = context;
	uint64_t one = 1;

	for (struct job *job = next_job(c); job; job = next_job(c)) {
		struct journal *journal = take(job->journal);

		job->error = journal_end(journal, job->note);
		pthread_mutex_lock(&c->lock);
		list_add(&c->closed, job);
		pthread_mutex_unlock(&c->lock);
		if (write(c->event_fd, &one, sizeof(one)) < 0)
			(void)one; /* it is full, so the loop is awake */
		settle(c, journal);
	}
	return NULL;
}

/* ---- the loop ---- */

static void tell_closed(struct closer *c)
{
	for (;;) {
		pthread_mutex_lock(&c->lock);
		struct job *job = list_take(&c->closed);
		pthread_mutex_unlock(&c->lock);
		if (!job)
			return;
		job->done(job->context, job->error, job->note);
		free(job);
	}
}

static int on_closed(sd_event_source *source, int fd, uint32_t events, void *context)
{
	uint64_t count;
	(void)source;
	(void)events;

	if (read(fd, &count, sizeof(count)) < 0)
		return 0;
	tell_closed(context);
	return 0;
}

/* ---- life ---- */

static int start_thread(struct closer *c)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = -pthread_create(&c->thread, NULL, run, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

static void release(struct closer *c)
{
	sd_event_source_disable_unref(c->source);
	cleanup_close_fd(&c->event_fd);
	pthread_cond_destroy(&c->wake);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

int closer_start(sd_event *loop, int64_t priority, const struct log *log,
		 struct closer **ret_closer)
{
	struct closer *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;

	c->log = log;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->wake, NULL);
	c->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = c->event_fd < 0 ? -errno : 0;
	if (r == 0)
		r = sd_event_add_io(loop, &c->source, c->event_fd, EPOLLIN, on_closed, c);
	if (r >= 0)
		r = sd_event_source_set_priority(c->source, priority);
	if (r >= 0)
		r = start_thread(c);
	if (r < 0) {
		release(c);
		return r;
	}
	*ret_closer = c;
	return 0;
}

void closer_stop(struct closer *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	tell_closed(c);
	release(c);
}

void closer_add(struct closer *c, struct journal *journal, closer_done *done, void *context)
{
	struct job *job = malloc(sizeof(*job));

	if (!job) {
		uint8_t note[HASH_SIZE];
		int error = journal_close_noted(journal, note);

		done(context, error, note);
		return;
	}
	*job = (struct job){.journal = journal, .done = done, .context = context};
	pthread_mutex_lock(&c->lock);
	list_add(&c->waiting, job);
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
}
