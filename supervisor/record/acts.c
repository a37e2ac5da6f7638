/*
 * The ledger is the order of things; the file of acts only holds what a line of it commits to.
 */
#include "acts.h"
#include "cleanup.h"
#include "hash.h"
#include "json.h"
#include "ledger_write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define FILE_MOST (1u << 30)

/* The last end of a session that the ledger knows. */
struct ending {
	char name[LEDGER_NAME_MAX];
	bool has_note;
	uint8_t note[HASH_SIZE];
	uint64_t time_ns;
};

struct acts {
	char state[PATH_MAX];
	int fd, lock_fd;
	char *text;	   /* of the file */
	size_t size, next; /* where in it the next text is looked for */
	struct act *list;
	size_t count, room;
	struct json_buffer added;
	struct ending *endings;
	size_t ending_count, ending_room;
};

bool ledger_kind_is_act(enum ledger_kind kind)
{
	return kind == LEDGER_HOLD || kind == LEDGER_RELEASE || kind == LEDGER_REMOVE ||
	       kind == LEDGER_ACCESS || kind == LEDGER_TRIM;
}

void acts_close(struct acts *a)
{
	if (!a)
		return;
	if (a->fd >= 0)
		close(a->fd);
	if (a->lock_fd >= 0)
		close(a->lock_fd);
	free(a->text);
	free(a->list);
	free(a->endings);
	json_buffer_free(&a->added);
	free(a);
}

/* ---- reading ---- */

static int read_file(int fd, char **ret_text, size_t *ret_size)
{
	struct stat st;
	size_t done = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size > (off_t)FILE_MOST)
		return -EFBIG;

	cleanup(free) char *text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	while (done < (size_t)st.st_size) {
		ssize_t n = pread(fd, text + done, (size_t)st.st_size - done, (off_t)done);

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	*ret_text = take(text);
	*ret_size = done;
	return 0;
}

static bool next_line(struct bytes text, size_t *at, struct bytes *ret_line)
{
	const char *data = text.data, *newline;

	if (*at >= text.size)
		return false;
	newline = memchr(data + *at, '\n', text.size - *at);
	if (!newline)
		return false;
	*ret_line = (struct bytes){data + *at, (size_t)(newline - data) - *at};
	*at = (size_t)(newline + 1 - data);
	return true;
}

static const char *session_of(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

/* The text that @line commits to stands behind those of the lines before it. */
static int find_text(struct acts *a, const struct ledger_line *line, struct bytes *ret_text)
{
	uint8_t hash[HASH_SIZE];

	while (next_line((struct bytes){a->text, a->size}, &a->next, ret_text)) {
		hash_bytes(*ret_text, hash);
		if (!memcmp(hash, line->detail, HASH_SIZE))
			return 0;
	}
	return -EBADMSG;
}

static int take_act(struct acts *a, const struct ledger_line *line)
{
	struct bytes text;
	int r = find_text(a, line, &text);

	if (r < 0)
		return r;
	if (a->count == a->room) {
		size_t room = a->room ? 2 * a->room : 64;
		struct act *larger = reallocarray(a->list, room, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		a->list = larger;
		a->room = room;
	}

	struct act *act = &a->list[a->count++];
	*act = (struct act){.kind = line->kind, .time_ns = line->time_ns, .text = text};
	snprintf(act->session, sizeof(act->session), "%s", session_of(line->name));
	return 0;
}

static struct ending *find_ending(const struct acts *a, const char *session)
{
	for (size_t i = a->ending_count; i--;) {
		if (!strcmp(session_of(a->endings[i].name), session))
			return &a->endings[i];
	}
	return NULL;
}

static int take_ending(struct acts *a, const struct ledger_line *line)
{
	struct ending *ending = find_ending(a, session_of(line->name));

	if (!ending && a->ending_count == a->ending_room) {
		size_t room = a->ending_room ? 2 * a->ending_room : 64;
		struct ending *larger = reallocarray(a->endings, room, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		a->endings = larger;
		a->ending_room = room;
	}
	if (!ending) {
		ending = &a->endings[a->ending_count++];
		*ending = (struct ending){0};
		memcpy(ending->name, line->name, sizeof(ending->name));
	}
	if (line->kind != LEDGER_END)
		return 0;
	ending->has_note = true;
	ending->time_ns = line->time_ns;
	memcpy(ending->note, line->detail, HASH_SIZE);
	return 0;
}

static int read_ledger(struct acts *a)
{
	char path[PATH_MAX];
	struct ledger_line line;
	struct bytes text;
	cleanup(free) char *ledger = NULL;
	size_t size = 0, at = 0;
	int r;

	if (snprintf(path, sizeof(path), "%s/" LEDGER_FILE, a->state) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	cleanup(close_fd) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	r = read_file(fd, &ledger, &size);
	while (r == 0 && next_line((struct bytes){ledger, size}, &at, &text)) {
		r = ledger_line_read(text, &line);
		if (r == 0 && ledger_kind_is_act(line.kind))
			r = take_act(a, &line);
		else if (r == 0 && (line.kind == LEDGER_OPEN || line.kind == LEDGER_END))
			r = take_ending(a, &line);
	}
	return r;
}

/* Whoever can open a file can lock it, so it is one that only root can open. */
static int lock(struct acts *a)
{
	char path[PATH_MAX];
	size_t length = strlen(a->state);

	while (length > 1 && a->state[length - 1] == '/')
		length--;
	if (snprintf(path, sizeof(path), "%.*s.acts.lock", (int)length, a->state) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	a->lock_fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
	return a->lock_fd < 0 || flock(a->lock_fd, LOCK_EX) < 0 ? -errno : 0;
}

/* Who may read records may read what was done with them. */
static int give_to_readers(const struct acts *a)
{
	char path[PATH_MAX];
	struct stat own, sessions;

	if (snprintf(path, sizeof(path), "%s/sessions", a->state) >= (int)sizeof(path) ||
	    stat(path, &sessions) < 0)
		return 0;
	if (fstat(a->fd, &own) < 0)
		return -errno;
	return own.st_gid != sessions.st_gid && fchown(a->fd, (uid_t)-1, sessions.st_gid) < 0
		       ? -errno
		       : 0;
}

int acts_open(const char *state, enum acts_use use, struct acts **ret_acts)
{
	struct acts *a = calloc(1, sizeof(*a));
	char path[PATH_MAX];
	int r = 0;

	if (!a)
		return -ENOMEM;
	a->fd = a->lock_fd = -1;
	if (snprintf(a->state, sizeof(a->state), "%s", state) >= (int)sizeof(a->state) ||
	    snprintf(path, sizeof(path), "%s/" ACTS_FILE, state) >= (int)sizeof(path))
		r = -ENAMETOOLONG;
	if (r == 0)
		r = lock(a);
	if (r == 0)
		a->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (r == 0 && a->fd < 0)
		r = -errno;
	if (r == 0)
		r = give_to_readers(a);
	if (r == 0 && use == ACTS_READ)
		r = read_file(a->fd, &a->text, &a->size);
	if (r == 0 && use == ACTS_READ)
		r = read_ledger(a);
	if (r < 0) {
		acts_close(a);
		return r;
	}
	*ret_acts = a;
	return 0;
}

size_t acts_count(const struct acts *a)
{
	return a->count;
}

const struct act *acts_get(const struct acts *a, size_t number)
{
	return &a->list[number];
}

bool acts_is_held(const struct acts *a, const char *session)
{
	bool is_held = false;

	for (size_t i = 0; i < a->count; i++) {
		const struct act *act = &a->list[i];

		if ((act->kind == LEDGER_HOLD || act->kind == LEDGER_RELEASE) &&
		    !strcmp(act->session, session))
			is_held = act->kind == LEDGER_HOLD;
	}
	return is_held;
}

bool acts_is_removed(const struct acts *a, const char *session)
{
	for (size_t i = 0; i < a->count; i++) {
		if (a->list[i].kind == LEDGER_REMOVE && !strcmp(a->list[i].session, session))
			return true;
	}
	return false;
}

void acts_session_name(const struct acts *a, const char *session, char ret_name[LEDGER_NAME_MAX])
{
	const struct ending *ending = find_ending(a, session);

	if (ending)
		memcpy(ret_name, ending->name, LEDGER_NAME_MAX);
	else
		ledger_name(session, ret_name);
}

const uint8_t *acts_last_note(const struct acts *a, const char *session, uint64_t *ret_time_ns)
{
	const struct ending *ending = find_ending(a, session);

	if (!ending || !ending->has_note)
		return NULL;
	*ret_time_ns = ending->time_ns;
	return ending->note;
}

/* ---- writing ---- */

/* A line that a crash left without its end gets one, so that the next stands by itself. */
static int end_torn_line(const struct acts *a)
{
	off_t size = lseek(a->fd, 0, SEEK_END);
	char last = '\n';

	if (size < 0 || (size > 0 && pread(a->fd, &last, 1, size - 1) != 1))
		return -EIO;
	return last == '\n' || write(a->fd, "\n", 1) == 1 ? 0 : -EIO;
}

static int write_line(const struct acts *a, const char *text, size_t size)
{
	ssize_t n = write(a->fd, text, size);

	return n < 0 ? -errno : (size_t)n != size ? -ENOSPC : 0;
}

struct bytes acts_added(const struct acts *a)
{
	return (struct bytes){a->added.text, a->added.length ? a->added.length - 1 : 0};
}

int acts_add(struct acts *a, enum ledger_kind kind, const char *session,
	     const struct redacted *record, bool is_durable)
{
	struct json_buffer *line = &a->added;
	char name[LEDGER_NAME_MAX];
	uint8_t hash[HASH_SIZE];
	struct act *act = NULL, *larger;
	int r;

	line->length = 0;
	r = json_write_event(line, session, &record->event);

	acts_session_name(a, session, name);
	if (r == 0)
		r = end_torn_line(a);
	if (r == 0)
		r = write_line(a, line->text, line->length);
	if (r == 0 && is_durable && fdatasync(a->fd) < 0)
		r = -errno;
	if (r == 0) {
		hash_bytes((struct bytes){line->text, line->length - 1}, hash);
		r = ledger_add(a->state, kind, name, hash, is_durable, NULL);
	}
	if (r < 0)
		return r;
	larger = reallocarray(a->list, a->count + 1, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	a->list = larger;
	a->room = a->count + 1;
	act = &a->list[a->count++];
	*act = (struct act){.kind = kind, .time_ns = record->event.time_ns, .text = {"", 0}};
	snprintf(act->session, sizeof(act->session), "%s", session);
	return 0;
}
