/*
 * Templates in the state directory. See template_store.h.
 *
 * One is made under a name that begins with a dot and renamed when it is whole; one that is removed
 * is renamed first. What a crash leaves of either is locked by nobody and swept by the next that
 * adds or removes.
 */
#include "template_store.h"

#include "record/jansson_cleanup.h"
#include "sandbox/template_copy.h"
#include "template_directory.h"
#include "template_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define TREE "root"
#define FILE_NAME "template.json"

bool template_name_is_valid(const char *name)
{
	size_t length = strlen(name);

	if (length == 0 || length > TEMPLATE_NAME_MAX || *name == '.' || *name == '-' ||
	    strcmp(name, TEMPLATE_HOST) == 0)
		return false;
	for (; *name; name++)
		if (!isascii(*name) || (!isalnum(*name) && !strchr("._-", *name)))
			return false;
	return true;
}

static int refuse_name(const char *name, struct fault *f)
{
	if (template_name_is_valid(name))
		return 0;
	return fault_set(f, -EINVAL, "template",
			 "template %s: bad name; allowed: 1 to %d letters, digits, '.', '_' and "
			 "'-', the first a letter, a digit or '_', but not \"" TEMPLATE_HOST "\"",
			 name, TEMPLATE_NAME_MAX);
}

/* ---- the directory of all ---- */

static int make_directory(int dir_fd, const char *path, mode_t mode, struct fault *f)
{
	if (mkdirat(dir_fd, path, mode) < 0 && errno != EEXIST)
		return fault_set(f, -errno, "template", "%s: %s", path, strerror(errno));
	return 0;
}

int template_store_open(const char *state, bool make, int *ret_fd, struct fault *f)
{
	char path[PATH_MAX];
	struct stat st;

	if ((size_t)snprintf(path, sizeof(path), "%s/templates", state) >= sizeof(path))
		return fault_set(f, -ENAMETOOLONG, "template", "state directory %s: too long",
				 state);
	int r = make ? make_directory(AT_FDCWD, state, 0711, f) : 0;
	if (r == 0 && make)
		r = make_directory(AT_FDCWD, path, 0700, f);
	if (r < 0)
		return r;
	cleanup(close_fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 || fstat(fd, &st) < 0)
		return fault_set(f, -errno, "template", "%s: %s", path, strerror(errno));
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return fault_set(f, -EPERM, "template",
				 "%s: has to belong to root and be writable by nobody else", path);
	*ret_fd = take_fd(fd);
	return 0;
}

/* ---- what is made and removed ---- */

/* A directory that nobody looks for, locked by us. */
static int make_hidden(int store_fd, char ret_name[32], int *ret_fd)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(ret_name, 32, ".%d-%lx", getpid(), (unsigned long)now.tv_nsec);
	if (mkdirat(store_fd, ret_name, 0700) < 0)
		return -errno;
	int fd = openat(store_fd, ret_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int r = -errno;

		cleanup_close_fd(&fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

static int drop(int store_fd, const char *name, int fd)
{
	int r = template_clear(fd);

	return r == 0 && unlinkat(store_fd, name, AT_REMOVEDIR) < 0 ? -errno : r;
}

static DIR *open_all(int store_fd)
{
	int copy = openat(store_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (!dir)
		cleanup_close_fd(&copy);
	return dir;
}

static void sweep(int store_fd)
{
	cleanup(closedir) DIR *dir = open_all(store_fd);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] != '.' || !isdigit((unsigned char)e->d_name[1]))
			continue;
		cleanup(close_fd) int fd = openat(store_fd, e->d_name,
						  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			drop(store_fd, e->d_name, fd);
	}
}

/* ---- add ---- */

static void note_time(char text[32])
{
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static int fill(int fd, const char *directory, struct template_info *info, struct fault *f)
{
	cleanup(close_fd) int root_fd = -1, from_fd = -1, to_fd = -1;
	struct template_fault fault = {0};
	int r = template_open_directory(directory, &root_fd, &from_fd, f);

	if (r < 0)
		return r;
	if (mkdirat(fd, TREE, 0700) < 0 ||
	    (to_fd = openat(fd, TREE, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return fault_set(f, -errno, "template", "%s: %s", info->name, strerror(errno));
	r = template_copy(from_fd, to_fd, &info->left_out, &fault);
	if (r < 0)
		return template_blame(&fault, r, directory, f);
	r = template_digest_of(to_fd, directory, &info->sum, f);
	if (r < 0)
		return r;
	r = template_file_write(fd, FILE_NAME, info);
	return r < 0 ? fault_set(f, r, "template", "%s: %s", info->name, strerror(-r)) : 0;
}

static int refuse_second(const char *name, struct fault *f)
{
	return fault_set(f, -EEXIST, "template",
			 "there is a template %s already; give another name, or --replace it",
			 name);
}

/* Give the finished template its name; what had it before is dropped. */
static int name_it(int store_fd, const char *hidden, const char *name, bool replace,
		   struct fault *f)
{
	if (renameat2(store_fd, hidden, store_fd, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EEXIST)
		return fault_set(f, -errno, "template", "%s: %s", name, strerror(errno));
	if (!replace)
		return refuse_second(name, f);

	cleanup(close_fd) int old =
		openat(store_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (old < 0)
		return fault_set(f, -errno, "template", "%s: %s", name, strerror(errno));
	if (flock(old, LOCK_EX | LOCK_NB) < 0)
		return fault_set(f, -EBUSY, "template", "template %s: a session uses it", name);
	if (renameat2(store_fd, hidden, store_fd, name, RENAME_EXCHANGE) < 0)
		return fault_set(f, -errno, "template", "%s: %s", name, strerror(errno));
	drop(store_fd, hidden, old);
	return 0;
}

int template_store_add(int store_fd, const char *name, const char *directory, bool replace,
		       struct template_info *ret_info, struct fault *f)
{
	struct template_info info = {0};
	cleanup(close_fd) int fd = -1;
	char hidden[32];
	int r = refuse_name(name, f);

	if (r < 0)
		return r;
	if (!replace && faccessat(store_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return refuse_second(name, f);
	if (!realpath(directory, info.source))
		return fault_set(f, -errno, "template", "%s: %s", directory, strerror(errno));
	sweep(store_fd);
	snprintf(info.name, sizeof(info.name), "%s", name);
	note_time(info.added);
	r = make_hidden(store_fd, hidden, &fd);
	if (r < 0)
		return fault_set(f, r, "template", "%s: %s", name, strerror(-r));
	r = fill(fd, info.source, &info, f);
	if (r == 0)
		r = name_it(store_fd, hidden, name, replace, f);
	if (r < 0) {
		drop(store_fd, hidden, fd);
		return r;
	}
	fsync(store_fd);
	*ret_info = info;
	return 0;
}

/* ---- use ---- */

static int open_named(int store_fd, const char *name, int operation, int *ret_fd, struct fault *f)
{
	struct stat ours, named;
	int r = refuse_name(name, f);

	if (r < 0)
		return r;
	for (;;) {
		cleanup(close_fd) int fd =
			openat(store_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			return fault_set(f, -ENOENT, "template",
					 "there is no template %s; add it with `vitrine template "
					 "add %s DIR`",
					 name, name);
		if (fd < 0)
			return fault_set(f, -errno, "template", "%s: %s", name, strerror(errno));
		if (flock(fd, operation | LOCK_NB) < 0)
			return fault_set(f, -EBUSY, "template",
					 operation == LOCK_EX ? "template %s: a session uses it"
							      : "template %s: it is being removed",
					 name);
		if (fstat(fd, &ours) < 0 || fstatat(store_fd, name, &named, 0) < 0 ||
		    ours.st_ino != named.st_ino)
			continue; /* it was replaced meanwhile */
		*ret_fd = take_fd(fd);
		return 0;
	}
}

static int read_named(int fd, const char *name, struct template_info *ret_info, int *ret_root_fd,
		      struct fault *f)
{
	int r = template_file_read(fd, FILE_NAME, ret_info);

	if (r < 0)
		return fault_set(f, r, "template",
				 "template %s: %s: %s; remove it and add it again", name, FILE_NAME,
				 strerror(-r));
	snprintf(ret_info->name, sizeof(ret_info->name), "%s", name);
	*ret_root_fd = openat(fd, TREE, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_root_fd < 0)
		return fault_set(f, -errno, "template", "template %s: %s", name, strerror(errno));
	return 0;
}

int template_store_load(int store_fd, const char *name, struct template_info *ret_info,
			int *ret_root_fd, int *ret_lock_fd, struct fault *f)
{
	cleanup(close_fd) int fd = -1;
	int r = open_named(store_fd, name, LOCK_SH, &fd, f);

	if (r == 0)
		r = read_named(fd, name, ret_info, ret_root_fd, f);
	if (r == 0)
		*ret_lock_fd = take_fd(fd);
	return r;
}

int template_store_check(int store_fd, const char *name, bool *ret_same,
			 struct template_info *ret_info, struct fault *f)
{
	cleanup(close_fd) int root_fd = -1, lock_fd = -1;
	struct template_info info;
	struct template_sum now;
	int r = template_store_load(store_fd, name, &info, &root_fd, &lock_fd, f);

	if (r == 0)
		r = template_digest_of(root_fd, name, &now, f);
	if (r < 0)
		return r;
	*ret_same = strcmp(now.digest, info.sum.digest) == 0;
	if (*ret_same && strcmp(now.stamp, info.sum.stamp) != 0) {
		info.sum = now;
		r = template_file_write(lock_fd, FILE_NAME, &info);
		if (r < 0)
			return fault_set(f, r, "template", "%s: %s", name, strerror(-r));
	}
	*ret_info = info;
	return 0;
}

int template_store_remove(int store_fd, const char *name, struct fault *f)
{
	cleanup(close_fd) int fd = -1;
	char hidden[32];
	int r = open_named(store_fd, name, LOCK_EX, &fd, f);

	if (r < 0)
		return r;
	sweep(store_fd);
	snprintf(hidden, sizeof(hidden), ".%d-old", getpid());
	if (renameat(store_fd, name, store_fd, hidden) < 0)
		r = -errno;
	else
		r = drop(store_fd, hidden, fd);
	return r < 0 ? fault_set(f, r, "template", "template %s: %s", name, strerror(-r)) : 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **names)
{
	for (char **n = names; n && *n; n++)
		free(*n);
	free(names);
}

/* Put @name behind the @count names of a NULL-terminated array. */
static int add_name(char ***names, size_t count, const char *name)
{
	char **larger = realloc(*names, (count + 2) * sizeof(*larger));

	if (!larger)
		return -ENOMEM;
	*names = larger;
	larger[count] = strdup(name);
	larger[count + 1] = NULL;
	return larger[count] ? 0 : -ENOMEM;
}

int template_store_list(int store_fd, char ***ret_names, struct fault *f)
{
	cleanup(closedir) DIR *dir = open_all(store_fd);
	char **names = calloc(1, sizeof(*names));
	size_t count = 0;
	int r = dir && names ? 0 : -ENOMEM;

	for (struct dirent *e; r == 0 && (e = readdir(dir));) {
		if (!template_name_is_valid(e->d_name))
			continue;
		r = add_name(&names, count, e->d_name);
		count++;
	}
	if (r < 0) {
		free_names(names);
		return fault_set(f, r, "template", "the templates cannot be listed: %s",
				 strerror(-r));
	}
	if (count > 0)
		qsort(names, count, sizeof(*names), compare);
	*ret_names = names;
	return 0;
}
