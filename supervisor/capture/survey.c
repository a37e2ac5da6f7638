/*
 * The walk. One level for each directory on the way to where it is; each holds the directory in the
 * upper layer, in the layers below as far as it is there, and in the root. See survey.h.
 */
#include "survey.h"

#include "../record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

#define BUFFER_BYTES 4096
#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* What getdents64(2) gives. */
struct entry {
	uint64_t ino;
	int64_t next;
	uint16_t size;
	uint8_t type;
	char name[];
};

struct listing {
	int fd;
	size_t at, size;
	_Alignas(8) char buffer[BUFFER_BYTES];
};

struct level {
	struct level *above;
	int upper_fd, root_fd, below_fds[SURVEY_BELOW]; /* owned, but of the first one */
	struct listing listing;				/* of the upper layer */
};

struct walk {
	const struct survey_options *options;
	struct level *level; /* where it is */
	size_t depth;
	struct final_totals totals;
};

/* ---- listings ---- */

static bool is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

/* The next name, valid until the next call; NULL at the end, or with *ret_error. */
static const char *next_name(struct listing *l, int *ret_error)
{
	for (;;) {
		if (l->at >= l->size) {
			long n = syscall(SYS_getdents64, l->fd, l->buffer, sizeof(l->buffer));

			if (n <= 0) {
				*ret_error = n < 0 ? -errno : 0;
				return NULL;
			}
			l->at = 0;
			l->size = (size_t)n;
		}
		const struct entry *e = (const struct entry *)(l->buffer + l->at);

		l->at += e->size;
		if (!is_dots(e->name))
			return e->name;
	}
}

/* ---- levels ---- */

static void close_level(struct level *l)
{
	cleanup_close_fd(&l->upper_fd);
	cleanup_close_fd(&l->root_fd);
	for (size_t i = 0; i < SURVEY_BELOW; i++)
		cleanup_close_fd(&l->below_fds[i]);
	free(l);
}

static int open_below(int fd, const char *name)
{
	return fd < 0 ? -1 : openat(fd, name, DIRECTORY);
}

/* Without descriptors or memory for it a directory is too deep. */
static int open_level(const struct level *above, const char *name, struct level **ret_level)
{
	struct level *l = malloc(sizeof(*l));

	if (!l)
		return -ENOMEM;
	*l = (struct level){
		.above = (struct level *)above,
		.upper_fd = openat(above->upper_fd, name, DIRECTORY),
		.root_fd = -1,
		.below_fds = {-1, -1},
	};
	int r = l->upper_fd < 0 ? -errno : 0;
	if (r == 0 && above->root_fd >= 0) {
		l->root_fd = openat(above->root_fd, name, DIRECTORY);
		r = l->root_fd < 0 && errno == EMFILE ? -EMFILE : 0;
	}
	for (size_t i = 0; r == 0 && i < SURVEY_BELOW; i++) {
		l->below_fds[i] = open_below(above->below_fds[i], name);
		r = l->below_fds[i] < 0 && errno == EMFILE ? -EMFILE : 0;
	}
	if (r < 0) {
		close_level(l);
		return r;
	}
	l->listing.fd = l->upper_fd;
	*ret_level = l;
	return 0;
}

/* ---- what is told ---- */

static int emit(struct walk *w, struct final_packet *p, const char *name, const char *target)
{
	p->name_size = name ? (uint32_t)strlen(name) : 0;
	p->target_size = target ? (uint32_t)strlen(target) : 0;
	return w->options->emit(w->options->context, p, name, target);
}

static int emit_found(struct walk *w, struct final_packet *p, const char *name, const char *target)
{
	if (w->totals.found >= w->options->files_max) {
		w->totals.untold++;
		return 0;
	}
	w->totals.found++;
	p->kind = FINAL_FOUND;
	return emit(w, p, name, target);
}

static void put_status(const struct stat *st, struct final_file *file)
{
	file->mode = st->st_mode;
	file->uid = st->st_uid;
	file->gid = st->st_gid;
	file->size = (uint64_t)st->st_size;
}

static bool is_whiteout(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == 0;
}

/* The directory of the layers below that has @name, or -1. */
static int find_before(const struct level *l, const char *name, struct stat *ret_status)
{
	for (size_t i = 0; i < SURVEY_BELOW; i++)
		if (l->below_fds[i] >= 0 &&
		    fstatat(l->below_fds[i], name, ret_status, AT_SYMLINK_NOFOLLOW) == 0)
			return l->below_fds[i];
	return -1;
}

static void put_hash(struct walk *w, int dir_fd, const char *name, const struct stat *st,
		     struct final_file *file)
{
	if (!S_ISREG(st->st_mode))
		return;
	if (w->totals.found >= w->options->files_max)
		file->unhashed = FINAL_BYTES;
	else
		content_hash(w->options->content, dir_fd, name, st, file);
}

static bool read_target(int dir_fd, const char *name, char target[FINAL_NAME_MAX])
{
	ssize_t size = readlinkat(dir_fd, name, target, FINAL_NAME_MAX - 1);

	target[size > 0 ? size : 0] = '\0';
	return size > 0;
}

static bool has_same_content(const struct final_packet *p)
{
	return p->now.size == p->before.size && p->now.unhashed == FINAL_HASHED &&
	       p->before.unhashed == FINAL_HASHED &&
	       memcmp(p->now.sha256, p->before.sha256, HASH_SIZE) == 0;
}

static bool has_same_target(const struct level *l, int before_fd, const char *name)
{
	char now[FINAL_NAME_MAX], before[FINAL_NAME_MAX];

	return read_target(l->upper_fd, name, now) && read_target(before_fd, name, before) &&
	       strcmp(now, before) == 0;
}

static bool is_other_content(const struct level *l, int before_fd, const char *name,
			     const struct final_packet *p)
{
	if (S_ISREG(p->now.mode))
		return !has_same_content(p);
	return S_ISLNK(p->now.mode) && !has_same_target(l, before_fd, name);
}

static enum final_change compare(const struct level *l, int before_fd, const char *name,
				 const struct final_packet *p)
{
	if (before_fd < 0)
		return FINAL_CREATED;
	if ((p->now.mode & S_IFMT) != (p->before.mode & S_IFMT))
		return FINAL_REPLACED;
	if (is_other_content(l, before_fd, name, p))
		return FINAL_MODIFIED;
	return p->now.mode != p->before.mode || p->now.uid != p->before.uid ||
			       p->now.gid != p->before.gid
		       ? FINAL_ATTRIBUTES
		       : FINAL_SAME;
}

static int tell_deleted(struct walk *w, const char *name)
{
	struct final_packet p = {.change = FINAL_DELETED};
	struct stat before;
	int fd = find_before(w->level, name, &before);

	if (fd < 0)
		return 0;
	put_status(&before, &p.before);
	put_hash(w, fd, name, &before, &p.before);
	return emit_found(w, &p, name, NULL);
}

/* ---- directories ---- */

static bool is_there(int dir_fd, const char *name)
{
	struct stat st;

	return dir_fd >= 0 && fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A directory that stands in the place of a removed one: what that had in layer @i is gone. */
static int tell_hidden(struct walk *w, size_t i)
{
	const struct level *at = w->level;
	const char *name;
	int r = 0, error = 0;

	if (at->below_fds[i] < 0)
		return 0;
	struct listing l = {.fd = openat(at->below_fds[i], ".", DIRECTORY)};
	if (l.fd < 0)
		return 0;
	while (r == 0 && (name = next_name(&l, &error)))
		if (!is_there(at->upper_fd, name) && (i == 0 || !is_there(at->below_fds[0], name)))
			r = tell_deleted(w, name);
	close(l.fd);
	return r;
}

/*
 * It hides the one below if the root shows it as it is in the upper layer: of a directory that
 * is laid over another one the root shows the inode of that. One that is not the session's change
 * was only passed through on the way to what is.
 */
static enum final_change compare_directory(const struct level *l, int before_fd, const char *name,
					   const struct stat *now, struct final_packet *p)
{
	enum final_change change = compare(l, before_fd, name, p);

	if (before_fd >= 0 && change != FINAL_REPLACED && p->ino && p->ino == now->st_ino)
		return FINAL_REPLACED;
	return change;
}

static void count_left_out(struct walk *w, int error)
{
	if (error == -EMFILE || error == -ENFILE || error == -ENOMEM)
		w->totals.too_deep++;
	else
		w->totals.unreadable++;
}

static int enter(struct walk *w, const char *name, bool is_new)
{
	struct final_packet p = {.kind = FINAL_ENTER};
	struct level *l = NULL;

	int r = w->depth >= SURVEY_DEPTH_MAX ? -EMFILE : open_level(w->level, name, &l);
	if (r < 0) {
		count_left_out(w, r);
		return 0;
	}
	w->level = l;
	w->depth++;
	r = emit(w, &p, name, NULL);
	for (size_t i = 0; r == 0 && is_new && i < SURVEY_BELOW; i++)
		r = tell_hidden(w, i);
	return r;
}

static int leave(struct walk *w)
{
	struct final_packet p = {.kind = FINAL_LEAVE};
	struct level *l = w->level;

	w->level = l->above;
	w->depth--;
	close_level(l);
	return emit(w, &p, NULL, NULL);
}

/* ---- the walk ---- */

static int look_at(struct walk *w, const char *name)
{
	struct level *l = w->level;
	struct final_packet p = {0};
	char target[FINAL_NAME_MAX] = "";
	struct stat now, before, shown;

	if (fstatat(l->upper_fd, name, &now, AT_SYMLINK_NOFOLLOW) < 0) {
		w->totals.unreadable++;
		return 0;
	}
	if (is_whiteout(&now))
		return tell_deleted(w, name);
	put_status(&now, &p.now);
	put_hash(w, l->upper_fd, name, &now, &p.now);
	int before_fd = find_before(l, name, &before);
	if (before_fd >= 0) {
		put_status(&before, &p.before);
		put_hash(w, before_fd, name, &before, &p.before);
	}
	if (l->root_fd >= 0 && fstatat(l->root_fd, name, &shown, AT_SYMLINK_NOFOLLOW) == 0) {
		p.dev = shown.st_dev;
		p.ino = shown.st_ino;
	}
	if (S_ISLNK(now.st_mode))
		read_target(l->upper_fd, name, target);
	bool is_directory = S_ISDIR(now.st_mode);
	p.change = is_directory ? compare_directory(l, before_fd, name, &now, &p)
				: compare(l, before_fd, name, &p);

	int r = is_directory && p.change == FINAL_SAME ? 0 : emit_found(w, &p, name, target);
	return r == 0 && is_directory ? enter(w, name, p.change == FINAL_REPLACED) : r;
}

static int walk(struct walk *w)
{
	int r = 0, error = 0;

	while (r == 0) {
		if (content_is_out_of_time(w->options->content)) {
			w->totals.out_of_time = 1;
			return 0;
		}
		const char *name = next_name(&w->level->listing, &error);
		if (name) {
			r = look_at(w, name);
			continue;
		}
		if (error < 0)
			w->totals.unreadable++;
		if (!w->level->above)
			return 0;
		r = leave(w);
	}
	return r;
}

int survey_root(const struct survey_options *options, struct final_totals *ret_totals)
{
	cleanup(close_fd) int own = openat(options->upper_fd, ".", DIRECTORY);
	if (own < 0)
		return -errno;
	struct level first = {
		.upper_fd = own,
		.root_fd = options->root_fd,
		.below_fds = {options->below_fds[0], options->below_fds[1]},
		.listing = {.fd = own},
	};
	struct walk w = {.options = options, .level = &first};

	int r = walk(&w);
	while (w.level->above) {
		struct level *l = w.level;

		w.level = l->above;
		close_level(l);
	}
	w.totals.bytes = content_bytes(options->content);
	*ret_totals = w.totals;
	return r;
}

/* ---- /workspace ---- */

/* The directory that @path lies in; no link on the way there is followed. */
static int open_parent(int workspace_fd, const char *path, const char **ret_name)
{
	const struct open_how how = {
		.flags = DIRECTORY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	const char *slash = strrchr(path, '/');
	char parent[FINAL_NAME_MAX];

	*ret_name = slash ? slash + 1 : path;
	snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 1,
		 slash ? path : ".");
	long fd = syscall(SYS_openat2, workspace_fd, parent, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int survey_workspace(const struct survey_options *options, const char *path)
{
	struct walk w = {.options = options};
	struct final_packet p = {.kind = FINAL_FOUND};
	char target[FINAL_NAME_MAX] = "";
	const char *name;
	struct stat now;
	cleanup(close_fd) int fd = open_parent(options->workspace_fd, path, &name);

	if (fd >= 0 && !is_dots(name) && fstatat(fd, name, &now, AT_SYMLINK_NOFOLLOW) == 0) {
		put_status(&now, &p.now);
		put_hash(&w, fd, name, &now, &p.now);
		p.dev = now.st_dev;
		p.ino = now.st_ino;
		if (S_ISLNK(now.st_mode))
			read_target(fd, name, target);
	}
	return emit(&w, &p, path, target);
}
