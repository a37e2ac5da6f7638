/*
 * What a session begins and ends with gets onto the disk at once, and nobody waits for the disk: no
 * death of our own processes takes back what is written, and what a crash of the machine takes back
 * is within the second that it may take of every record. A record that lacks its end for that gets
 * one at the next start.
 */
#include "session_state.h"

#include "record/cleanup.h"
#include "record/ledger_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* The disk has it within the second, and what is over by then never had to wait for it. */
#define SETTLE_US 200000
#define EXACTLY_US 1000 /* and not when the loop next wakes: that is a session's start or end */

/* What has ended holds memory and descriptors, here and in the recorder, until it is on disk. */
#define UNSETTLED_OF_USER_MAX 128
#define UNSETTLED_MAX 512

struct settling {
	struct host *host;
	struct settling *next; /* of all */
	uid_t asker;
	char id[SESSION_ID_LENGTH + 1];
	int dir_fd, fd;	      /* of the manifest */
	uint64_t ledger_line; /* 0: none of its own */
};

static int settle_ledger(struct settling *t)
{
	uint64_t added = t->host->ledger_added;

	if (t->host->ledger_settled >= t->ledger_line)
		return 0; /* with one that ended before */
	int r = ledger_settle(t->host->config.state);
	if (r == 0)
		t->host->ledger_settled = added;
	return r;
}

/* In the worker's thread. */
static int settle(void *context)
{
	struct settling *t = context;
	int r = settle_ledger(t);

	if (r == 0)
		r = manifest_settle(t->dir_fd, t->fd);
	return r;
}

static void unlink_settling(struct settling *t)
{
	struct settling **at = &t->host->settlings;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
}

static void settled(void *context, int r)
{
	struct settling *t = context;

	unlink_settling(t);
	if (r < 0)
		metric_add(t->host->metrics->chain_errors, 1);
	if (r < 0)
		log_write(&t->host->log, LOG_LEVEL_ERROR,
			  "session %s: its manifest is not on disk: %s", t->id, strerror(-r));
	close(t->dir_fd);
	close(t->fd);
	free(t);
}

/* @fd, of its manifest, is used up. */
static int settling_new(const struct session *s, int fd, struct settling **ret_settling)
{
	struct settling *t = calloc(1, sizeof(*t));
	int dir_fd = fcntl(s->dir_fd, F_DUPFD_CLOEXEC, 0);

	if (!t || dir_fd < 0) {
		int r = t ? -errno : -ENOMEM;

		free(t);
		cleanup_close_fd(&dir_fd);
		close(fd);
		return r;
	}
	*t = (struct settling){
		.host = s->host,
		.next = s->host->settlings,
		.asker = s->asker.uid,
		.dir_fd = dir_fd,
		.fd = fd,
	};
	s->host->settlings = t;
	memcpy(t->id, s->manifest.id, sizeof(t->id));
	*ret_settling = t;
	return 0;
}

static void add(struct worker *worker, struct settling *t)
{
	const struct work work = {.run = settle, .done = settled, .context = t};

	worker_add(worker, &work);
}

static int on_settle(sd_event_source *source, uint64_t now_us, void *context)
{
	struct session *s = context;
	struct settling *t = NULL;

	(void)source, (void)now_us;
	s->settle = sd_event_source_disable_unref(s->settle);
	if (settling_new(s, take_fd(s->manifest_fd), &t) == 0)
		add(s->host->starts, t);
	return 0;
}

int session_settle_start(struct session *s)
{
	int r = manifest_fill(s->manifest_fd, &s->manifest);

	if (r == 0)
		r = sd_event_add_time_relative(s->host->loop, &s->settle, CLOCK_MONOTONIC,
					       SETTLE_US, EXACTLY_US, on_settle, s);
	return r < 0 ? r : 0;
}

int session_settle_end(struct session *s)
{
	struct settling *t = NULL;
	int fd = -1, r = manifest_put(s->dir_fd, &s->manifest, &fd);

	if (r == 0)
		r = settling_new(s, fd, &t);
	if (!t)
		return r;
	s->settle = sd_event_source_disable_unref(s->settle);
	t->ledger_line = ++s->host->ledger_added;
	add(s->host->ends, t);
	return 0;
}

bool session_has_to_wait(const struct host *h, uid_t uid)
{
	size_t all = 0, own = 0;

	for (const struct session *s = h->sessions; s; s = s->next)
		if (session_has_ended(s)) {
			all++;
			own += s->asker.uid == uid;
		}
	for (const struct settling *t = h->settlings; t; t = t->next) {
		all++;
		own += t->asker == uid;
	}
	return own >= UNSETTLED_OF_USER_MAX || all >= UNSETTLED_MAX;
}
