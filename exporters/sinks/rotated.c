/*
 * Renames closed files, and compresses them one after the other.
 */
#include "rotated.h"
#include "compress.h"
#include "line_id.h"

#include "../../supervisor/record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

struct closed {
	struct closed *next;
	char path[];
};

struct rotated {
	const char *path;
	const struct compression *way;
	pthread_t worker;
	bool has_worker;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t more;
	atomic_bool is_ending;
	struct closed *first, **end;
};

const char *const rotated_ways[] = {"gzip", "zstd", "none", NULL};

/* ---- the worker ---- */

/* The file stays as it is where it cannot be compressed. */
static void compress_file(struct rotated *r, const char *path)
{
	cleanup(free) char *temporary = NULL, *final = NULL;
	cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), out_fd = -1;

	if (asprintf(&temporary, "%s%s.part", path, r->way->suffix) < 0)
		temporary = NULL;
	if (asprintf(&final, "%s%s", path, r->way->suffix) < 0)
		final = NULL;
	if (fd < 0 || !temporary || !final)
		return;
	out_fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (out_fd < 0)
		return;
	if (r->way->pack(fd, out_fd, &r->is_ending) < 0 || fsync(out_fd) < 0 ||
	    rename(temporary, final) < 0)
		unlink(temporary);
	else
		unlink(path);
}

static struct closed *wait_for_one(struct rotated *r)
{
	struct closed *one = NULL;

	pthread_mutex_lock(&r->lock);
	while (!r->is_ending && !r->first)
		pthread_cond_wait(&r->more, &r->lock);
	if (!r->is_ending) {
		one = r->first;
		r->first = one->next;
		if (!r->first)
			r->end = &r->first;
	}
	pthread_mutex_unlock(&r->lock);
	return one;
}

static void *work(void *context)
{
	struct rotated *r = context;
	struct closed *one;

	while ((one = wait_for_one(r))) {
		compress_file(r, one->path);
		free(one);
	}
	return NULL;
}

/* Without memory the file waits for the next process. */
static void hand_over(struct rotated *r, const char *path)
{
	struct closed *one = r->has_worker ? malloc(sizeof(*one) + strlen(path) + 1) : NULL;

	if (!one)
		return;
	one->next = NULL;
	memcpy(one->path, path, strlen(path) + 1);
	pthread_mutex_lock(&r->lock);
	*r->end = one;
	r->end = &one->next;
	pthread_cond_signal(&r->more);
	pthread_mutex_unlock(&r->lock);
}

/* ---- what a process before left ---- */

static size_t name_part(const char *text)
{
	size_t length = line_id_length(text);

	return !length && !strncmp(text, "unknown", 7) ? 7 : length;
}

/* True for ".FIRST_LAST" or ".FIRST_LAST.N". */
static bool is_closed_name(const char *rest)
{
	size_t first, last;

	if (*rest++ != '.')
		return false;
	first = name_part(rest);
	if (!first || rest[first] != '_')
		return false;
	rest += first + 1;
	last = name_part(rest);
	if (!last)
		return false;
	rest += last;
	return !*rest || (*rest == '.' && rest[1] && !rest[1 + strspn(rest + 1, "0123456789")]);
}

static void take_up(struct rotated *r)
{
	cleanup(free) char *directory = strdup(r->path);
	char *slash = directory ? strrchr(directory, '/') : NULL;
	const char *base = strrchr(r->path, '/') + 1;
	cleanup(closedir) DIR *dir = NULL;
	struct dirent *entry;

	if (slash) {
		slash[slash == directory] = 0;
		dir = opendir(directory);
	}
	while (dir && (entry = readdir(dir))) {
		cleanup(free) char *path = NULL;

		if (strncmp(entry->d_name, base, strlen(base)) ||
		    !is_closed_name(entry->d_name + strlen(base)))
			continue;
		if (asprintf(&path, "%s%s", r->path, entry->d_name + strlen(base)) < 0) {
			path = NULL;
			continue;
		}
		hand_over(r, path);
	}
}

/* ---- life ---- */

int rotated_new(const char *path, const char *way, struct rotated **ret_rotated)
{
	struct rotated *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->path = path;
	r->way = compression_find(way);
	r->end = &r->first;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->more, NULL);
	r->has_worker = r->way && pthread_create(&r->worker, NULL, work, r) == 0;
	take_up(r);
	*ret_rotated = r;
	return 0;
}

void rotated_free(struct rotated *r)
{
	if (!r)
		return;
	if (r->has_worker) {
		pthread_mutex_lock(&r->lock);
		r->is_ending = true;
		pthread_cond_signal(&r->more);
		pthread_mutex_unlock(&r->lock);
		pthread_join(r->worker, NULL);
	}
	while (r->first) {
		struct closed *next = r->first->next;

		free(r->first);
		r->first = next;
	}
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->more);
	free(r);
}

/* ---- names ---- */

static bool exists(const char *path)
{
	bool is_there = access(path, F_OK) == 0;

	for (size_t i = 0; !is_there && rotated_ways[i]; i++) {
		const struct compression *way = compression_find(rotated_ways[i]);
		cleanup(free) char *packed = NULL;

		if (!way || asprintf(&packed, "%s%s", path, way->suffix) < 0) {
			packed = NULL;
			continue;
		}
		is_there = access(packed, F_OK) == 0;
	}
	return is_there;
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

int rotated_add(struct rotated *r, const char *first, const char *last)
{
	cleanup(free) char *name = free_name(r->path, first, last);

	if (!name)
		return -EEXIST;
	if (rename(r->path, name) < 0)
		return -errno;
	hand_over(r, name);
	return 0;
}
