/*
 * An entry is asked for; when its sandbox stands the recorder prepares its record; then it is
 * ready, and taken. One that ends by itself, or whose root the host has outdated since, is taken
 * apart; what cannot be made is tried again seldom.
 */
#include "pool.h"

#include "record/cleanup.h"
#include "sandbox/launch.h"
#include "session_dir.h"
#include "session_state.h"
#include "slot.h"

#include <errno.h>
#include <string.h>

#define AGAIN_US 1000000 /* after one that could not be made, or died */
#define QUIET_US 10000	 /* after one was taken: its session has the processors to itself */
#define EXACTLY_US 1000	 /* and not when the loop next wakes: that is the next session's start */

struct entry {
	struct entry *next;
	struct pool *pool;
	struct pool_lease lease;
	bool has_slot;	  /* lease.watch is taken */
	bool is_prepared; /* the recorder was told */
	bool is_ready;
	sd_event_source *source; /* its sandbox gets ready; then: it ends */
};

struct pool {
	struct host *host;
	uint32_t size, count, ready;
	uint64_t taken;
	struct entry *entries;
	sd_event_source *idle, *again;
	bool has_failed; /* which was told */
};

/* ---- an entry ---- */

static void free_entry(struct entry *e)
{
	struct host *h = e->pool->host;

	sd_event_source_disable_unref(e->source);
	if (e->is_prepared)
		recorder_forget(h->recorder, e->lease.id);
	if (e->has_slot)
		sensors_give_slot(h->sensors, e->lease.watch.slot);
	spare_dir_remove(&e->lease.dir, h->sessions_fd);
	streams_close_pipes(&e->lease.pipes);
	sandbox_free(e->lease.sandbox);
	cleanup_close_fd(&e->lease.slot_fd);
	free(e);
}

static void unlink_entry(struct entry *e)
{
	struct pool *p = e->pool;

	for (struct entry **at = &p->entries; *at; at = &(*at)->next)
		if (*at == e) {
			*at = e->next;
			p->count--;
			p->ready -= e->is_ready;
			return;
		}
}

static void drop_entry(struct entry *e)
{
	unlink_entry(e);
	free_entry(e);
}

/* ---- making ---- */

static int on_again(sd_event_source *source, uint64_t now_us, void *context)
{
	struct pool *p = context;

	(void)source, (void)now_us;
	p->again = sd_event_source_disable_unref(p->again);
	sd_event_source_set_enabled(p->idle, SD_EVENT_ONESHOT);
	return 0;
}

static void make_more(struct pool *p)
{
	if (p->count < p->size && !p->again)
		sd_event_source_set_enabled(p->idle, SD_EVENT_ONESHOT);
}

/* At once where few are left, else when it is quiet. */
static void make_soon(struct pool *p)
{
	if (p->ready > p->size / 2 && !p->again)
		sd_event_add_time_relative(p->host->loop, &p->again, CLOCK_MONOTONIC, QUIET_US,
					   EXACTLY_US, on_again, p);
	else if (p->again && !p->has_failed)
		sd_event_source_set_time_relative(p->again, QUIET_US);
	else
		make_more(p);
}

static void make_later(struct pool *p, const char *why)
{
	if (!p->has_failed)
		log_write(&p->host->log, LOG_LEVEL_WARNING, "the pool: %s", why);
	p->has_failed = true;
	if (!p->again)
		sd_event_add_time_relative(p->host->loop, &p->again, CLOCK_MONOTONIC, AGAIN_US, 0,
					   on_again, p);
}

/* An entry that nobody has taken says something: it has ended. */
static int on_end(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct entry *e = context;
	struct pool *p = e->pool;

	(void)source, (void)fd, (void)events;
	drop_entry(e);
	make_later(p, "a sandbox that waited for a session ended");
	return 0;
}

static int watch(struct entry *e, int fd, sd_event_io_handler_t handler)
{
	e->source = sd_event_source_disable_unref(e->source);
	int r = sd_event_add_io(e->pool->host->loop, &e->source, fd, EPOLLIN, handler, e);

	if (r >= 0)
		r = sd_event_source_set_priority(e->source, SD_EVENT_PRIORITY_IDLE);
	return r < 0 ? r : 0;
}

static int prepare_record(struct entry *e)
{
	struct host *h = e->pool->host;
	const struct session_dir_owner owner = host_session_owner(h);
	int r = spare_dirs_take(h->spare_dirs, h->sessions_fd, &owner, &e->lease.dir);

	if (r == 0)
		r = sensors_take_slot(h->sensors, &e->lease.watch);
	e->has_slot = r == 0;
	if (r < 0)
		return r;
	const struct recorder_ground ground =
		session_ground_of(e->lease.sandbox, &e->lease.watch, e->lease.dir.dir.fd);
	r = recorder_prepare(h->recorder, e->lease.id, &ground);
	e->is_prepared = r == 0;
	return r;
}

static int on_ready(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct entry *e = context;
	struct pool *p = e->pool;
	struct sandbox_error error = {0};

	(void)source, (void)fd, (void)events;
	int r = sandbox_launched(e->lease.sandbox, &error);
	if (r == 0)
		r = sandbox_ready(e->lease.sandbox, &error);
	if (r == 0)
		r = sandbox_prepare_exec(e->lease.sandbox, SESSION_EXEC, &e->lease.exec_cgroup);
	if (r == 0)
		r = streams_make_pipes(sandbox_info(e->lease.sandbox)->uid_base + SESSION_AGENT,
				       &e->lease.pipes);
	if (r == 0)
		r = watch(e, sandbox_status_fd(e->lease.sandbox), on_end);
	if (r == 0)
		r = prepare_record(e);
	if (r < 0) {
		drop_entry(e);
		make_later(p, error.text[0] ? error.text : strerror(-r));
	}
	return 0;
}

void pool_recorder_message(struct pool *p, const struct recorder_message *m)
{
	struct entry *e = p ? p->entries : NULL;

	while (e && strcmp(e->lease.id, m->session) != 0)
		e = e->next;
	if (!e || m->word != RECORDER_PREPARED || e->is_ready)
		return;
	if (m->error) {
		drop_entry(e);
		make_later(p, m->text[0] ? m->text : strerror(m->error));
		return;
	}
	e->is_ready = true;
	p->ready++;
	p->has_failed = false;
	make_more(p);
}

static int begin(struct entry *e, struct sandbox_error *error)
{
	struct host *h = e->pool->host;
	struct sandbox_options options = {.id = e->lease.id, .net = SANDBOX_NET_NONE};
	int r = session_dir_make_id(e->lease.id);

	if (r == 0)
		r = slot_take(SLOT_FILE, SESSION_SLOTS, h->slot_hint, &e->lease.slot,
			      &e->lease.slot_fd);
	if (r < 0)
		return r;
	h->slot_hint = e->lease.slot + 1;
	options.slot = e->lease.slot;
	r = sandbox_prepare(h->launcher, &h->cgroups, &options, &e->lease.sandbox, error);
	return r < 0 ? r : watch(e, sandbox_ready_fd(e->lease.sandbox), on_ready);
}

static int on_idle(sd_event_source *source, void *context)
{
	struct pool *p = context;
	struct sandbox_error error = {0};
	struct entry *e = p->count < p->size ? calloc(1, sizeof(*e)) : NULL;

	(void)source;
	if (!e)
		return 0;
	*e = (struct entry){.pool = p, .lease = POOL_LEASE_NONE, .next = p->entries};
	p->entries = e;
	p->count++;
	int r = begin(e, &error);
	if (r < 0) {
		drop_entry(e);
		make_later(p, error.text[0] ? error.text : strerror(-r));
	}
	return 0;
}

/* ---- life ---- */

int pool_open(struct host *h, uint32_t size, struct pool **ret_pool)
{
	struct pool *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->host = h;
	p->size = size;
	int r = sd_event_add_defer(h->loop, &p->idle, on_idle, p);
	if (r >= 0)
		r = sd_event_source_set_priority(p->idle, SD_EVENT_PRIORITY_IDLE);
	if (r < 0) {
		pool_close(p);
		return r;
	}
	*ret_pool = p;
	return 0;
}

void pool_close(struct pool *p)
{
	if (!p)
		return;
	while (p->entries)
		drop_entry(p->entries);
	sd_event_source_disable_unref(p->idle);
	sd_event_source_disable_unref(p->again);
	free(p);
}

static struct entry *find_ready(struct pool *p)
{
	for (struct entry *e = p->entries; e; e = e->next)
		if (e->is_ready)
			return e;
	return NULL;
}

bool pool_take(struct pool *p, struct pool_lease *ret_lease)
{
	struct entry *e;

	if (!p)
		return false;
	while ((e = find_ready(p)) && !sandbox_is_current(e->lease.sandbox))
		drop_entry(e);
	if (e)
		unlink_entry(e);
	make_soon(p);
	if (!e)
		return false;
	p->taken++;
	*ret_lease = e->lease;
	e->lease = (struct pool_lease)POOL_LEASE_NONE;
	e->has_slot = e->is_prepared = false;
	free_entry(e);
	return true;
}

uint32_t pool_size(const struct pool *p)
{
	return p ? p->size : 0;
}

uint32_t pool_ready(const struct pool *p)
{
	return p ? p->ready : 0;
}

uint64_t pool_taken(const struct pool *p)
{
	return p ? p->taken : 0;
}
