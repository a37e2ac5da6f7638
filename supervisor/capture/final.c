/*
 * Packets in, records out. The names on the way to where the walk is are kept as one path and a row
 * of places in it. vitrine-final is trusted with what it was told to look at, and no further: what
 * it says is checked as far as our memory depends on it, and it has its time. See final.h.
 */
#include "final.h"

#include "../control.h"
#include "../record/cleanup.h"
#include "../record/jansson_cleanup.h"
#include "final_wire.h"
#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define PATH_SHOWN 4096 /* of a path; what is longer is cut in front of its last names */
#define UNEXPLAINED_SHOWN 100
#define PATIENCE_S 5
#define WORKSPACE "workspace"

enum final_state { FINAL_NEW, FINAL_WALKING, FINAL_LOOKING, FINAL_DONE, FINAL_FAILED };

/* A directory on the way. */
struct place {
	struct explained_name *known;
	size_t path_size;
};

struct final {
	struct final_options options;
	enum final_state state;
	sd_event_source *source, *timer;
	final_done *done;
	void *context;
	struct place *places; /* owned */
	size_t depth, place_room;
	char *path; /* owned; of the directory that the walk is in, and room for a name */
	size_t path_size, path_room;
	struct final_totals totals;
	char **looks; /* owned: paths in /workspace */
	size_t look_count, look_room, looked;
	json_t *unexplained;
	uint64_t unexplained_count, unproven_count;
};

static const char *const change_names[FINAL_CHANGES] = {
	[FINAL_SAME] = "none",	       [FINAL_CREATED] = "created",
	[FINAL_MODIFIED] = "modified", [FINAL_REPLACED] = "replaced",
	[FINAL_DELETED] = "deleted",   [FINAL_ATTRIBUTES] = "attributes",
};

static const char *const unhashed_names[FINAL_UNHASHED] = {
	[FINAL_OFF] = "off",   [FINAL_TOO_LARGE] = "too_large", [FINAL_BYTES] = "bytes",
	[FINAL_TIME] = "time", [FINAL_SECRET] = "secret",	[FINAL_UNREADABLE] = "unreadable",
};

/* ---- life ---- */

int final_new(const struct final_options *options, struct final **ret_final)
{
	struct final *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->options = *options;
	f->unexplained = json_array();
	f->place_room = 64;
	f->places = calloc(f->place_room, sizeof(*f->places));
	f->path_room = PATH_SHOWN;
	f->path = malloc(f->path_room);
	if (!f->unexplained || !f->places || !f->path ||
	    (options->socket >= 0 && fcntl(options->socket, F_SETFL, O_NONBLOCK) < 0)) {
		f->options.socket = -1;
		final_free(f);
		return -ENOMEM;
	}
	*ret_final = f;
	return 0;
}

static void stop(struct final *f)
{
	f->source = sd_event_source_disable_unref(f->source);
	f->timer = sd_event_source_disable_unref(f->timer);
	cleanup_close_fd(&f->options.socket);
	f->options.socket = -1;
}

void final_free(struct final *f)
{
	if (!f)
		return;
	stop(f);
	for (size_t i = 0; i < f->look_count; i++)
		free(f->looks[i]);
	free(f->looks);
	free(f->places);
	free(f->path);
	json_decref(f->unexplained);
	free(f);
}

/* ---- what no record explains ---- */

static void add_unexplained(struct final *f, struct bytes path, const char *why)
{
	f->unexplained_count++;
	if (json_array_size(f->unexplained) < UNEXPLAINED_SHOWN)
		json_array_append_new(
			f->unexplained,
			json_pack("{s:o?, s:s}", "path",
				  control_bytes(path.data,
						path.size < PATH_SHOWN ? path.size : PATH_SHOWN),
				  "why", why));
}

static void on_missing(void *context, struct bytes path)
{
	struct final *f = context;

	if (explained_excuse(f->options.explained))
		f->unproven_count++;
	else
		add_unexplained(f, path, "missing");
}

/* ---- records ---- */

static const char *type_of(uint32_t mode)
{
	static const struct {
		uint32_t type;
		const char *name;
	} types[] = {
		{S_IFREG, "regular"}, {S_IFDIR, "directory"}, {S_IFLNK, "symlink"},
		{S_IFIFO, "fifo"},    {S_IFSOCK, "socket"},   {S_IFCHR, "character"},
		{S_IFBLK, "block"},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if ((mode & S_IFMT) == types[i].type)
			return types[i].name;
	return NULL;
}

static void put_id(const struct final *f, struct event *e, enum event_field field, uint32_t id)
{
	const struct final_options *o = &f->options;

	if (id >= o->uid_base && id - o->uid_base < o->uid_count)
		event_put_u64(e, field, id - o->uid_base);
}

static void put_hex(const uint8_t sha256[HASH_SIZE], char hex[2 * HASH_SIZE + 1])
{
	for (size_t i = 0; i < HASH_SIZE; i++)
		snprintf(hex + 2 * i, 3, "%02x", sha256[i]);
}

/* Which fields say what a file is, and which say what was there before. */
struct file_fields {
	enum event_field type, mode, size, sha256, unhashed;
};

static const struct file_fields fields_now = {FIELD_file_type, FIELD_mode, FIELD_size, FIELD_sha256,
					      FIELD_unhashed};
static const struct file_fields fields_before = {FIELD_type_before, FIELD_mode_before,
						 FIELD_size_before, FIELD_sha256_before,
						 FIELD_unhashed_before};

static void put_file(struct event *e, const struct final_file *file, const struct file_fields *to,
		     char hex[2 * HASH_SIZE + 1])
{
	if (!file->mode)
		return;
	event_put_text(e, to->type, type_of(file->mode));
	event_put_u64(e, to->mode, file->mode & 07777);
	if (!S_ISREG(file->mode))
		return;
	event_put_u64(e, to->size, file->size);
	if (file->unhashed == FINAL_HASHED) {
		put_hex(file->sha256, hex);
		event_put_text(e, to->sha256, hex);
	} else if (file->unhashed < FINAL_UNHASHED) {
		event_put_text(e, to->unhashed, unhashed_names[file->unhashed]);
	}
}

/* Of a path that is too long the beginning is left out, as everywhere. */
static void put_path(struct event *e, struct bytes path)
{
	size_t over = path.size > PATH_SHOWN ? path.size - PATH_SHOWN : 0;

	event_put_bytes(e, FIELD_path, (const char *)path.data + over, path.size - over);
	if (over)
		event_mark_cut(e, FIELD_path, path.size, NULL);
}

static int record(struct final *f, const struct final_packet *p, struct bytes path,
		  struct bytes target, const bool *is_explained)
{
	struct event *e = recording_begin(f->options.recording, EVENT_file_final);
	char hex[2 * HASH_SIZE + 1], hex_before[2 * HASH_SIZE + 1];

	put_path(e, path);
	event_put_text(e, FIELD_change,
		       change_names[p->change < FINAL_CHANGES ? p->change : FINAL_SAME]);
	put_file(e, &p->now, &fields_now, hex);
	put_file(e, &p->before, &fields_before, hex_before);
	if (p->dev)
		event_put_u64(e, FIELD_dev, p->dev);
	if (p->ino)
		event_put_u64(e, FIELD_ino, p->ino);
	if (p->now.mode) {
		put_id(f, e, FIELD_uid, p->now.uid);
		put_id(f, e, FIELD_gid, p->now.gid);
	}
	if (target.size)
		event_put_bytes(e, FIELD_target, target.data, target.size);
	if (is_explained)
		event_put_bool(e, FIELD_explained, *is_explained);
	return recording_emit(f->options.recording, e);
}

/* ---- the way ---- */

/* The path of @name where the walk is. 0 or -ENOMEM. */
static int extend(struct final *f, struct bytes name)
{
	size_t need = f->path_size + 1 + name.size;

	if (need > f->path_room) {
		char *more = realloc(f->path, 2 * need);

		if (!more)
			return -ENOMEM;
		f->path = more;
		f->path_room = 2 * need;
	}
	f->path[f->path_size] = '/';
	memcpy(f->path + f->path_size + 1, name.data, name.size);
	return 0;
}

static struct explained_name *directory_of(const struct final *f)
{
	if (!f->options.explained)
		return NULL;
	return f->depth ? f->places[f->depth - 1].known : explained_root(f->options.explained);
}

static struct explained_name *known_as(const struct final *f, struct bytes name)
{
	return f->options.explained ? explained_find(f->options.explained, directory_of(f), name)
				    : NULL;
}

static int enter(struct final *f, struct bytes name)
{
	struct place place = {known_as(f, name), f->path_size};
	int r = extend(f, name);

	if (r == 0 && f->depth == f->place_room) {
		struct place *more = reallocarray(f->places, 2 * f->place_room, sizeof(*f->places));

		r = more ? 0 : -ENOMEM;
		f->places = more ? more : f->places;
		f->place_room *= more ? 2 : 1;
	}
	if (r < 0)
		return r;
	if (place.known)
		explained_see(f->options.explained, directory_of(f), place.known, name,
			      EXPLAINED_PRESENT);
	f->places[f->depth++] = place;
	f->path_size += 1 + name.size;
	return 0;
}

static int leave(struct final *f)
{
	if (f->depth == 0)
		return -EBADMSG;
	f->path_size = f->places[--f->depth].path_size;
	return 0;
}

static int found(struct final *f, const struct final_packet *p, struct bytes name,
		 struct bytes target)
{
	bool is_explained = true, is_judged = f->options.explained != NULL;
	int r = extend(f, name);

	if (r < 0)
		return r;
	struct bytes path = {f->path, f->path_size + 1 + name.size};
	if (is_judged)
		is_explained = explained_see(
			f->options.explained, directory_of(f), known_as(f, name), name,
			p->change == FINAL_DELETED ? EXPLAINED_DELETED : EXPLAINED_CHANGED);
	if (!is_explained && explained_excuse(f->options.explained)) {
		f->unproven_count++;
		is_explained = true;
	}
	if (!is_explained)
		add_unexplained(f, path, "no_record");
	return record(f, p, path, target, is_judged ? &is_explained : NULL);
}

/* ---- /workspace ---- */

static void add_look(void *context, struct bytes path)
{
	struct final *f = context;
	const size_t skipped = sizeof("/" WORKSPACE "/") - 1;

	if (path.size - skipped >= FINAL_NAME_MAX) {
		f->totals.untold++;
		return;
	}
	if (f->look_count == f->look_room) {
		size_t room = f->look_room ? 2 * f->look_room : 64;
		char **more = reallocarray(f->looks, room, sizeof(*more));

		if (!more) {
			f->totals.untold++;
			return;
		}
		f->looks = more;
		f->look_room = room;
	}
	char *copy = strndup((const char *)path.data + skipped, path.size - skipped);
	if (copy)
		f->looks[f->look_count++] = copy;
	else
		f->totals.untold++;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_looks(struct final *f)
{
	if (!f->options.explained)
		return;
	explained_below(f->options.explained, WORKSPACE, add_look, f);
	if (f->look_count)
		qsort(f->looks, f->look_count, sizeof(*f->looks), compare_paths);
}

/* One after the other, so the socket has always room. */
static int ask_next(struct final *f)
{
	struct final_packet p = {.kind = FINAL_LOOK};

	if (f->looked == f->look_count) {
		f->state = FINAL_DONE;
		return 0;
	}
	const char *path = f->looks[f->looked];
	p.name_size = (uint32_t)strlen(path);
	struct iovec parts[] = {{&p, sizeof(p)}, {(void *)path, p.name_size}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

	return sendmsg(f->options.socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* What is not there and was not there before the session is no change. */
static int looked_at(struct final *f, struct final_packet *p, struct bytes target)
{
	char path[sizeof("/" WORKSPACE "/") + FINAL_NAME_MAX];
	int size = snprintf(path, sizeof(path), "/" WORKSPACE "/%s", f->looks[f->looked++]);
	struct bytes whole = {path, (size_t)size};
	bool is_new = explained_is_new(explained_path(f->options.explained, whole));
	int r = 0;

	if (p->now.mode)
		p->change = is_new ? FINAL_CREATED : FINAL_MODIFIED;
	else
		p->change = FINAL_DELETED;
	if (p->now.mode || !is_new)
		r = record(f, p, whole, target, NULL);
	return r < 0 ? r : ask_next(f);
}

/* ---- packets ---- */

/* Of what was left out nothing can be missing. */
static void look_for_missing(struct final *f)
{
	const struct final_totals *t = &f->totals;

	if (f->options.explained && !t->untold && !t->too_deep && !t->unreadable && !t->out_of_time)
		explained_missing(f->options.explained, on_missing, f);
}

static int walked(struct final *f, const char *tail, size_t size)
{
	if (size != sizeof(f->totals))
		return -EBADMSG;
	memcpy(&f->totals, tail, sizeof(f->totals));
	look_for_missing(f);
	f->state = FINAL_LOOKING;
	list_looks(f);
	return ask_next(f);
}

static int take_packet(struct final *f, const char *room, size_t size)
{
	struct final_packet p;

	if (size < sizeof(p))
		return -EBADMSG;
	memcpy(&p, room, sizeof(p));
	room += sizeof(p);
	size -= sizeof(p);
	if (p.kind == FINAL_WALKED && f->state == FINAL_WALKING)
		return walked(f, room, size);
	if (p.name_size > size || p.target_size > size - p.name_size)
		return -EBADMSG;

	struct bytes name = {room, p.name_size}, target = {room + p.name_size, p.target_size};
	if (f->state == FINAL_LOOKING)
		return p.kind == FINAL_FOUND ? looked_at(f, &p, target) : -EBADMSG;
	if (p.kind == FINAL_ENTER)
		return enter(f, name);
	if (p.kind == FINAL_LEAVE)
		return leave(f);
	return p.kind == FINAL_FOUND ? found(f, &p, name, target) : -EBADMSG;
}

/* Until there is none now, or nothing more to come. */
static int take_packets(struct final *f)
{
	char room[FINAL_PACKET_MAX];

	while (f->state == FINAL_WALKING || f->state == FINAL_LOOKING) {
		ssize_t size = recv(f->options.socket, room, sizeof(room), 0);

		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			return -EAGAIN;
		if (size <= 0)
			return size < 0 ? -errno : -ECONNRESET;
		int r = take_packet(f, room, (size_t)size);
		if (r < 0)
			return r;
	}
	return 0;
}

static void end(struct final *f, enum final_state state)
{
	f->state = state;
	stop(f);
	f->done(f->context);
}

static int on_socket(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct final *f = context;
	int r = take_packets(f);

	(void)source, (void)fd, (void)events;
	if (r != -EAGAIN)
		end(f, r < 0 ? FINAL_FAILED : FINAL_DONE);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t now_us, void *context)
{
	(void)source, (void)now_us;
	end(context, FINAL_FAILED);
	return 0;
}

void final_read(struct final *f, final_done *done, void *context)
{
	f->done = done;
	f->context = context;
	if (f->options.socket < 0) {
		look_for_missing(f);
		end(f, FINAL_DONE);
		return;
	}
	f->state = FINAL_WALKING;
	int r = take_packets(f);
	if (r != -EAGAIN) {
		end(f, r < 0 ? FINAL_FAILED : FINAL_DONE);
		return;
	}
	r = sd_event_add_io(f->options.loop, &f->source, f->options.socket, EPOLLIN, on_socket, f);
	if (r >= 0)
		r = sd_event_add_time_relative(f->options.loop, &f->timer, CLOCK_MONOTONIC,
					       (f->options.seconds + PATIENCE_S) * 1000000, 0,
					       on_timer, f);
	if (r < 0)
		end(f, FINAL_FAILED);
}

/* ---- for session.end ---- */

static void put_count(json_t *object, const char *name, uint64_t count)
{
	if (count)
		json_object_set_new(object, name, json_integer((json_int_t)count));
}

char *final_summary(const struct final *f)
{
	const struct final_totals *t = &f->totals;
	bool is_cut = t->untold || t->too_deep || t->unreadable || t->out_of_time;
	const char *state = f->state != FINAL_DONE ? "failed" : is_cut ? "cut" : "whole";
	cleanup(json) json_t *left_out = json_object();
	cleanup(json) json_t *summary =
		json_pack("{s:s, s:I, s:I}", "state", state, "found", (json_int_t)t->found, "bytes",
			  (json_int_t)t->bytes);

	put_count(left_out, "files", t->untold);
	put_count(left_out, "deep", t->too_deep);
	put_count(left_out, "unreadable", t->unreadable);
	put_count(left_out, "time", t->out_of_time);
	if (json_object_size(left_out))
		json_object_set(summary, "left_out", left_out);
	return json_dumps(summary, JSON_COMPACT);
}

char *final_unexplained(const struct final *f, bool lost)
{
	if (f->state != FINAL_DONE || !f->options.explained ||
	    !explained_is_whole(f->options.explained))
		return NULL;

	json_int_t count = (json_int_t)f->unexplained_count;
	cleanup(json) json_t *value = json_pack("{s:I}", "count", lost ? (json_int_t)0 : count);

	if (lost && count)
		json_object_set_new(value, "by_loss", json_integer(count));
	put_count(value, "by_unproven", f->unproven_count);
	if (json_array_size(f->unexplained))
		json_object_set(value, "names", f->unexplained);
	return json_dumps(value, JSON_COMPACT);
}
