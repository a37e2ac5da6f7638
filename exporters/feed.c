/*
 * Sources by session, opened when there is something to read.
 */
#include "feed.h"
#include "pending.h"

#include "../supervisor/record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#define TURN 256 /* records of one session before the next one has its turn */

struct stream {
	char session[SESSION_ID_LENGTH + 1];
	int dir_fd; /* -1: not open */
	struct source *source;
	struct manifest manifest;
	bool has_manifest;
	bool was_seen, is_listed; /* in the last whole scan, in this one */
	bool is_done, is_told;	  /* all was read; its end was told by a gap */
	uint64_t next_seq;	  /* where to go on when it is opened */
	uint64_t pending;	  /* what was there to be read when it was last counted, less what was */
};

struct feed {
	int sessions_fd;
	struct cursor *cursor;
	struct stream *streams; /* owned */
	size_t count, room;
	size_t turn, taken; /* whose turn it is, and how many records it has had */
	struct event gap;
	struct session_facts no_facts;
	uint64_t resets;
	size_t measured; /* the stream whose turn it is to be counted */
	bool is_changed; /* since feed_settle */
};

int feed_new(int sessions_fd, struct cursor *cursor, struct feed **ret_feed)
{
	struct feed *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->cursor = cursor;
	f->sessions_fd = sessions_fd;
	*ret_feed = f;
	return 0;
}

static void close_stream(struct stream *s)
{
	source_free(s->source);
	s->source = NULL;
	if (s->dir_fd >= 0)
		close(s->dir_fd);
	s->dir_fd = -1;
}

static void free_stream(struct stream *s)
{
	close_stream(s);
	if (s->has_manifest)
		manifest_free(&s->manifest);
	s->has_manifest = false;
}

void feed_free(struct feed *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->count; i++)
		free_stream(&f->streams[i]);
	free(f->streams);
	free(f);
}

/* ---- sessions that come and go ---- */

static struct stream *find_stream(struct feed *f, const char *session)
{
	for (size_t i = 0; i < f->count; i++)
		if (!strcmp(f->streams[i].session, session))
			return &f->streams[i];
	return NULL;
}

static struct stream *add_stream(struct feed *f, const char *session)
{
	const struct cursor_entry *entry = cursor_find(f->cursor, session);
	struct stream *s;

	if (f->count == f->room) {
		size_t room = f->room ? 2 * f->room : 64;
		struct stream *streams = reallocarray(f->streams, room, sizeof(*streams));

		if (!streams)
			return NULL;
		f->streams = streams;
		f->room = room;
	}
	s = &f->streams[f->count++];
	*s = (struct stream){.dir_fd = -1,
			     .next_seq = entry ? entry->next_seq : 1,
			     .is_done = entry && entry->is_done};
	snprintf(s->session, sizeof(s->session), "%s", session);
	return s;
}

/* The entries of the cursor whose sessions are not there any more. */
static int add_missing(struct feed *f)
{
	for (size_t i = 0; i < f->cursor->count; i++) {
		const char *session = f->cursor->entries[i].session;

		if (!find_stream(f, session) && !add_stream(f, session))
			return -ENOMEM;
	}
	return 0;
}

static int list_sessions(struct feed *f)
{
	cleanup(close_fd) int fd = openat(f->sessions_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup(closedir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir)
		return -errno;
	fd = -1; /* it is the directory's */
	errno = 0;
	while ((entry = readdir(dir))) {
		struct stream *s;

		if (!session_id_is_valid(entry->d_name))
			continue;
		s = find_stream(f, entry->d_name);
		if (!s)
			s = add_stream(f, entry->d_name);
		if (!s)
			return -ENOMEM;
		s->is_listed = s->was_seen = true;
		errno = 0;
	}
	return -errno;
}

int feed_scan(struct feed *f)
{
	int r;

	for (size_t i = 0; i < f->count; i++)
		f->streams[i].is_listed = false;
	r = list_sessions(f);
	/* A list that was cut short says of nobody that he is gone. */
	for (size_t i = 0; r == 0 && i < f->count; i++)
		f->streams[i].was_seen = f->streams[i].is_listed;
	return r < 0 ? r : add_missing(f);
}

/* ---- reading ---- */

/* Open what is not open yet. False: there is nothing to read. */
static bool open_stream(struct feed *f, struct stream *s)
{
	bool was_ahead = false;

	if (s->source)
		return true;
	if (s->dir_fd < 0)
		s->dir_fd = openat(f->sessions_fd, s->session,
				   O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (s->dir_fd < 0 || source_open(s->dir_fd, s->next_seq, &s->source, &was_ahead) < 0) {
		close_stream(s);
		return false;
	}
	f->resets += was_ahead;
	if (!s->has_manifest)
		s->has_manifest = manifest_read(s->dir_fd, &s->manifest) == 0;
	return true;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool give(struct feed *f, struct stream *s, struct event *e, struct fed *ret_fed)
{
	*ret_fed = (struct fed){
		.session = s->session,
		.facts = s->source ? source_facts(s->source) : &f->no_facts,
		.manifest = s->has_manifest ? &s->manifest : NULL,
		.event = e,
	};
	f->is_changed = true;
	return true;
}

/* The session is gone: its last numbers were removed before they were read. */
static bool tell_removal(struct feed *f, struct stream *s, struct fed *ret_fed)
{
	if (s->was_seen || s->is_told ||
	    faccessat(f->sessions_fd, s->session, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
	    errno != ENOENT)
		return false;
	s->is_told = s->is_done = true;
	source_make_gap(&f->gap, s->next_seq, 0, now_ns(), "removed");
	close_stream(s);
	return give(f, s, &f->gap, ret_fed);
}

static bool read_stream(struct feed *f, struct stream *s, struct fed *ret_fed)
{
	struct event *e;

	if (s->is_done)
		return false;
	if (!open_stream(f, s))
		return tell_removal(f, s, ret_fed);
	switch (source_next(s->source, &e)) {
	case SOURCE_RECORD:
		s->next_seq = source_position(s->source);
		s->pending -= s->pending > 0;
		return give(f, s, e, ret_fed);
	case SOURCE_DONE:
		s->is_done = f->is_changed = true;
		s->pending = 0;
		close_stream(s);
		return false;
	case SOURCE_END:
		s->pending = 0;
		break;
	}
	return tell_removal(f, s, ret_fed);
}

bool feed_next(struct feed *f, struct fed *ret_fed)
{
	for (size_t tried = 0; tried <= f->count && f->count; tried++) {
		if (f->turn >= f->count)
			f->turn = 0;
		if (f->taken < TURN && read_stream(f, &f->streams[f->turn], ret_fed)) {
			f->taken++;
			return true;
		}
		f->turn++;
		f->taken = 0;
	}
	return false;
}

/* ---- what is still to be read ---- */

static void measure(const struct feed *f, struct stream *s)
{
	cleanup(close_fd) int fd = openat(f->sessions_fd, s->session,
					  O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	s->pending = fd < 0 ? 0 : pending_count(fd, s->next_seq);
}

void feed_measure(struct feed *f)
{
	for (size_t tried = 0; tried < f->count; tried++) {
		if (f->measured >= f->count)
			f->measured = 0;
		struct stream *s = &f->streams[f->measured++];

		if (!s->is_done) {
			measure(f, s);
			return;
		}
	}
}

uint64_t feed_pending(const struct feed *f)
{
	uint64_t pending = 0;

	for (size_t i = 0; i < f->count; i++)
		pending += f->streams[i].pending;
	return pending;
}

/* ---- settling ---- */

/* Sessions that are gone and settled are forgotten. */
static void forget_gone(struct feed *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->count; i++) {
		struct stream *s = &f->streams[i];

		if (s->is_done && !s->was_seen) {
			cursor_forget(f->cursor, s->session);
			free_stream(s);
			continue;
		}
		f->streams[kept++] = *s;
	}
	f->count = kept;
}

bool feed_settle(struct feed *f)
{
	if (!f->is_changed)
		return false;
	f->is_changed = false;
	for (size_t i = 0; i < f->count; i++) {
		struct stream *s = &f->streams[i];
		struct cursor_entry *entry = cursor_need(f->cursor, s->session);

		if (!entry) {
			f->is_changed = true; /* the cursor lags until there is memory */
			continue;
		}
		entry->next_seq = s->next_seq;
		entry->is_done = s->is_done;
	}
	forget_gone(f);
	return true;
}

uint64_t feed_resets(const struct feed *f)
{
	return f->resets;
}
