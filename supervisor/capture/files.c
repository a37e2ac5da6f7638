/*
 * State of a session's files. Paths are kept in a ring by file id: ids are given in order, and BPF
 * relies on just this many of them being remembered (REMEMBERED_OPENS).
 */
#include "files.h"

#include "glob.h"
#include "mapping.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

struct remembered {
	uint64_t file_id; /* 0: nothing */
	uint32_t flags;
	uint32_t size;
	char components[REMEMBERED_PATH_MAX];
};

struct files {
	struct names *names;
	bool has_tried_names;
	struct remembered opens[REMEMBERED_OPENS];
};

int files_new(struct files **ret)
{
	struct files *f = mapping_new(sizeof(*f));
	if (!f)
		return -ENOMEM;
	*ret = f;
	return 0;
}

void files_free(struct files *f)
{
	if (!f)
		return;
	names_free(f->names);
	mapping_free(f, sizeof(*f));
}

/* ---- paths ---- */

void files_remember(struct files *f, uint64_t file_id, struct bytes components, uint32_t flags)
{
	struct remembered *open = &f->opens[file_id % REMEMBERED_OPENS];

	if (file_id == 0 || components.size == 0 || components.size > REMEMBERED_PATH_MAX)
		return;
	open->file_id = file_id;
	open->flags = flags;
	open->size = components.size;
	memcpy(open->components, components.data, components.size);
}

struct bytes files_recall(const struct files *f, uint64_t file_id, uint32_t *ret_flags)
{
	const struct remembered *open = &f->opens[file_id % REMEMBERED_OPENS];

	if (file_id == 0 || open->file_id != file_id)
		return (struct bytes){NULL, 0};
	*ret_flags = open->flags;
	return (struct bytes){open->components, open->size};
}

/* ---- watched reads ---- */

/* As is_unwatched_top of bpf/file_open.bpf.c. */
static const char *const unwatched_tops[] = {"/usr/", "/lib/",	"/lib32/", "/lib64/", "/libx32/",
					     "/bin/", "/sbin/", "/proc/",  "/sys/",   "/dev/"};

static bool is_below_unwatched(const char *path, size_t size)
{
	for (size_t i = 0; i < sizeof(unwatched_tops) / sizeof(unwatched_tops[0]); i++) {
		size_t length = strlen(unwatched_tops[i]);

		if (size >= length && !memcmp(path, unwatched_tops[i], length))
			return true;
	}
	return false;
}

bool files_is_watched(const struct capture *c, struct bytes path)
{
	const char *const *pattern = c->options.watch_reads;
	bool is_below = is_below_unwatched(path.data, path.size);

	for (; pattern && *pattern; pattern++)
		if ((!is_below || **pattern == '/') && glob_match(*pattern, path))
			return true;
	return false;
}

/* ---- names ---- */

struct names *files_names(struct files *f)
{
	return f->names;
}

static int tell_coverage(struct capture *c, const char *state, const char *detail)
{
	struct event *e = capture_begin(c, NULL, EVENT_coverage);

	event_put_text(e, FIELD_sensor, "fanotify");
	event_put_text(e, FIELD_state, state);
	event_put_text(e, FIELD_detail, detail);
	return capture_send(c);
}

static int open_names(struct capture *c)
{
	struct names_options options = {
		.fanotify_fd = c->options.fanotify_fd,
		.names_fd = c->options.names_fd,
		.root_mount_fd = c->options.root_mount_fd,
	};

	c->files->has_tried_names = true;
	if (names_new(&options, &c->files->names) < 0)
		return tell_coverage(c, "lost",
				     "names of deleted, renamed and new files cannot be looked up; "
				     "their paths are what calls were given");
	return 0;
}

/* A session that changes no names needs nobody who looks them up. */
static bool has_name_events(const struct capture *c)
{
	struct pollfd queue = {.fd = c->options.fanotify_fd, .events = POLLIN};

	return queue.fd < 0 || poll(&queue, 1, 0) != 0;
}

int files_take_names(struct capture *c)
{
	struct files *f = c->files;

	if (!f->has_tried_names) {
		if (!has_name_events(c))
			return 0;
		int r = open_names(c);
		if (r < 0)
			return r;
	}
	if (!f->names)
		return 0;

	int r = names_take(f->names);
	if (r == -EOVERFLOW)
		return tell_coverage(c, "lost",
				     "events were dropped; paths of deleted, renamed and new files "
				     "are for a moment what calls were given");
	return r;
}
