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

struct spare {
	char name[SPARE_NAME_SIZE];
	struct session_dir dir;
};

struct spare_dirs {
	sd_event *loop;
	int sessions_fd;
	struct session_dir_owner owner;
	struct spare list[SPARES_MAX];
	size_t count;
	sd_event_source *making;
};

static int make_one(struct spare_dirs *s)
{
	struct spare *spare = &s->list[s->count];
	char id[SESSION_ID_LENGTH + 1];
	int r = session_dir_make_id(id);

	if (r < 0)
		return r;
	snprintf(spare->name, sizeof(spare->name), SPARE_PREFIX "%s", id);
	r = session_dir_make(s->sessions_fd, spare->name, &s->owner, &spare->dir);
	if (r < 0)
		return r;
	r = journal_make_ahead(spare->dir.fd, s->owner.uid, s->owner.gid);
	if (r < 0) {
		session_dir_remove(s->sessions_fd, spare->dir.fd, spare->name);
		session_dir_close(&spare->dir);
		return r;
	}
	s->count++;
	return 0;
}

/* One at a time, and what fails is tried again when the next one is taken. */
static int on_idle(sd_event_source *source, uint64_t now_us, void *context)
{
	struct spare_dirs *s = context;

	(void)now_us;
	if (make_one(s) == 0 && s->count < SPARES_MAX) {
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
	while (s->count > 0) {
		struct spare *spare = &s->list[--s->count];

		session_dir_remove(s->sessions_fd, spare->dir.fd, spare->name);
		session_dir_close(&spare->dir);
	}
	free(s);
}

static int give_name(struct spare_dirs *s, char ret_id[SESSION_ID_LENGTH + 1],
		     struct session_dir *ret_dir)
{
	struct spare *spare = &s->list[s->count - 1];
	int r = *ret_id ? 0 : session_dir_make_id(ret_id);

	if (r == 0 &&
	    renameat2(s->sessions_fd, spare->name, s->sessions_fd, ret_id, RENAME_NOREPLACE) < 0)
		r = -errno;
	if (r < 0)
		return r;
	*ret_dir = spare->dir;
	s->count--;
	return 0;
}

int spare_dirs_take(struct spare_dirs *s, int sessions_fd, const struct session_dir_owner *owner,
		    char ret_id[SESSION_ID_LENGTH + 1], struct session_dir *ret_dir)
{
	int r = -ENOENT;

	if (s) {
		char id[SESSION_ID_LENGTH + 1];

		memcpy(id, ret_id, sizeof(id));
		r = s->count > 0 ? give_name(s, id, ret_dir) : -ENOENT;
		if (r == 0)
			memcpy(ret_id, id, sizeof(id));
		sd_event_source_set_time_relative(s->making, QUIET_US);
		sd_event_source_set_enabled(s->making, SD_EVENT_ONESHOT);
	}
	return r == 0 ? 0 : session_dir_create(sessions_fd, owner, ret_id, ret_dir);
}
