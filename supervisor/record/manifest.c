/*
 * manifest.json of one session: read strictly, written whole or not at all.
 */
#include "cleanup.h"
#include "crash.h"
#include "jansson_cleanup.h"
#include "json_put.h"
#include "printable.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define NAME MANIFEST_FILE
#define TEMPORARY MANIFEST_TEMPORARY
#define BEFORE "manifest.json.before" /* until the one that took its place is on disk */
#define ENDING S_ISVTX /* of the directory, between the end of a session and that of its record */
#define ENDING_PAUSE_NS 2000000
#define ENDING_PAUSES 1000
#define SIZE_MOST (16 << 20)

static const char *const state_names[] = {
	[SESSION_STARTING] = "starting",
	[SESSION_RUNNING] = "running",
	[SESSION_ENDED] = "ended",
};
#define STATES (sizeof(state_names) / sizeof(*state_names))

void manifest_free(struct manifest *m)
{
	free(m->name);
	free(m->tenant);
	free(m->command);
	free(m->reason);
	*m = (struct manifest){0};
}

static void cleanup_buffer(struct json_buffer *buffer)
{
	json_buffer_free(buffer);
}

bool session_id_is_valid(const char *id)
{
	return strlen(id) == SESSION_ID_LENGTH &&
	       strspn(id, "0123456789abcdef") == SESSION_ID_LENGTH;
}

/* A text that may be absent. Each get returns 0, -EBADMSG or -ENOMEM. */
static int get_text(const json_t *object, const char *name, char **ret_text)
{
	const json_t *value = json_object_get(object, name);

	if (!value)
		return 0;
	if (!json_is_string(value))
		return -EBADMSG;
	*ret_text = strdup(json_string_value(value));
	return *ret_text ? 0 : -ENOMEM;
}

/* A number of 0 or more; @ret_number stays as it is where there is none. */
static int get_number(const json_t *object, const char *name, int64_t *ret_number)
{
	const json_t *value = json_object_get(object, name);

	if (!value)
		return 0;
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return -EBADMSG;
	*ret_number = json_integer_value(value);
	return 0;
}

static int get_count(const json_t *object, const char *name, uint64_t *ret_number)
{
	int64_t number = 0;
	int r = get_number(object, name, &number);

	*ret_number = (uint64_t)number;
	return r;
}

static int get_command(const json_t *object, char **ret_command)
{
	cleanup(buffer) struct json_buffer text = {0};
	const json_t *value = json_object_get(object, "command");
	int r;

	if (!json_is_array(value))
		return -EBADMSG;
	r = json_write_value(&text, value);
	if (r)
		return r;
	*ret_command = strndup(text.text, text.length);
	return *ret_command ? 0 : -ENOMEM;
}

static int get_state(const json_t *object, enum session_state *ret_state)
{
	const char *name = json_string_value(json_object_get(object, "state"));

	for (size_t i = 0; name && i < STATES; i++) {
		if (strcmp(name, state_names[i]) != 0)
			continue;
		*ret_state = i;
		return 0;
	}
	return -EBADMSG;
}

static int get_manifest(const json_t *object, struct manifest *m)
{
	const char *id = json_string_value(json_object_get(object, "id"));
	const json_t *supervisor = json_object_get(object, "supervisor");
	int r;

	if (!id || !session_id_is_valid(id))
		return -EBADMSG;
	memcpy(m->id, id, sizeof(m->id));
	m->exit_code = m->signal = m->uid = -1;
	if ((r = get_text(object, "name", &m->name)) ||
	    (r = get_text(object, "tenant", &m->tenant)) ||
	    (r = get_text(object, "reason", &m->reason)) ||
	    (r = get_command(object, &m->command)) || (r = get_state(object, &m->state)) ||
	    (r = get_number(object, "exit_code", &m->exit_code)) ||
	    (r = get_number(object, "signal", &m->signal)) ||
	    (r = get_count(object, "started_ns", &m->started_ns)) ||
	    (r = get_count(object, "ended_ns", &m->ended_ns)) ||
	    (r = get_count(object, "records", &m->records)) ||
	    (r = get_count(object, "lost", &m->lost)) || (r = get_number(object, "uid", &m->uid)) ||
	    (r = get_number(supervisor, "pid", &m->supervisor_pid)) ||
	    (r = get_count(supervisor, "start", &m->supervisor_start)))
		return r;
	return 0;
}

static int read_file(int session_dir_fd, const char *name, struct manifest *ret_manifest)
{
	cleanup(close_fd) int fd =
		openat(session_dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	cleanup(json) json_t *object = NULL;
	struct manifest m = {0};
	json_error_t error;
	struct stat st;
	int r;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > SIZE_MOST)
		return -EBADMSG;
	object = json_loadfd(fd, JSON_REJECT_DUPLICATES, &error);
	if (!object)
		return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EBADMSG;
	r = get_manifest(object, &m);
	if (r)
		manifest_free(&m);
	else
		*ret_manifest = m;
	return r;
}

int manifest_mark_ending(int session_dir_fd, bool is_ending)
{
	struct stat st;

	if (fstat(session_dir_fd, &st))
		return -errno;
	mode_t mode = (st.st_mode & 07777 & ~ENDING) | (is_ending ? ENDING : 0);
	return fchmod(session_dir_fd, mode) ? -errno : 0;
}

/* A few milliseconds, unless its supervisor has died over it. */
static bool is_ending(int session_dir_fd, const struct manifest *m)
{
	struct stat st;

	return m->state != SESSION_ENDED && fstat(session_dir_fd, &st) == 0 &&
	       (st.st_mode & ENDING) && m->supervisor_pid > 0 &&
	       (kill((pid_t)m->supervisor_pid, 0) == 0 || errno == EPERM);
}

static int read_once(int session_dir_fd, struct manifest *ret_manifest)
{
	int r = read_file(session_dir_fd, NAME, ret_manifest);

	if (r == -EBADMSG && read_file(session_dir_fd, BEFORE, ret_manifest) == 0)
		r = 0;
	return r;
}

int manifest_read(int session_dir_fd, struct manifest *ret_manifest)
{
	const struct timespec pause = {.tv_nsec = ENDING_PAUSE_NS};
	struct manifest m = {0};
	int r = read_once(session_dir_fd, &m);

	for (int i = 0; r == 0 && i < ENDING_PAUSES && is_ending(session_dir_fd, &m); i++) {
		manifest_free(&m);
		nanosleep(&pause, NULL);
		r = read_once(session_dir_fd, &m);
	}
	if (r == 0)
		*ret_manifest = m;
	return r;
}

static void put_text(struct json_buffer *out, const char *name, const char *text)
{
	if (!text)
		return;
	json_put(out, name, strlen(name));
	json_put_string(out, bytes_of(text));
}

static void put_number(struct json_buffer *out, const char *name, int64_t number)
{
	if (number < 0)
		return;
	json_put(out, name, strlen(name));
	json_put_i64(out, number);
}

/* False if the command is not JSON. */
static bool put_manifest(struct json_buffer *out, const struct manifest *m)
{
	bool is_json;

	put_text(out, "{\n  \"id\": ", m->id);
	put_text(out, ",\n  \"name\": ", m->name);
	put_text(out, ",\n  \"tenant\": ", m->tenant);
	json_put_literal(out, ",\n  \"command\": ");
	is_json = json_put_text(out, bytes_of(m->command ? m->command : "[]"));
	put_text(out, ",\n  \"state\": ", state_names[m->state]);
	put_text(out, ",\n  \"reason\": ", m->reason);
	put_number(out, ",\n  \"exit_code\": ", m->exit_code);
	put_number(out, ",\n  \"signal\": ", m->signal);
	put_number(out, ",\n  \"started_ns\": ", (int64_t)m->started_ns);
	put_number(out, ",\n  \"ended_ns\": ", (int64_t)m->ended_ns);
	put_number(out, ",\n  \"records\": ", (int64_t)m->records);
	put_number(out, ",\n  \"lost\": ", (int64_t)m->lost);
	put_number(out, ",\n  \"uid\": ", m->uid);
	put_number(out, ",\n  \"supervisor\": {\"pid\": ", m->supervisor_pid);
	put_number(out, ", \"start\": ", (int64_t)m->supervisor_start);
	json_put_literal(out, "}\n}\n");
	return is_json;
}

static int write_file(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		text += n;
		size -= (size_t)n;
	}
	return 0;
}

/* The name is never without a manifest, nor the disk. */
static int take_place(int session_dir_fd)
{
	if (unlinkat(session_dir_fd, BEFORE, 0) && errno != ENOENT)
		return -errno;
	if (linkat(session_dir_fd, NAME, session_dir_fd, BEFORE, 0) && errno != ENOENT)
		return -errno;
	crash_point();
	return renameat(session_dir_fd, TEMPORARY, session_dir_fd, NAME) ? -errno : 0;
}

static int make_file(int session_dir_fd, const char *name)
{
	int fd = openat(session_dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0640);

	return fd < 0 ? -errno : fd;
}

int manifest_prepare(int session_dir_fd, int *ret_fd)
{
	int fd = make_file(session_dir_fd, NAME);

	if (fd < 0)
		return fd;
	crash_point();
	*ret_fd = fd;
	return 0;
}

int manifest_fill(int fd, const struct manifest *m)
{
	cleanup(buffer) struct json_buffer text = {0};
	bool is_json = put_manifest(&text, m);
	int r = json_done(&text, 0);

	if (!r && !is_json)
		r = -EINVAL;
	if (!r)
		r = write_file(fd, text.text, text.length);
	crash_point();
	return r;
}

int manifest_put(int session_dir_fd, const struct manifest *m, int *ret_fd)
{
	if (unlinkat(session_dir_fd, TEMPORARY, 0) && errno != ENOENT)
		return -errno;
	cleanup(close_fd) int fd = make_file(session_dir_fd, TEMPORARY);
	if (fd < 0)
		return fd;
	crash_point();
	int r = manifest_fill(fd, m);
	if (!r)
		r = take_place(session_dir_fd);
	if (r) {
		unlinkat(session_dir_fd, TEMPORARY, 0);
		return r;
	}
	*ret_fd = take_fd(fd);
	return 0;
}

int manifest_settle(int session_dir_fd, int fd)
{
	crash_point();
	if (fsync(fd) || fsync(session_dir_fd))
		return -errno;
	crash_point();
	if (unlinkat(session_dir_fd, BEFORE, 0) && errno != ENOENT)
		return -errno;
	return 0;
}

int manifest_settle_again(int session_dir_fd)
{
	if (faccessat(session_dir_fd, BEFORE, F_OK, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	cleanup(close_fd) int fd = openat(session_dir_fd, NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : manifest_settle(session_dir_fd, fd);
}

int manifest_write(int session_dir_fd, const struct manifest *m)
{
	cleanup(close_fd) int fd = -1;
	int r = manifest_put(session_dir_fd, m, &fd);

	return r ? r : manifest_settle(session_dir_fd, fd);
}
