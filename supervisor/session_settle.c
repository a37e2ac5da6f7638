/*
 * What a session begins and ends with gets onto the disk at once, and nobody waits for the disk: no
 * death of our own processes takes back what is written, and what a crash of the machine takes back
 * is within the second that it may take of every record. A record that lacks its end for that gets
 * one at the next start.
 */
#include "session_state.h"

#include "record/ledger_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct settling {
	struct host *host;
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

static void settled(void *context, int r)
{
	struct settling *t = context;

	if (r < 0)
		metric_add(t->host->metrics->chain_errors, 1);
	if (r < 0)
		log_write(&t->host->log, LOG_LEVEL_ERROR,
			  "session %s: its manifest is not on disk: %s", t->id, strerror(-r));
	close(t->dir_fd);
	close(t->fd);
	free(t);
}

static int settling_new(const struct session *s, struct settling **ret_settling)
{
	struct settling *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	*t = (struct settling){.host = s->host, .fd = -1};
	memcpy(t->id, s->manifest.id, sizeof(t->id));
	t->dir_fd = fcntl(s->dir_fd, F_DUPFD_CLOEXEC, 0);
	int r = t->dir_fd < 0 ? -errno : manifest_put(s->dir_fd, &s->manifest, &t->fd);
	if (r < 0) {
		if (t->dir_fd >= 0)
			close(t->dir_fd);
		free(t);
		return r;
	}
	*ret_settling = t;
	return 0;
}

static void add(struct worker *worker, struct settling *t)
{
	const struct work work = {.run = settle, .done = settled, .context = t};

	worker_add(worker, &work);
}

int session_settle_start(const struct session *s)
{
	struct settling *t = NULL;
	int r = settling_new(s, &t);

	if (r < 0)
		return r;
	add(s->host->starts, t);
	return 0;
}

int session_settle_end(const struct session *s)
{
	struct settling *t = NULL;
	int r = settling_new(s, &t);

	if (r < 0)
		return r;
	t->ledger_line = ++s->host->ledger_added;
	add(s->host->ends, t);
	return 0;
}
