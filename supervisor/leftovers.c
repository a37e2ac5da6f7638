/*
 * Finishes what a killed supervisor left. Which sessions that concerns is told by their manifests,
 * and by whether the process named there still runs; nothing is trusted to memory.
 */
#include "leftovers.h"

#include "control.h"
#include "process_start.h"
#include "record/store.h"
#include "session.h"
#include "session_dir.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define STRAYS_US 2000000

static bool is_left(struct host *h, const struct manifest *m)
{
	return m->state != SESSION_ENDED && !session_find(h, m->id) &&
	       !process_is_alive((pid_t)m->supervisor_pid, m->supervisor_start);
}

/* Where a private daemon listened; by now its pid may be another one's. */
static void remove_socket(const struct manifest *m)
{
	char path[64];

	snprintf(path, sizeof(path), CONTROL_PRIVATE_SOCKET, (long long)m->supervisor_pid);
	if (m->supervisor_pid > 0 && kill((pid_t)m->supervisor_pid, 0) < 0 && errno == ESRCH)
		unlink(path);
}

/* 0, or -EAGAIN: somebody else writes in it, or finishes it already. */
static int finish(struct host *h, struct manifest *m)
{
	char id[sizeof(m->id)];
	int dir_fd = -1;

	memcpy(id, m->id, sizeof(id));
	remove_socket(m);
	int r = sandbox_remove_leftover(&h->cgroups, id);
	if (r < 0)
		log_write(&h->log, LOG_LEVEL_WARNING,
			  "session %s: what its supervisor left cannot be removed: %s", id,
			  strerror(-r));

	r = session_dir_open(h->sessions_fd, id, &dir_fd);
	if (r == 0)
		r = session_adopt(h, m, dir_fd);
	if (r < 0 && r != -EAGAIN)
		log_write(&h->log, LOG_LEVEL_WARNING,
			  "session %s: its record cannot be finished: %s", id, strerror(-r));
	return r;
}

static void remove_strays(struct host *h)
{
	int r = sandbox_remove_strays(&h->cgroups);

	if (r < 0)
		log_write(&h->log, LOG_LEVEL_WARNING,
			  "cgroups that nobody holds cannot be removed: %s", strerror(-r));
}

static int on_strays(sd_event_source *source, uint64_t now_us, void *context)
{
	(void)source, (void)now_us;
	remove_strays(context);
	return 0;
}

int leftovers_look_again(struct host *h)
{
	int r = sd_event_add_time_relative(h->loop, NULL, CLOCK_MONOTONIC, STRAYS_US, 0, on_strays,
					   h);

	return r < 0 ? r : 0;
}

size_t leftovers_finish(struct host *h)
{
	struct manifest *list = NULL;
	size_t count = 0, unreadable = 0, busy = 0;

	remove_strays(h);
	session_dir_tidy(h->sessions_fd);
	int r = store_list(h->state_fd, &list, &count, &unreadable);
	if (r < 0) {
		log_write(&h->log, LOG_LEVEL_WARNING, "%s: %s", h->config.state, strerror(-r));
		return 0;
	}
	if (unreadable > 0)
		log_write(&h->log, LOG_LEVEL_NOTICE, "%s: %zu sessions have no readable manifest",
			  h->config.state, unreadable);
	for (size_t i = 0; i < count; i++)
		if (is_left(h, &list[i]) && finish(h, &list[i]) == -EAGAIN)
			busy++;
	store_list_free(list, count);
	return busy;
}
