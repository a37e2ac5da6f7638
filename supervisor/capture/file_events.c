/*
 * Wire records of files as events: what is opened, written to and mapped.
 */
#include "file_events.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* The places of tails, in the order of the rows. */
enum { OPEN_PATH, OPEN_DIRECTORY, OPEN_REQUESTED };
enum { DESCRIPTION_PATH }; /* of a file_modify and a file_mmap */

#define MODE_BITS 07777

/* ---- values ---- */

/* Append @word to an array of texts in the scratch. */
static void add_word(struct capture *c, const char *word, struct bytes *list)
{
	size_t size = strlen(word) + 1;
	char *room = capture_room(c, size);

	if (!room)
		return;
	memcpy(room, word, size);
	if (!list->data)
		list->data = room;
	list->size += size;
}

void file_events_put_flags(struct capture *c, const struct flag_name *names, uint32_t flags)
{
	struct bytes list = {NULL, 0};

	for (; names->name; names++)
		if ((flags & names->bits) == names->bits) {
			add_word(c, names->name, &list);
			flags &= ~names->bits;
		}
	if (list.size)
		event_put_bytes(&c->event, FIELD_flags, list.data, list.size);
}

void file_events_put_type(struct capture *c, uint32_t mode)
{
	static const char *const names[16] = {
		[S_IFREG >> 12] = "regular",   [S_IFDIR >> 12] = "directory",
		[S_IFIFO >> 12] = "fifo",      [S_IFSOCK >> 12] = "socket",
		[S_IFCHR >> 12] = "character", [S_IFBLK >> 12] = "block",
		[S_IFLNK >> 12] = "symlink",
	};

	event_put_text(&c->event, FIELD_file_type, names[mode >> 12 & 15]);
}

void file_events_put_object(struct capture *c, uint64_t dev, uint64_t ino, uint32_t mode)
{
	if (ino == 0)
		return;
	event_put_u64(&c->event, FIELD_dev, capture_dev(dev));
	event_put_u64(&c->event, FIELD_ino, ino);
	file_events_put_type(c, mode);
}

void file_events_put_kernel_path(struct capture *c, struct bytes components, uint32_t flags,
				 uint64_t missing)
{
	if (flags & PATH_DELETED)
		event_put_bool(&c->event, FIELD_deleted, true);
	if (components.size == 0)
		return;
	capture_put_path(c, FIELD_path, components, missing + (flags & PATH_CUT ? 1 : 0));
	event_put_text(&c->event, FIELD_path_source, "kernel");
	if (flags & (PATH_DETACHED | PATH_PSEUDO))
		event_put_bool(&c->event, FIELD_path_detached, true);
}

void file_events_put_requested(struct capture *c, enum event_field field, struct bytes requested)
{
	if (requested.size)
		event_put_bytes(&c->event, field, requested.data, requested.size);
}

/* ---- open ---- */

static void put_open_flags(struct capture *c, uint32_t flags)
{
	static const struct flag_name rest[] = {
		{O_CREAT, "O_CREAT"},
		{O_EXCL, "O_EXCL"},
		{O_NOCTTY, "O_NOCTTY"},
		{O_TRUNC, "O_TRUNC"},
		{O_APPEND, "O_APPEND"},
		{O_NONBLOCK, "O_NONBLOCK"},
		{O_SYNC, "O_SYNC"},
		{O_DSYNC, "O_DSYNC"},
		{O_ASYNC, "O_ASYNC"},
		{O_DIRECT, "O_DIRECT"},
		{O_TMPFILE, "O_TMPFILE"},
		{O_DIRECTORY, "O_DIRECTORY"},
		{O_NOFOLLOW, "O_NOFOLLOW"},
		{O_NOATIME, "O_NOATIME"},
		{O_CLOEXEC, "O_CLOEXEC"},
		{O_PATH, "O_PATH"},
		{0, NULL},
	};
	static const struct flag_name access[] = {{O_RDWR, "O_RDWR"}, {O_WRONLY, "O_WRONLY"}};
	struct flag_name all[sizeof(rest) / sizeof(rest[0]) + 1];
	size_t used = 0;

	all[used++] = access[(flags & O_ACCMODE) == O_WRONLY];
	if ((flags & O_ACCMODE) == O_RDONLY)
		all[0] = (struct flag_name){0, "O_RDONLY"};
	memcpy(all + used, rest, sizeof(rest));
	file_events_put_flags(c, all, flags);
}

static enum event_kind kind_of_open(const struct wire_file_open *wire)
{
	if (wire->state & FILE_OPEN_CREATED)
		return EVENT_file_create;
	if ((wire->flags & O_ACCMODE) == O_RDONLY && !(wire->flags & O_TRUNC))
		return EVENT_file_read;
	return EVENT_file_open;
}

/* The object was not seen: what the call was given, or what fanotify says of it. */
static void put_unseen(struct capture *c, const struct wire_record *record,
		       const struct wire_file_open *wire)
{
	struct named name = {
		.directory = record->tails[OPEN_DIRECTORY],
		.directory_flags = wire->directory_flags,
		.requested = record->tails[OPEN_REQUESTED],
	};

	if (wire->state & FILE_OPEN_CREATED)
		file_events_put_named(c, record->head, NAMES_CREATE, &name);
	else
		file_events_put_args(c, &name);
}

static void put_seen(struct capture *c, const struct wire_record *record,
		     const struct wire_file_open *wire, struct bytes path)
{
	struct names *names = files_names(c->files);

	file_events_put_kernel_path(c, record->tails[OPEN_PATH], wire->path_flags,
				    record->missing[OPEN_PATH]);
	file_events_put_object(c, wire->dev, wire->ino, wire->mode);
	files_remember(c->files, wire->file_id, record->tails[OPEN_PATH], wire->path_flags);
	if (names && wire->state & FILE_OPEN_CREATED && !(wire->path_flags & PATH_DELETED))
		names_skip(names, record->head->tid, NAMES_CREATE, path);
}

int translate_file_open(struct capture *c, const struct wire_record *record)
{
	const struct wire_file_open *wire = (const void *)record->head;
	enum event_kind kind = kind_of_open(wire);
	struct event *e = capture_begin(c, record, kind);
	struct bytes path = capture_path(c, record->tails[OPEN_PATH]);

	if (kind == EVENT_file_read && !files_is_watched(c, path)) {
		c->filtered[WIRE_CLASS_file]++;
		return 0;
	}
	if (wire->state & FILE_OPEN_UNSEEN)
		put_unseen(c, record, wire);
	else
		put_seen(c, record, wire, path);
	file_events_put_requested(c, FIELD_requested, record->tails[OPEN_REQUESTED]);
	put_open_flags(c, wire->flags);
	if (kind == EVENT_file_create && wire->mode)
		event_put_u64(e, FIELD_mode, wire->mode & MODE_BITS);
	if (kind == EVENT_file_open && !(wire->state & FILE_OPEN_UNSEEN))
		event_put_u64(e, FIELD_size, wire->size);
	return capture_send(c);
}

/* ---- modify ---- */

static void put_methods(struct capture *c, uint32_t methods)
{
	static const char *const names[] = {
#define METHOD(name) #name,
		FILE_METHODS(METHOD)
#undef METHOD
	};
	struct bytes list = {NULL, 0};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (methods & 1u << i)
			add_word(c, names[i], &list);
	if (list.size)
		event_put_bytes(&c->event, FIELD_methods, list.data, list.size);
}

/* The path that came along, else the one of the open. */
static void put_path_of_description(struct capture *c, const struct wire_record *record,
				    uint64_t file_id, uint32_t flags)
{
	struct bytes path = record->tails[DESCRIPTION_PATH];
	uint32_t known_flags = 0;

	if (path.size == 0)
		path = files_recall(c->files, file_id, &known_flags);
	file_events_put_kernel_path(c, path, flags | known_flags,
				    record->missing[DESCRIPTION_PATH]);
}

static int send_modify(struct capture *c, const struct wire_record *record, bool still_open)
{
	const struct wire_file_modify *wire = (const void *)record->head;
	struct event *e = capture_begin(c, record, EVENT_file_modify);

	put_path_of_description(c, record, wire->file_id, wire->path_flags);
	file_events_put_object(c, wire->dev, wire->ino, wire->mode);
	event_put_u64(e, FIELD_bytes_written, wire->bytes_written);
	put_methods(c, wire->methods);
	event_put_u64(e, FIELD_size, wire->size);
	if (wire->writers)
		event_put_u64(e, FIELD_writers, wire->writers);
	if (still_open)
		event_put_bool(e, FIELD_still_open, true);
	return capture_send(c);
}

int translate_file_modify(struct capture *c, const struct wire_record *record)
{
	return send_modify(c, record, false);
}

/* ---- mmap ---- */

int translate_file_mmap(struct capture *c, const struct wire_record *record)
{
	const struct wire_file_mmap *wire = (const void *)record->head;
	struct event *e = capture_begin(c, record, EVENT_file_mmap);

	put_path_of_description(c, record, wire->file_id, wire->path_flags);
	file_events_put_object(c, wire->dev, wire->ino, wire->mode);
	event_put_u64(e, FIELD_size, wire->size);
	return capture_send(c);
}

/* ---- the end of the session ---- */

static uint64_t boot_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* What an entry of the map would have said at its last close, said by its last writer. */
static int send_entry(struct capture *c, const struct written_file *entry)
{
	struct wire_file_modify wire = {
		.head = {.boot_ns = boot_now(),
			 .start_ns = entry->start_ns,
			 .cgroup = entry->cgroup,
			 .pid = entry->pid,
			 .tid = entry->pid,
			 .ns_pid = entry->ns_pid,
			 .kind = WIRE_KIND_file_modify,
			 .class = WIRE_CLASS_file},
		.file_id = entry->file_id,
		.dev = entry->dev,
		.ino = entry->ino,
		.size = entry->size,
		.bytes_written = entry->bytes,
		.methods = entry->methods,
		.writers = entry->writers,
		.mode = entry->mode,
	};
	struct wire_record record = {.head = &wire.head, .tail_count = 1};

	return send_modify(c, &record, !entry->is_gone);
}

/* A piece of the map. Walked by bucket, so that entries which come and go meanwhile, those of other
 * sessions, do not send the walk back to its start. */
#define PIECE 256

struct piece {
	struct written_key keys[PIECE];
	struct written_file entries[PIECE];
};

static int send_piece(struct capture *c, const struct piece *piece, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (piece->keys[i].slot != c->options.slot || piece->entries[i].methods == 0)
			continue;
		int r = send_entry(c, &piece->entries[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int send_all(struct capture *c, int map_fd, struct piece *piece)
{
	uint32_t place, *from = NULL;

	for (;;) {
		uint32_t count = PIECE;
		int end = bpf_map_lookup_batch(map_fd, from, &place, piece->keys, piece->entries,
					       &count, NULL);
		if (end < 0 && end != -ENOENT)
			return end;
		int r = send_piece(c, piece, count);
		if (r < 0 || end == -ENOENT)
			return r;
		from = &place;
	}
}

int files_finish(struct capture *c, int written_files_map_fd)
{
	if (written_files_map_fd < 0)
		return 0;

	struct piece *piece = malloc(sizeof(*piece));
	int r = piece ? send_all(c, written_files_map_fd, piece) : -ENOMEM;
	free(piece);
	return r;
}
