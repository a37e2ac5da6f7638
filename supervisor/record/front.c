/* Told by the line alone: whether it was signed, the verifier looks. */
#include "front.h"

#include "cleanup.h"
#include "journal_format.h"
#include "json.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define SIZE_MOST 65536
#define TEMPORARY FRONT_FILE ".tmp"

/* 64 digits. */
static bool get_hash(struct bytes text, uint8_t ret_hash[HASH_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	const char *at = text.data;

	if (text.size != 2 * HASH_SIZE)
		return false;
	for (size_t i = 0; i < HASH_SIZE; i++) {
		const char *high = memchr(digits, at[2 * i], 16),
			   *low = memchr(digits, at[2 * i + 1], 16);

		if (!high || !low)
			return false;
		ret_hash[i] = (uint8_t)((high - digits) << 4 | (low - digits));
	}
	return true;
}

static bool take_event(const struct event *e, const char *session, struct front *f)
{
	uint64_t segments = event_u64(e, FIELD_segments, 0);

	f->last = event_u64(e, FIELD_last, 0);
	f->has_note = get_hash(event_bytes(e, FIELD_hash), f->note);
	f->segments = (uint32_t)segments;
	f->time_ns = e->time_ns;
	snprintf(f->session, sizeof(f->session), "%s", session);
	return e->kind == EVENT_record_retention && segments > 0 &&
	       segments <= SEGMENT_NUMBER_MAX && f->last > 0 &&
	       event_u64(e, FIELD_first, 0) - 1 <= 1; /* the first record may have stayed */
}

static int parse(struct bytes line, struct front *ret_front)
{
	struct json_arena *arena = json_arena_new();
	struct front f = {0};
	const char *session, *error;
	struct event e;
	int r = arena ? json_read_event(arena, line.data, line.size, &e, &session, &error)
		      : -ENOMEM;

	if (r == 0 && !take_event(&e, session, &f))
		r = -EBADMSG;
	json_arena_free(arena);
	if (r < 0)
		return r == -EINVAL ? -EBADMSG : r;
	hash_bytes(line, f.hash);
	*ret_front = f;
	return 0;
}

int front_read(int dir_fd, struct front *ret_front)
{
	cleanup(close_fd) int fd = openat(
		dir_fd, FRONT_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	cleanup(free) char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > SIZE_MOST)
		return -EBADMSG;
	text = malloc(SIZE_MOST);
	if (!text)
		return -ENOMEM;
	n = pread(fd, text, SIZE_MOST, 0);
	if (n < 1 || text[n - 1] != '\n')
		return n < 0 ? -errno : -EBADMSG;
	return parse((struct bytes){text, (size_t)n - 1}, ret_front);
}

int front_write(int dir_fd, struct bytes line)
{
	if (unlinkat(dir_fd, TEMPORARY, 0) < 0 && errno != ENOENT)
		return -errno;
	cleanup(close_fd) int fd = openat(
		dir_fd, TEMPORARY, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);

	struct stat st;

	if (fd < 0)
		return -errno;
	/* Who writes the journal has to read it, whoever removes; as another user it is their own.
	 */
	if (fstat(dir_fd, &st) < 0 || (fchown(fd, st.st_uid, st.st_gid) < 0 && errno != EPERM))
		return -errno;
	errno = 0;
	if (write(fd, line.data, line.size) != (ssize_t)line.size || write(fd, "\n", 1) != 1)
		return errno ? -errno : -ENOSPC;
	if (fsync(fd) < 0 || renameat(dir_fd, TEMPORARY, dir_fd, FRONT_FILE) < 0 ||
	    fsync(dir_fd) < 0)
		return -errno;
	return 0;
}
