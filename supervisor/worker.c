/*
 * Two lists, to do and done, under one lock. The thread takes from the first and puts into the
 * second; the loop is woken to tell.
 */
#include "worker.h"

#include "record/cleanup.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

struct item {
	struct item *next;
	struct work work;
	int result;
};

struct list {
	struct item *first, *last;
};

struct worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	struct list waiting, done;
	int event_fd;
	sd_event_source *source;
};

static void list_add(struct list *list, struct item *item)
{
	item->next = NULL;
	if (list->last)
		list->last->next = item;
	else
		list->first = item;
	list->last = item;
}

static struct item *list_take(struct list *list)
{
	struct item *item = list->first;

	if (item) {
		list->first = item->next;
		if (!list->first)
			list->last = NULL;
	}
	return item;
}

/* ---- the thread ---- */

static struct item *next_item(struct worker *w)
{
	pthread_mutex_lock(&w->lock);
	while (!w->waiting.first && !w->stop)
		pthread_cond_wait(&w->wake, &w->lock);
	struct item *item = list_take(&w->waiting);
	pthread_mutex_unlock(&w->lock);
	return item;
}

static void *run(void *context)
{
	struct worker *w = context;

	for (struct item *item = next_item(w); item; item = next_item(w)) {
		item->result = item->work.run(item->work.context);
		pthread_mutex_lock(&w->lock);
		list_add(&w->done, item);
		pthread_mutex_unlock(&w->lock);
		eventfd_write(w->event_fd, 1); /* when it is full the loop is awake */
	}
	return NULL;
}

static int start_thread(struct worker *w)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = -pthread_create(&w->thread, NULL, run, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

/* ---- the loop ---- */

static void tell(struct worker *w)
{
	for (;;) {
		pthread_mutex_lock(&w->lock);
		struct item *item = list_take(&w->done);
		pthread_mutex_unlock(&w->lock);
		if (!item)
			return;
		item->work.done(item->work.context, item->result);
		free(item);
	}
}

static int on_done(sd_event_source *source, int fd, uint32_t events, void *context)
{
	eventfd_t count;

	(void)source, (void)events;
	if (eventfd_read(fd, &count) == 0)
		tell(context);
	return 0;
}

/* ---- life ---- */

static void release(struct worker *w)
{
	sd_event_source_disable_unref(w->source);
	cleanup_close_fd(&w->event_fd);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

int worker_start(sd_event *loop, struct worker **ret_worker)
{
	struct worker *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;

	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	w->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = w->event_fd < 0 ? -errno : 0;
	if (r == 0)
		r = sd_event_add_io(loop, &w->source, w->event_fd, EPOLLIN, on_done, w);
	if (r >= 0)
		r = start_thread(w);
	if (r < 0) {
		release(w);
		return r;
	}
	*ret_worker = w;
	return 0;
}

void worker_stop(struct worker *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	tell(w);
	release(w);
}

void worker_add(struct worker *w, const struct work *work)
{
	struct item *item = w ? malloc(sizeof(*item)) : NULL;

	if (!item) {
		work->done(work->context, work->run(work->context));
		return;
	}
	*item = (struct item){.work = *work};
	pthread_mutex_lock(&w->lock);
	list_add(&w->waiting, item);
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}
