/*
 * What is signed is looked at first and copied last: the files are asked for twice, once for the
 * manifest and how long the checkpoints are, then for the segments, which hold at least that much.
 */
#include "mirror.h"

#include "connection.h"
#include "control.h"
#include "record/checkpoints.h"
#include "record/cleanup.h"
#include "record/front.h"
#include "record/jansson_cleanup.h"
#include "record/turns.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define COPY_BYTES (256 << 10)

struct mirror {
	int socket, dir_fd;
	char id[SESSION_ID_LENGTH + 1];
	bool is_live;
	char last[SEGMENT_NAME_SIZE]; /* the segment that may still grow; "": none yet */
	int last_fd;		      /* it, as it was first seen: later it may be packed */
};

/* What was seen before the segments were asked for. */
struct seen {
	int checkpoints_fd, manifest_fd; /* -1: there is none */
	off_t checkpoints_size;
};

static void cleanup_seen(struct seen *s)
{
	if (s->checkpoints_fd >= 0)
		close(s->checkpoints_fd);
	if (s->manifest_fd >= 0)
		close(s->manifest_fd);
}

void mirror_free(struct mirror *m)
{
	if (!m)
		return;
	if (m->dir_fd >= 0)
		close(m->dir_fd);
	if (m->last_fd >= 0)
		close(m->last_fd);
	free(m);
}

bool mirror_is_live(const struct mirror *m)
{
	return m->is_live;
}

/* ---- copying ---- */

/* @out, which may hold the beginning already, gets what @in has up to @size (-1: all). */
static int copy(int in, int out, off_t size)
{
	cleanup(free) char *room = malloc(COPY_BYTES);
	off_t at = lseek(out, 0, SEEK_END);

	if (!room || at < 0)
		return room ? -errno : -ENOMEM;
	while (size < 0 || at < size) {
		size_t most = size < 0 || size - at > COPY_BYTES ? COPY_BYTES : (size_t)(size - at);
		ssize_t n = pread(in, room, most, at);

		if (n == 0)
			break;
		if (n < 0 || write(out, room, (size_t)n) != n)
			return n < 0 || errno ? -errno : -ENOSPC;
		at += n;
	}
	return 0;
}

static int append_to(struct mirror *m, const char *name, int in, off_t size)
{
	cleanup(close_fd) int out = openat(
		m->dir_fd, name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);

	errno = out < 0 ? errno : 0;
	return out < 0 ? -errno : copy(in, out, size);
}

/* What is written whole takes the place of what was there. */
static int replace(struct mirror *m, const char *name, int in)
{
	char made[NAME_MAX + 8];
	int r;

	snprintf(made, sizeof(made), "%s.tmp", name);
	unlinkat(m->dir_fd, made, 0);
	r = append_to(m, made, in, -1);
	return r == 0 && renameat(m->dir_fd, made, m->dir_fd, name) < 0 ? -errno : r;
}

/* ---- what is lent ---- */

typedef int take_file(void *context, struct mirror *m, const char *name, int *fd);

static int take_page(struct mirror *m, const struct control_message *page, take_file *taker,
		     void *context)
{
	const json_t *files = json_object_get(page->body, "files");
	int r = 0;

	if (json_array_size(files) != page->fd_count)
		return -EBADMSG;
	for (size_t i = 0; r == 0 && i < page->fd_count; i++) {
		const char *name = json_string_value(json_array_get(files, i));

		r = name ? taker(context, m, name, (int *)&page->fds[i]) : -EBADMSG;
	}
	return r;
}

/* All files behind @after, each told to @taker. @first: the page that is there already, or NULL. */
static int each_file(struct mirror *m, const char *after, struct control_message *first,
		     take_file *taker, void *context, struct fault *f)
{
	char next[NAME_MAX + 1] = "";
	bool has_more = true;
	int r = 0;

	snprintf(next, sizeof(next), "%s", after);
	while (r == 0 && has_more) {
		struct control_message page = {0};

		if (first)
			page = *first;
		else
			r = connection_ask(
				m->socket,
				json_pack("{s:s, s:s}", "request", "record.more", "after", next),
				&page, f);
		first = NULL;
		if (r < 0)
			return r;
		const char *more = json_string_value(json_object_get(page.body, "next"));
		has_more = more && strcmp(more, next) > 0;
		snprintf(next, sizeof(next), "%s", has_more ? more : "");
		r = take_page(m, &page, taker, context);
		control_message_free(&page);
	}
	return r < 0 ? fault_set(f, r, "copy", "session %s: cannot copy its record to $TMPDIR: %s",
				 m->id, strerror(-r))
		     : 0;
}

static int see(void *context, struct mirror *m, const char *name, int *fd)
{
	struct seen *seen = context;
	struct stat st;

	(void)m;
	if (!strcmp(name, MANIFEST_FILE) && seen->manifest_fd < 0)
		seen->manifest_fd = take_fd(*fd);
	if (strcmp(name, CHECKPOINTS_FILE) != 0 || seen->checkpoints_fd >= 0)
		return 0;
	if (fstat(*fd, &st) < 0)
		return -errno;
	seen->checkpoints_size = st.st_size;
	seen->checkpoints_fd = take_fd(*fd);
	return 0;
}

/* Segments come in order. The one that was the last is read on as it was: whole, if there is a
 * later one. */
static int take_segment(void *context, struct mirror *m, const char *name, int *fd)
{
	uint32_t number;
	int r = 0;

	(void)context;
	/* Both were there before the first segment went. */
	if (!strcmp(name, FRONT_FILE) || !strcmp(name, TURNS_FILE))
		return replace(m, name, *fd);
	if (!segment_number(name, &number) || strcmp(name, m->last) < 0)
		return 0;
	if (m->last_fd >= 0)
		r = append_to(m, m->last, m->last_fd, -1);
	if (r < 0 || strcmp(name, m->last) == 0)
		return r;
	if (m->last_fd >= 0)
		close(m->last_fd);
	m->last_fd = take_fd(*fd);
	snprintf(m->last, sizeof(m->last), "%s", name);
	return append_to(m, name, m->last_fd, -1);
}

/* The name before that of the segment which may grow: behind it stands all that may be new. */
static void name_before(const struct mirror *m, char ret_name[SEGMENT_NAME_SIZE])
{
	uint32_t number;

	ret_name[0] = 0;
	if (segment_number(m->last, &number) && number > 0)
		segment_name(number - 1, "", ret_name);
}

static int is_ended(int manifest_fd, bool *ret_is_ended)
{
	cleanup(json) json_t *manifest = NULL;
	const char *state;

	if (manifest_fd < 0 || lseek(manifest_fd, 0, SEEK_SET) < 0)
		return -EBADMSG;
	manifest = json_loadfd(manifest_fd, JSON_REJECT_DUPLICATES, NULL);
	state = json_string_value(json_object_get(manifest, "state"));
	*ret_is_ended = state && !strcmp(state, "ended");
	return manifest ? 0 : -EBADMSG;
}

static int copy_all(struct mirror *m, struct control_message *first, struct fault *f)
{
	cleanup(seen) struct seen seen = {.checkpoints_fd = -1, .manifest_fd = -1};
	char after[SEGMENT_NAME_SIZE];
	bool has_ended = false;
	int r;

	name_before(m, after);
	r = each_file(m, after, first, see, &seen, f);
	if (r == 0)
		r = each_file(m, after, NULL, take_segment, NULL, f);
	if (r < 0)
		return r;
	r = is_ended(seen.manifest_fd, &has_ended);
	if (r == 0 && seen.checkpoints_fd >= 0)
		r = append_to(m, CHECKPOINTS_FILE, seen.checkpoints_fd, seen.checkpoints_size);
	if (r == 0)
		r = replace(m, MANIFEST_FILE, seen.manifest_fd);
	m->is_live = !has_ended;
	return r < 0 ? fault_set(f, r, "copy", "session %s: cannot copy its record to $TMPDIR: %s",
				 m->id, strerror(-r))
		     : 0;
}

int mirror_go_on(struct mirror *m, struct fault *f)
{
	return copy_all(m, NULL, f);
}

static int open_directory(int sessions_fd, const char *id)
{
	if (mkdirat(sessions_fd, id, 0700) < 0 && errno != EEXIST)
		return -errno;
	int fd = openat(sessions_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int mirror_new(int socket, int sessions_fd, const char *id, const char *query,
	       struct mirror **ret_mirror, struct fault *f)
{
	struct mirror *m = calloc(1, sizeof(*m));
	struct control_message page = {0};
	int r;

	if (!m)
		return fault_set(f, -ENOMEM, "no_memory", "out of memory");
	m->socket = socket;
	m->dir_fd = m->last_fd = -1;
	snprintf(m->id, sizeof(m->id), "%s", id);
	r = connection_ask(socket,
			   json_pack("{s:s, s:s, s:o}", "request", "record.open", "session", id,
				     "query", control_bytes(query, strlen(query))),
			   &page, f);
	if (r == 0)
		m->dir_fd = open_directory(sessions_fd, id);
	if (r == 0 && m->dir_fd < 0) {
		r = fault_set(f, m->dir_fd, "copy", "session %s: %s", id, strerror(-m->dir_fd));
		control_message_free(&page);
	}
	if (r == 0)
		r = copy_all(m, &page, f);
	if (r < 0) {
		mirror_free(m);
		return r;
	}
	*ret_mirror = m;
	return 0;
}
