/*
 * Wire records of names and attributes as events. A record of a call that was given a name says
 * only what that was; the true name comes from fanotify, where it watches.
 */
#include "file_events.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* The places of tails, in the order of the rows. */
enum { NAME_DIRECTORY, NAME_REQUESTED, NAME_NEW_DIRECTORY, NAME_NEW_REQUESTED };
enum { ATTR_PATH, ATTR_DIRECTORY, ATTR_REQUESTED, ATTR_XATTR };

#define MODE_BITS 07777
#define UNCHANGED UINT32_MAX

/* ---- what a call was given ---- */

/* Append @text to @path, name by name: "." and empty ones fall away, ".." takes the one before. */
static void append_names(char *path, size_t *used, struct bytes text)
{
	const char *at = text.data, *end = at + text.size;

	while (at < end) {
		const char *slash = memchr(at, '/', end - at);
		size_t length = (slash ? slash : end) - at;

		if (length == 2 && at[0] == '.' && at[1] == '.') {
			while (*used > 0 && path[--*used] != '/')
				;
		} else if (length > 0 && !(length == 1 && at[0] == '.')) {
			path[(*used)++] = '/';
			memcpy(path + *used, at, length);
			*used += length;
		}
		at += length + 1;
	}
}

/* The path that a name leads to if nothing on the way is a symbolic link. {NULL, 0}: not known. */
static struct bytes join(struct capture *c, const struct named *name)
{
	struct bytes directory = capture_path(c, name->directory);
	bool is_absolute = name->requested.size && *(const char *)name->requested.data == '/';
	size_t used = 0;

	if (!directory.data && !is_absolute)
		return (struct bytes){NULL, 0};
	char *path = capture_room(c, directory.size + name->requested.size + 2);
	if (!path)
		return (struct bytes){NULL, 0};
	append_names(path, &used, directory);
	append_names(path, &used, name->requested);
	if (used == 0)
		path[used++] = '/';
	return (struct bytes){path, used};
}

static void put_path_of(struct capture *c, struct bytes path, const char *source)
{
	if (!path.data)
		return;
	event_put_bytes(&c->event, FIELD_path, path.data, path.size);
	event_put_text(&c->event, FIELD_path_source, source);
}

static void put_new_path(struct capture *c, struct bytes path, const char *source)
{
	if (!path.data)
		return;
	event_put_bytes(&c->event, FIELD_new_path, path.data, path.size);
	event_put_text(&c->event, FIELD_new_path_source, source);
}

static void put_args(struct capture *c, const struct named *name, struct bytes path)
{
	put_path_of(c, path, "args");
	if (path.data && name->directory_flags & (PATH_DETACHED | PATH_PSEUDO))
		event_put_bool(&c->event, FIELD_path_detached, true);
}

void file_events_put_args(struct capture *c, const struct named *name)
{
	put_args(c, name, join(c, name));
}

static bool find(struct capture *c, const struct names_query *query,
		 struct names_answer *ret_answer)
{
	struct names *names = files_names(c->files);

	return names && names_find(names, query, ret_answer);
}

static void put_found(struct capture *c, const struct wire_head *head, enum names_act act,
		      uint32_t sequence, const struct named *name)
{
	struct names_query query = {
		.tid = head->tid, .act = act, .sequence = sequence, .path = join(c, name)};
	struct names_answer answer;

	if (find(c, &query, &answer))
		put_path_of(c, answer.path, "kernel");
	else
		put_args(c, name, query.path);
}

void file_events_put_named(struct capture *c, const struct wire_head *head, enum names_act act,
			   const struct named *name)
{
	put_found(c, head, act, 0, name);
}

/* ---- names ---- */

static struct named first_name(const struct wire_record *record)
{
	const struct wire_file_name *wire = (const void *)record->head;

	return (struct named){record->tails[NAME_DIRECTORY], wire->directory_flags,
			      record->tails[NAME_REQUESTED]};
}

static struct named second_name(const struct wire_record *record)
{
	const struct wire_file_name *wire = (const void *)record->head;

	return (struct named){record->tails[NAME_NEW_DIRECTORY], wire->new_directory_flags,
			      record->tails[NAME_NEW_REQUESTED]};
}

static void put_rename(struct capture *c, const struct wire_record *record)
{
	static const struct flag_name flags[] = {
		{1, "RENAME_NOREPLACE"}, {2, "RENAME_EXCHANGE"}, {4, "RENAME_WHITEOUT"}, {0, NULL}};
	const struct wire_file_name *wire = (const void *)record->head;
	struct named from = first_name(record), to = second_name(record);
	struct names_query query = {
		.tid = record->head->tid,
		.act = NAMES_RENAME,
		.sequence = wire->act,
		.path = join(c, &from),
		.target = join(c, &to),
		.exchange = wire->flags & 2,
	};
	struct names_answer answer = {query.path, query.target};

	if (find(c, &query, &answer))
		put_path_of(c, answer.path, "kernel");
	else
		put_args(c, &from, query.path);
	put_new_path(c, answer.target, answer.target.data == query.target.data ? "args" : "kernel");
	if (query.exchange)
		event_put_bool(&c->event, FIELD_exchange, true);
	file_events_put_flags(c, flags, wire->flags);
}

/* The new name is the one that fanotify tells; the old one is the kernel's only where the call had
 * a descriptor of the file. */
static void put_link(struct capture *c, const struct wire_record *record)
{
	const struct wire_file_name *wire = (const void *)record->head;
	struct named from = first_name(record), to = second_name(record);
	struct names_query query = {
		.tid = record->head->tid,
		.act = NAMES_CREATE,
		.path = join(c, &to),
		.is_link = true,
	};
	struct names_answer answer;

	if (wire->known & FILE_KNOWN_OBJECT) {
		file_events_put_kernel_path(c, from.directory, from.directory_flags,
					    record->missing[NAME_DIRECTORY]);
		file_events_put_object(c, wire->dev, wire->ino, wire->mode);
	} else {
		file_events_put_args(c, &from);
	}
	if (find(c, &query, &answer))
		put_new_path(c, answer.path, "kernel");
	else
		put_new_path(c, query.path, "args");
}

struct name_kind {
	enum event_kind kind;
	enum names_act act;
};

static const struct name_kind *kind_of_name(uint32_t operation)
{
	static const struct name_kind kinds[] = {
		[FILE_NAME_UNLINK] = {EVENT_file_delete, NAMES_UNLINK},
		[FILE_NAME_RMDIR] = {EVENT_file_rmdir, NAMES_RMDIR},
		[FILE_NAME_RENAME] = {EVENT_file_rename, NAMES_RENAME},
		[FILE_NAME_LINK] = {EVENT_file_link, NAMES_CREATE},
		[FILE_NAME_SYMLINK] = {EVENT_file_symlink, NAMES_CREATE},
		[FILE_NAME_MKDIR] = {EVENT_file_mkdir, NAMES_MKDIR},
		[FILE_NAME_MKNOD] = {EVENT_file_create, NAMES_CREATE},
	};

	if (operation >= sizeof(kinds) / sizeof(kinds[0]) || kinds[operation].kind == 0)
		return NULL;
	return &kinds[operation];
}

int translate_file_name(struct capture *c, const struct wire_record *record)
{
	const struct wire_file_name *wire = (const void *)record->head;
	const struct name_kind *kind = kind_of_name(wire->operation);
	struct named name = first_name(record);

	if (!kind)
		return -EBADMSG;
	struct event *e = capture_begin(c, record, kind->kind);
	if (wire->operation == FILE_NAME_RENAME)
		put_rename(c, record);
	else if (wire->operation == FILE_NAME_LINK)
		put_link(c, record);
	else
		put_found(c, record->head, kind->act, wire->act, &name);

	file_events_put_requested(c, FIELD_requested, name.requested);
	if (wire->operation == FILE_NAME_RENAME || wire->operation == FILE_NAME_LINK)
		file_events_put_requested(c, FIELD_new_requested,
					  record->tails[NAME_NEW_REQUESTED]);
	if (wire->operation == FILE_NAME_SYMLINK)
		file_events_put_requested(c, FIELD_target, record->tails[NAME_NEW_REQUESTED]);
	if (wire->operation == FILE_NAME_MKDIR || wire->operation == FILE_NAME_MKNOD)
		event_put_u64(e, FIELD_mode, wire->mode & MODE_BITS);
	if (wire->operation == FILE_NAME_MKNOD)
		file_events_put_type(c, wire->mode & S_IFMT ? wire->mode : S_IFREG);
	return capture_send(c);
}

/* ---- attributes ---- */

static void put_attr_path(struct capture *c, const struct wire_record *record)
{
	const struct wire_file_attr *wire = (const void *)record->head;
	struct named name = {record->tails[ATTR_DIRECTORY], wire->directory_flags,
			     record->tails[ATTR_REQUESTED]};
	struct names *names = files_names(c->files);

	if (wire->known & FILE_KNOWN_OBJECT) {
		file_events_put_kernel_path(c, record->tails[ATTR_PATH], wire->path_flags,
					    record->missing[ATTR_PATH]);
		file_events_put_object(c, wire->dev, wire->ino, wire->mode);
		if (names)
			names_skip(names, record->head->tid, NAMES_CHANGE,
				   capture_path(c, record->tails[ATTR_PATH]));
	} else if (wire->change == FILE_ATTR_SIZE) {
		file_events_put_args(c, &name); /* fanotify has no event of its own for it */
	} else {
		file_events_put_named(c, record->head, NAMES_CHANGE, &name);
	}
	file_events_put_requested(c, FIELD_requested, name.requested);
}

static void put_change(struct capture *c, const struct wire_record *record)
{
	static const char *const changes[] = {
		[FILE_ATTR_MODE] = "mode",   [FILE_ATTR_OWNER] = "owner",
		[FILE_ATTR_XATTR] = "xattr", [FILE_ATTR_TIMES] = "times",
		[FILE_ATTR_FLAGS] = "flags",
	};
	const struct wire_file_attr *wire = (const void *)record->head;
	struct event *e = &c->event;

	event_put_text(e, FIELD_change, changes[wire->change]);
	if (wire->change == FILE_ATTR_MODE)
		event_put_u64(e, FIELD_mode, wire->mode & MODE_BITS);
	if (wire->change == FILE_ATTR_OWNER && wire->uid != UNCHANGED)
		event_put_u64(e, FIELD_uid, wire->uid);
	if (wire->change == FILE_ATTR_OWNER && wire->gid != UNCHANGED)
		event_put_u64(e, FIELD_gid, wire->gid);
	file_events_put_requested(c, FIELD_xattr_name, record->tails[ATTR_XATTR]);
	if (wire->known & FILE_REMOVED)
		event_put_bool(e, FIELD_removed, true);
}

int translate_file_attr(struct capture *c, const struct wire_record *record)
{
	const struct wire_file_attr *wire = (const void *)record->head;
	bool is_size = wire->change == FILE_ATTR_SIZE;

	if (wire->change < FILE_ATTR_MODE || wire->change > FILE_ATTR_SIZE)
		return -EBADMSG;
	struct event *e = capture_begin(c, record, is_size ? EVENT_file_truncate : EVENT_file_attr);
	put_attr_path(c, record);
	if (!is_size) {
		put_change(c, record);
		return capture_send(c);
	}
	event_put_u64(e, FIELD_size, wire->size);
	if (wire->known & FILE_KNOWN_OLD_SIZE)
		event_put_u64(e, FIELD_old_size, wire->old_size);
	return capture_send(c);
}
