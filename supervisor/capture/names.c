/*
 * Events are read in whole batches, given their paths in the order in which they came, and kept
 * by thread until a record takes them or none can come any more.
 */
#include "mapping.h"
#include "names_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_MAX 65536	   /* kept from one take to the next */
#define BATCH_MAX (4 * EVENTS_MAX) /* more than a ring has records of */
#define THREADS_MAX 4096	   /* with idle ones */
#define READ_BYTES (64 * 1024)
#define PATIENCE_NS 5000000000 /* for the record of an event */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* ---- threads ---- */

struct thread **names_thread_at(struct names *n, uint32_t tid)
{
	struct thread **at = &n->threads[tid & (NAMES_THREADS - 1)];

	while (*at && (*at)->tid != tid)
		at = &(*at)->next;
	return at;
}

static void append_to_thread(struct names *n, struct name_event *event)
{
	struct thread **at = names_thread_at(n, event->tid), *thread = *at;

	if (!thread) {
		thread = calloc(1, sizeof(*thread));
		if (!thread)
			return; /* kept in the list of all only: it will go unmatched */
		thread->tid = event->tid;
		*at = thread;
		n->thread_count++;
	}
	if (thread->last)
		thread->last->sibling = event;
	else
		thread->first = event;
	thread->last = event;
}

/* The oldest event of all is the oldest of its thread too. */
static void remove_from_thread(struct names *n, struct name_event *event)
{
	struct thread *thread = *names_thread_at(n, event->tid);

	if (!thread || thread->first != event)
		return;
	thread->first = event->sibling;
	if (!thread->first)
		thread->last = NULL;
}

/* Threads without events are kept for their place in the count of acts; too many are too many. */
static void forget_idle_threads(struct names *n)
{
	for (size_t i = 0; i < NAMES_THREADS; i++) {
		struct thread **at = &n->threads[i];

		while (*at) {
			struct thread *thread = *at;

			if (thread->first) {
				at = &thread->next;
				continue;
			}
			*at = thread->next;
			free(thread);
			n->thread_count--;
		}
	}
}

/* ---- life ---- */

static bool later(void *context, const struct file_id *directory, struct place *ret_place);
static void catch_up(void *context);

int names_new(const struct names_options *options, struct names **ret_names)
{
	struct names *n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;

	struct directories_options directories = {
		.names_fd = options->names_fd,
		.root_mount_fd = options->root_mount_fd,
		.later = later,
		.catch_up = catch_up,
		.context = n,
	};
	n->options = *options;
	n->batch = NAMES_MERGEABLE + 1; /* nothing was linked in the one before */
	n->buffer = mapping_new(READ_BYTES);
	int r = n->buffer ? directories_new(&directories, &n->directories) : -ENOMEM;
	if (r < 0) {
		names_free(n);
		return r;
	}
	*ret_names = n;
	return 0;
}

static void free_event(struct name_event *event)
{
	free(event->raw);
	free(event->path);
	free(event->target);
	free(event->late);
	free(event);
}

static void drop_first(struct names *n)
{
	struct name_event *event = n->first;

	if (event->acts & ~event->taken)
		n->counts.unmatched++;
	remove_from_thread(n, event);
	if (n->fresh == event)
		n->fresh = event->next;
	n->first = event->next;
	if (!n->first)
		n->last = NULL;
	n->count--;
	free_event(event);
}

static void drop_all(struct names *n)
{
	while (n->first)
		drop_first(n);
}

void names_free(struct names *n)
{
	if (!n)
		return;
	drop_all(n);
	forget_idle_threads(n);
	directories_free(n->directories);
	mapping_free(n->buffer, READ_BYTES);
	free(n);
}

/* ---- reading ---- */

static uint32_t acts_of(uint64_t mask)
{
	bool is_directory = mask & FAN_ONDIR;
	uint32_t acts = 0;

	if (mask & FAN_CREATE)
		acts |= 1 << (is_directory ? NAMES_MKDIR : NAMES_CREATE);
	if (mask & FAN_DELETE)
		acts |= 1 << (is_directory ? NAMES_RMDIR : NAMES_UNLINK);
	if (mask & FAN_RENAME)
		acts |= 1 << NAMES_RENAME;
	if (mask & FAN_ATTRIB)
		acts |= 1 << NAMES_CHANGE;
	return acts;
}

/* The handle at the head of an information record, and the name behind it. false: malformed. */
static bool read_info(const uint8_t *info, size_t size, struct file_id *ret_id, char name[256],
		      size_t *ret_name_size)
{
	const size_t head = sizeof(struct fanotify_event_info_fid);
	struct file_handle handle;

	if (size < head + sizeof(handle))
		return false;
	memcpy(&handle, info + head, sizeof(handle));
	size_t used = head + sizeof(handle) + handle.handle_bytes;
	if (handle.handle_bytes > NAMES_HANDLE_MAX || used > size)
		return false;
	ret_id->type = handle.handle_type;
	ret_id->size = handle.handle_bytes;
	memcpy(ret_id->bytes, info + head + sizeof(handle), handle.handle_bytes);
	if (!name)
		return true;

	size_t length = strnlen((const char *)info + used, size - used);
	if (length == 0 || length > 255 || used + length == size)
		return false;
	memcpy(name, info + used, length);
	*ret_name_size = length;
	return true;
}

static bool read_infos(const uint8_t *at, const uint8_t *end, struct raw_event *raw)
{
	struct fanotify_event_info_header head;

	for (; (size_t)(end - at) >= sizeof(head); at += head.len) {
		bool is_good = true;

		memcpy(&head, at, sizeof(head));
		if (head.len < sizeof(head) || head.len > end - at)
			return false;
		if (head.info_type == FAN_EVENT_INFO_TYPE_DFID_NAME ||
		    head.info_type == FAN_EVENT_INFO_TYPE_OLD_DFID_NAME)
			is_good = read_info(at, head.len, &raw->directory, raw->name,
					    &raw->name_size);
		else if (head.info_type == FAN_EVENT_INFO_TYPE_NEW_DFID_NAME)
			is_good = read_info(at, head.len, &raw->new_directory, raw->new_name,
					    &raw->new_name_size);
		else if (head.info_type == FAN_EVENT_INFO_TYPE_FID)
			is_good = read_info(at, head.len, &raw->child, NULL, NULL);
		if (!is_good)
			return false;
	}
	return true;
}

static void append_event(struct names *n, struct name_event *event)
{
	if (n->last)
		n->last->next = event;
	else
		n->first = event;
	n->last = event;
	if (!n->fresh)
		n->fresh = event;
	if (!n->batch_first)
		n->batch_first = event;
	n->count++;
	n->counts.events++;
}

/* An event without a name is of an object alone, such as the count of its links: nobody's act. */
static int take_event(struct names *n, const struct fanotify_event_metadata *meta,
		      const uint8_t *infos, const uint8_t *end)
{
	struct raw_event raw = {0};

	if (!read_infos(infos, end, &raw) || raw.name_size == 0)
		return 0;
	struct name_event *event = calloc(1, sizeof(*event));
	if (!event)
		return -ENOMEM;
	event->raw = malloc(sizeof(raw));
	if (!event->raw) {
		free(event);
		return -ENOMEM;
	}
	*event->raw = raw;
	event->batch = n->batch;
	event->read_ns = now_ns();
	event->tid = meta->pid;
	event->acts = acts_of(meta->mask);
	append_event(n, event);
	return 0;
}

/* Events lie at multiples of 4, their heads want 8. */
static void take_events(struct names *n, const uint8_t *at, size_t size)
{
	struct fanotify_event_metadata meta;

	while (size >= sizeof(meta)) {
		memcpy(&meta, at, sizeof(meta));
		if (meta.event_len < sizeof(meta) || meta.event_len > size ||
		    meta.metadata_len > meta.event_len) {
			n->has_overflowed = true;
			return;
		}
		if (meta.mask & FAN_Q_OVERFLOW || n->count >= BATCH_MAX ||
		    take_event(n, &meta, at + meta.metadata_len, at + meta.event_len) < 0)
			n->has_overflowed = true;
		at += meta.event_len;
		size -= meta.event_len;
	}
}

static int read_all(struct names *n)
{
	for (;;) {
		ssize_t size = read(n->options.fanotify_fd, n->buffer, READ_BYTES);
		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0)
			return size == 0 || errno == EAGAIN ? 0 : -errno;
		take_events(n, n->buffer, size);
	}
}

/* ---- places ---- */

static bool moves_directory(const struct name_event *event, const struct file_id *directory)
{
	const uint32_t acts = 1 << NAMES_RENAME | 1 << NAMES_RMDIR;

	return event->acts & acts && file_id_equal(&event->raw->child, directory);
}

/* See directories_options: what an event behind the one in hand says of the time before it. */
static bool later(void *context, const struct file_id *directory, struct place *ret_place)
{
	struct names *n = context;

	for (struct name_event *e = n->fresh ? n->fresh->next : NULL; e; e = e->next) {
		if (!moves_directory(e, directory))
			continue;
		ret_place->parent = e->raw->directory;
		ret_place->size = e->raw->name_size;
		memcpy(ret_place->name, e->raw->name, e->raw->name_size);
		return true;
	}
	return false;
}

static void catch_up(void *context)
{
	read_all(context);
}

static void put_place(struct names *n, const struct name_event *event)
{
	const struct raw_event *raw = event->raw;

	if (raw->child.size == 0)
		return;
	if (event->acts & 1 << NAMES_RENAME) {
		n->has_moved_directory = true;
		directories_put(n->directories, &raw->child, &raw->new_directory, raw->new_name,
				raw->new_name_size);
	} else if (event->acts & 1 << NAMES_MKDIR) {
		directories_put(n->directories, &raw->child, &raw->directory, raw->name,
				raw->name_size);
	}
}

/* Give the first event without them its paths, as they were when it happened. */
static void settle_fresh(struct names *n)
{
	struct name_event *event = n->fresh;
	struct raw_event *raw = event->raw;

	directories_path(n->directories, &raw->directory, (struct bytes){raw->name, raw->name_size},
			 &event->path, &event->path_size);
	if (event->acts & 1 << NAMES_RENAME)
		directories_path(n->directories, &raw->new_directory,
				 (struct bytes){raw->new_name, raw->new_name_size}, &event->target,
				 &event->target_size);
	put_place(n, event);
	n->fresh = event->next;
	append_to_thread(n, event);
}

/* An act that was merged into an event came later than it; a directory may have been moved between.
 */
static void settle_late(struct names *n, struct name_event *event)
{
	const struct raw_event *raw = event->raw;

	if (event->acts & 1 << NAMES_RENAME ||
	    directories_path(n->directories, &raw->directory,
			     (struct bytes){raw->name, raw->name_size}, &event->late,
			     &event->late_size) < 0)
		return;
	if (event->path && event->late_size == event->path_size &&
	    !memcmp(event->late, event->path, event->path_size)) {
		free(event->late);
		event->late = NULL;
	}
}

static void end_batch(struct names *n)
{
	for (struct name_event *e = n->batch_first; e; e = e->next) {
		if (n->has_moved_directory)
			settle_late(n, e);
		free(e->raw);
		e->raw = NULL;
	}
	n->batch_first = NULL;
	n->has_moved_directory = false;
}

/* ---- batches ---- */

static bool is_done(const struct names *n, const struct name_event *event, uint64_t now)
{
	if (event->acts & ~event->taken)
		return now - event->read_ns > PATIENCE_NS;
	return event->batch + NAMES_MERGEABLE < n->batch;
}

int names_take(struct names *n)
{
	uint64_t now = now_ns();

	while (n->first && (is_done(n, n->first, now) || n->count > EVENTS_MAX))
		drop_first(n);
	if (n->thread_count > THREADS_MAX)
		forget_idle_threads(n);
	n->batch++;
	int r = read_all(n);
	while (n->fresh && !n->has_overflowed)
		settle_fresh(n);
	if (!n->has_overflowed) {
		end_batch(n);
		return r;
	}

	/* What is missing nobody knows: neither events nor places can be trusted. */
	n->has_overflowed = false;
	n->counts.overflows++;
	n->batch_first = NULL;
	n->has_moved_directory = false;
	drop_all(n);
	directories_clear(n->directories);
	return -EOVERFLOW;
}

struct names_counts names_counts(const struct names *n)
{
	return n->counts;
}
