/*
 * Renames and compresses closed files.
 */
#include "rotated.h"

#include "../../supervisor/record/cleanup.h"
#include "../../supervisor/record/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

/* The zlib file that is closed twice would be one too many. */
static int compress_to(int fd, int out_fd)
{
	cleanup(close_fd) int owned = out_fd;
	gzFile out = gzdopen(dup(owned), "wb6");
	char part[65536];
	ssize_t n;
	int r = 0;

	if (!out)
		return -ENOMEM;
	while ((n = read(fd, part, sizeof(part))) > 0 && r == 0)
		if (gzwrite(out, part, (unsigned)n) != n)
			r = -EIO;
	if (n < 0)
		r = -errno;
	if (gzclose(out) != Z_OK && r == 0)
		r = -EIO;
	if (r == 0 && fsync(owned) < 0)
		r = -errno;
	return r;
}

/* The file stays as it is where it cannot be compressed. */
static void *compress_file(void *context)
{
	const char *path = context;
	cleanup(free) char *temporary = NULL, *final = NULL;
	cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	int out_fd;

	if (asprintf(&temporary, "%s.gz.part", path) < 0)
		temporary = NULL;
	if (asprintf(&final, "%s.gz", path) < 0)
		final = NULL;
	if (fd < 0 || !temporary || !final)
		return NULL;
	out_fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
	if (out_fd < 0)
		return NULL;
	if (compress_to(fd, out_fd) < 0 || rename(temporary, final) < 0)
		unlink(temporary);
	else
		unlink(path);
	return NULL;
}

void rotated_wait(struct rotated *r)
{
	if (!r->is_working)
		return;
	pthread_join(r->worker, NULL);
	free(r->path);
	r->path = NULL;
	r->is_working = false;
}

static bool exists(const char *path)
{
	cleanup(free) char *packed = NULL;

	if (asprintf(&packed, "%s.gz", path) < 0)
		packed = NULL;
	return access(path, F_OK) == 0 || (packed && access(packed, F_OK) == 0);
}

static char *free_name(const char *path, const char *first, const char *last)
{
	for (int i = 0; i < 10000; i++) {
		cleanup(free) char *name = NULL;
		int length = i ? asprintf(&name, "%s.%s_%s.%d", path, first, last, i)
			       : asprintf(&name, "%s.%s_%s", path, first, last);

		if (length < 0) {
			name = NULL;
			return NULL;
		}
		if (!exists(name))
			return take(name);
	}
	return NULL;
}

int rotated_add(struct rotated *r, const char *path, const char *first, const char *last, bool gzip)
{
	cleanup(free) char *name = free_name(path, first, last);

	if (!name)
		return -EEXIST;
	if (rename(path, name) < 0)
		return -errno;
	rotated_wait(r);
	if (!gzip)
		return 0;
	r->path = take(name);
	r->is_working = pthread_create(&r->worker, NULL, compress_file, r->path) == 0;
	if (!r->is_working) {
		free(r->path);
		r->path = NULL;
	}
	return 0;
}

static bool is_id(const char *text, size_t length)
{
	char session[SESSION_ID_LENGTH + 1] = "";

	if (length < SESSION_ID_LENGTH + 2 || text[SESSION_ID_LENGTH] != '-')
		return false;
	memcpy(session, text, SESSION_ID_LENGTH);
	return session_id_is_valid(session) && text[SESSION_ID_LENGTH + 1] >= '1' &&
	       text[SESSION_ID_LENGTH + 1] <= '9';
}

/* The canonical line begins with seq and session; all other forms hold the id itself. */
static bool canonical_id(const char *line, char ret_id[64])
{
	static const char head[] = "{\"seq\":", middle[] = ",\"session\":\"";
	size_t digits;

	if (strncmp(line, head, sizeof(head) - 1))
		return false;
	line += sizeof(head) - 1;
	digits = strspn(line, "0123456789");
	if (!digits || digits > 20 || strncmp(line + digits, middle, sizeof(middle) - 1))
		return false;
	snprintf(ret_id, 64, "%.*s-%.*s", SESSION_ID_LENGTH, line + digits + sizeof(middle) - 1,
		 (int)digits, line);
	return true;
}

void rotated_first_id(int fd, char ret_id[64])
{
	char line[8192];
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);

	snprintf(ret_id, 64, "unknown");
	if (n <= 0)
		return;
	line[n] = 0;
	if (canonical_id(line, ret_id))
		return;
	for (const char *at = line; *at && *at != '\n'; at++) {
		size_t left = strlen(at);

		if (is_id(at, left)) {
			snprintf(ret_id, 64, "%.*s",
				 SESSION_ID_LENGTH + 1 +
					 (int)strspn(at + SESSION_ID_LENGTH + 1, "0123456789"),
				 at);
			return;
		}
	}
}
