/*
 * A stack of them. What a killed supervisor left is removed by session_dir_tidy like any directory
 * in which nothing was begun.
 */
#include "spare_dirs.h"

#include "record/cleanup.h"
#include "record/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPARES_MAX 8
#define QUIET_US 10000	/* after one was taken: its session has the processors to itself */
#define EXACTLY_US 1000 /* and not when the loop next wakes: that is the next session's start */

struct spare_dirs {
	sd_event *loop;
	int sessions_fd;
	struct session_dir_owner owner;
	struct spare_dir list[SPARES_MAX];
	size_t count;
	sd_event_source *making;
};

static int make_one(int sessions_fd, const struct session_dir_owner *owner,
		    struct spare_dir *ret_dir)
{
	struct spare_dir spare = SPARE_DIR_NONE;
	char id[SESSION_ID_LENGTH + 1];
	int r = session_dir_make_id(id);

	if (r < 0)
		return r;
	snprintf(spare.name, sizeof(spare.name), SPARE_PREFIX "%s", id);
	r = session_dir_make(sessions_fd, spare.name, owner, &spare.dir);
	if (r < 0)
		return r;
	r = journal_make_ahead(spare.dir.fd, owner->uid, owner->gid);
	if (r < 0) {
		spare_dir_remove(&spare, sessions_fd);
		return r;
	}
	*ret_dir = spare;
	return 0;
}

/* One at a time, and what fails is tried again when the next one is taken. */
static int on_idle(sd_event_source *source, uint64_t now_us, void *context)
{
	struct spare_dirs *s = context;

	(void)now_us;
	if (make_one(s->sessions_fd, &s->owner, &s->list[s->count]) == 0 &&
	    ++s->count < SPARES_MAX) {
		sd_event_source_set_time_relative(source, 0);
		sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	}
	return 0;
}

int spare_dirs_open(sd_event *loop, int sessions_fd, const struct session_dir_owner *owner,
		    struct spare_dirs **ret_spares)
{
	struct spare_dirs *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = (struct spare_dirs){.loop = loop, .sessions_fd = sessions_fd, .owner = *owner};
	int r = sd_event_add_time_relative(loop, &s->making, CLOCK_MONOTONIC, 0, EXACTLY_US,
					   on_idle, s);
	if (r >= 0)
		r = sd_event_source_set_priority(s->making, SD_EVENT_PRIORITY_IDLE);
	if (r < 0) {
		spare_dirs_close(s);
		return r;
	}
	*ret_spares = s;
	return 0;
}

void spare_dirs_close(struct spare_dirs *s)
{
	if (!s)
		return;
	sd_event_source_disable_unref(s->making);
	while (s->count > 0)
		spare_dir_remove(&s->list[--s->count], s->sessions_fd);
	free(s);
}

int spare_dirs_take(struct spare_dirs *s, int sessions_fd, const struct session_dir_owner *owner,
		    struct spare_dir *ret_dir)
{
	if (s) {
		sd_event_source_set_time_relative(s->making, QUIET_US);
		sd_event_source_set_enabled(s->making, SD_EVENT_ONESHOT);
	}
	if (!s || s->count == 0)
		return make_one(sessions_fd, owner, ret_dir);
	*ret_dir = s->list[--s->count];
	return 0;
}

int spare_dir_name(struct spare_dir *dir, int sessions_fd, const char *id)
{
	if (renameat2(sessions_fd, dir->name, sessions_fd, id, RENAME_NOREPLACE) < 0)
		return -errno;
	snprintf(dir->name, sizeof(dir->name), "%s", id);
	return 0;
}

void spare_dir_remove(struct spare_dir *dir, int sessions_fd)
{
	if (dir->dir.fd >= 0)
		session_dir_remove(sessions_fd, dir->dir.fd, dir->name);
	session_dir_close(&dir->dir);
}
