/*
 * Sources by session, opened when there is something to read.
 */
#include "feed.h"
#include "deeds.h"
#include "pending.h"

#include "../supervisor/record/checkpoints.h"
#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#define TURN 256	 /* records of one session before the next one has its turn */
#define END_WAIT_MS 5000 /* how long a closed journal's last checkpoint is waited for */

struct stream {
	char session[SESSION_ID_LENGTH + 1];
	int dir_fd; /* -1: not open */
	struct source *source;
	struct manifest manifest;
	bool has_manifest;
	bool was_seen, is_listed; /* in the last whole scan, in this one */
	bool is_refused;	  /* we may not read it */
	bool is_done, is_told;	  /* all was read; its end was told by a gap */
	uint64_t next_seq;	  /* where to go on when it is opened */
	uint64_t noted_ns;	  /* time of the last checkpoint that was given */
	uint64_t pending;   /* records to be read, as last counted, less what was read since */
	uint64_t closed_ms; /* when its journal was found closed; 0: it was not */
};

struct feed {
	struct feed_setup setup;
	struct stream *streams; /* owned; in the order of the sessions' ids */
	size_t count, room;
	size_t turn, taken; /* whose turn it is, and how many records it has had */
	struct event made;  /* a gap, or a checkpoint with its text */
	char note[NOTE_MAX], root[2 * HASH_SIZE + 1];
	struct session_facts no_facts;
	struct deeds *deeds;   /* NULL: they are not given */
	bool has_deeds;	       /* there may be some: looked for anew by each scan */
	struct manifest about; /* of the session that the last one is about */
	bool is_about;	       /* it was read */
	uint64_t resets;
	size_t measured; /* the stream whose turn it is to be counted */
	size_t refused;
	bool is_changed; /* since feed_settle */
};

int feed_new(const struct feed_setup *setup, struct feed **ret_feed)
{
	struct feed *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->setup = *setup;
	if (setup->has_acts && setup->part == 0 &&
	    deeds_new(setup->sessions_fd, &setup->cursor->acts, &f->deeds) < 0) {
		free(f);
		return -ENOMEM;
	}
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
	deeds_free(f->deeds);
	if (f->is_about)
		manifest_free(&f->about);
	free(f);
}

/* ---- sessions that come and go ---- */

static bool is_ours(const struct feed *f, const char *session)
{
	return crc32c(0, session, SESSION_ID_LENGTH) % f->setup.parts == f->setup.part;
}

/* Index of the first stream that is not before @session. */
static size_t place_of(const struct feed *f, const char *session)
{
	size_t low = 0, high = f->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(f->streams[middle].session, session) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct stream *find_stream(struct feed *f, const char *session)
{
	size_t at = place_of(f, session);

	return at < f->count && !strcmp(f->streams[at].session, session) ? &f->streams[at] : NULL;
}

static struct stream *add_stream(struct feed *f, const char *session)
{
	const struct cursor_entry *entry = cursor_find(f->setup.cursor, session);
	size_t at = place_of(f, session);
	struct stream *s;

	if (f->count == f->room) {
		size_t room = f->room ? 2 * f->room : 64;
		struct stream *streams = reallocarray(f->streams, room, sizeof(*streams));

		if (!streams)
			return NULL;
		f->streams = streams;
		f->room = room;
	}
	s = &f->streams[at];
	memmove(s + 1, s, (f->count++ - at) * sizeof(*s));
	f->turn += at <= f->turn && f->count > 1; /* it stays with who has it */
	*s = (struct stream){.dir_fd = -1,
			     .next_seq = entry ? entry->next_seq : 1,
			     .is_done = entry && entry->is_done};
	snprintf(s->session, sizeof(s->session), "%s", session);
	return s;
}

/* The entries of the cursor whose sessions are not there any more. */
static int add_missing(struct feed *f)
{
	const struct cursor *c = f->setup.cursor;

	for (size_t i = 0; i < c->count; i++) {
		const char *session = c->entries[i].session;

		if (is_ours(f, session) && !find_stream(f, session) && !add_stream(f, session))
			return -ENOMEM;
	}
	return 0;
}

static int list_sessions(struct feed *f)
{
	cleanup(close_fd) int fd =
		openat(f->setup.sessions_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup(closedir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir)
		return -errno;
	(void)take_fd(fd); /* it is the directory's */
	errno = 0;
	while ((entry = readdir(dir))) {
		struct stream *s;

		if (!session_id_is_valid(entry->d_name) || !is_ours(f, entry->d_name))
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

	f->has_deeds = f->deeds != NULL;
	for (size_t i = 0; i < f->count; i++)
		f->streams[i].is_listed = false;
	r = list_sessions(f);
	/* A list that was cut short says of nobody that he is gone. */
	for (size_t i = 0; r == 0 && i < f->count; i++)
		f->streams[i].was_seen = f->streams[i].is_listed;
	return r < 0 ? r : add_missing(f);
}

/* ---- reading ---- */

static void note_refusal(struct feed *f, struct stream *s, bool is_refused)
{
	f->refused += is_refused && !s->is_refused;
	f->refused -= !is_refused && s->is_refused;
	s->is_refused = is_refused;
}

/* Open what is not open yet. False: there is nothing to read. */
static bool open_stream(struct feed *f, struct stream *s)
{
	bool was_ahead = false;
	int r = 0;

	if (s->source)
		return true;
	if (s->dir_fd < 0)
		s->dir_fd = openat(f->setup.sessions_fd, s->session,
				   O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	r = s->dir_fd < 0 ? -errno : source_open(s->dir_fd, s->next_seq, &s->source, &was_ahead);
	note_refusal(f, s, r == -EACCES || r == -EPERM);
	if (r < 0) {
		close_stream(s);
		return false;
	}
	f->resets += was_ahead;
	if (!s->has_manifest)
		s->has_manifest = manifest_read(s->dir_fd, &s->manifest) == 0;
	return true;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
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
	    faccessat(f->setup.sessions_fd, s->session, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
	    errno != ENOENT)
		return false;
	s->is_told = s->is_done = true;
	source_make_gap(&f->made, s->next_seq, 0, now_ns(CLOCK_REALTIME), "removed");
	close_stream(s);
	return give(f, s, &f->made, ret_fed);
}

/* Make the newest checkpoint, if it was not given yet. *ret_is_last: it is the end of the journal,
 * or there will be none. */
static bool make_checkpoint(struct feed *f, struct stream *s, bool *ret_is_last)
{
	struct note note;
	int length = checkpoints_newest(s->dir_fd, &note, f->note);

	*ret_is_last = length == -ENOENT || (length > 0 && note.is_end);
	if (length <= 0 || note.time_ns == s->noted_ns)
		return false;
	s->noted_ns = note.time_ns;
	for (size_t i = 0; i < HASH_SIZE; i++)
		snprintf(f->root + 2 * i, 3, "%02x", note.root[i]);
	event_init(&f->made, EVENT_checkpoint, note.time_ns, 0);
	event_put_u64(&f->made, FIELD_tree_size, note.size);
	event_put_text(&f->made, FIELD_root_hash, f->root);
	event_put_bytes(&f->made, FIELD_note, f->note, (size_t)length);
	return true;
}

bool feed_checkpoint(struct feed *f, const char *session, struct fed *ret_fed)
{
	struct stream *s = find_stream(f, session);
	bool is_last;

	return s && s->dir_fd >= 0 && make_checkpoint(f, s, &is_last) &&
	       give(f, s, &f->made, ret_fed);
}

/* The journal was closed. Its last checkpoint is written a moment later, and comes last. */
static bool read_end(struct feed *f, struct stream *s, struct fed *ret_fed)
{
	uint64_t now_ms = now_ns(CLOCK_MONOTONIC) / 1000000;
	bool is_last = true;

	if (f->setup.has_checkpoints && make_checkpoint(f, s, &is_last))
		return give(f, s, &f->made, ret_fed);
	if (!s->closed_ms)
		s->closed_ms = now_ms;
	if (!is_last && now_ms - s->closed_ms < END_WAIT_MS)
		return false;
	s->is_done = f->is_changed = true;
	close_stream(s);
	return false;
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
		s->pending = 0;
		return read_end(f, s, ret_fed);
	case SOURCE_END:
		s->pending = 0;
		break;
	}
	return tell_removal(f, s, ret_fed);
}

/* The manifest of the session that an act is about, for who wants those of some alone. NULL: it is
 * not known, as of one that is gone. */
static const struct manifest *read_about(struct feed *f, const char *session)
{
	const struct stream *known = find_stream(f, session);
	cleanup(close_fd) int fd = session_id_is_valid(session)
					   ? openat(f->setup.sessions_fd, session,
						    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
					   : -1;

	if (f->is_about)
		manifest_free(&f->about);
	f->is_about = fd >= 0 && manifest_read(fd, &f->about) == 0;
	return f->is_about ? &f->about : known && known->has_manifest ? &known->manifest : NULL;
}

static bool read_deeds(struct feed *f, struct fed *ret_fed)
{
	struct deed deed;

	f->has_deeds = f->has_deeds && deeds_next(f->deeds, &deed);
	if (!f->has_deeds)
		return false;
	*ret_fed = (struct fed){
		.session = deed.session,
		.facts = deed.facts,
		.manifest = read_about(f, deed.session),
		.event = deed.event,
	};
	f->is_changed = true;
	return true;
}

bool feed_next(struct feed *f, struct fed *ret_fed)
{
	if (read_deeds(f, ret_fed))
		return true;
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
	cleanup(close_fd) int fd = openat(f->setup.sessions_fd, s->session,
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
			note_refusal(f, s, false);
			cursor_forget(f->setup.cursor, s->session);
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
	if (f->deeds)
		f->setup.cursor->acts = *deeds_place(f->deeds);
	for (size_t i = 0; i < f->count; i++) {
		struct stream *s = &f->streams[i];
		struct cursor_entry *entry = cursor_need(f->setup.cursor, s->session);

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

size_t feed_refused(const struct feed *f)
{
	return f->refused;
}

uint64_t feed_resets(const struct feed *f)
{
	return f->resets;
}
