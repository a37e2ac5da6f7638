/*
 * A key is whole and on disk before its name stands, and the name of the old one stands before its
 * place is taken.
 */
#include "deployment_key.h"

#include "record/cleanup.h"
#include "record/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_SIZE DEPLOYMENT_KEY_SIZE

/* ---- files ---- */

/* Write a new key under a name of its own, whole and on disk. */
static int write_key(const char *name, uint8_t ret_key[KEY_SIZE])
{
	cleanup(close_fd) int fd =
		open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;

	if (getrandom(ret_key, KEY_SIZE, 0) != KEY_SIZE)
		return -EIO;
	ssize_t n = write(fd, ret_key, KEY_SIZE);
	if (n != KEY_SIZE)
		return n < 0 ? -errno : -ENOSPC;
	return fsync(fd) < 0 ? -errno : 0;
}

static int temporary_name(const char *path, char ret_name[PATH_MAX], struct fault *ret_fault)
{
	if (snprintf(ret_name, PATH_MAX, "%s.%d", path, getpid()) >= PATH_MAX)
		return fault_set(ret_fault, -ENAMETOOLONG, "no_key", "%s: name is too long", path);
	unlink(ret_name);
	return 0;
}

/* Of two daemons that start at once one makes the key, and the other reads it. */
static int make_key(const char *path, struct fault *ret_fault)
{
	char name[PATH_MAX];
	uint8_t key[KEY_SIZE];

	int r = temporary_name(path, name, ret_fault);
	if (r < 0)
		return r;
	r = write_key(name, key);
	if (r == 0 && link(name, path) < 0 && errno != EEXIST)
		r = -errno;
	unlink(name);
	explicit_bzero(key, sizeof(key));
	return r < 0 ? fault_set(ret_fault, r, "no_key", "%s: %s", path, strerror(-r)) : 0;
}

static int read_key(const char *path, uint8_t ret_key[KEY_SIZE], struct fault *ret_fault)
{
	struct stat st;
	uint8_t key[KEY_SIZE + 1];

	cleanup(close_fd) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fault_set(ret_fault, -errno, "no_key", "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return fault_set(ret_fault, -EPERM, "no_key",
				 "%s: the deployment key has to be a file of root with mode 0600",
				 path);
	ssize_t n = read(fd, key, sizeof(key));
	if (n == KEY_SIZE)
		memcpy(ret_key, key, KEY_SIZE);
	explicit_bzero(key, sizeof(key));
	return n == KEY_SIZE ? 0
			     : fault_set(ret_fault, -EINVAL, "no_key",
					 "%s: the deployment key has to be 32 bytes long", path);
}

int deployment_key_load(const char *path, uint8_t ret_key[KEY_SIZE], struct fault *ret_fault)
{
	int r = access(path, F_OK) < 0 ? make_key(path, ret_fault) : 0;

	return r < 0 ? r : read_key(path, ret_key, ret_fault);
}

/* ---- ids ---- */

void deployment_key_id(const uint8_t key[KEY_SIZE], char ret_id[DEPLOYMENT_KEY_ID + 1])
{
	static const char text[] = "vitrine: the id of a deployment key";
	uint8_t digest[32];

	hash_keyed((struct bytes){key, KEY_SIZE}, (struct bytes){text, sizeof(text)}, digest);
	for (size_t i = 0; i < DEPLOYMENT_KEY_ID / 2; i++)
		snprintf(ret_id + 2 * i, 3, "%02x", digest[i]);
}

/* ---- one after the other ---- */

static int sync_parent(const char *path)
{
	char parent[PATH_MAX];
	const char *slash = strrchr(path, '/');

	snprintf(parent, sizeof(parent), "%.*s", slash && slash > path ? (int)(slash - path) : 1,
		 slash ? path : ".");
	cleanup(close_fd) int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int replace(const char *path, const char *old_id, char ret_new_id[DEPLOYMENT_KEY_ID + 1],
		   struct fault *ret_fault)
{
	char name[PATH_MAX], kept[PATH_MAX];
	uint8_t key[KEY_SIZE];

	int r = temporary_name(path, name, ret_fault);
	if (r < 0)
		return r;
	if (snprintf(kept, sizeof(kept), "%s.%s", path, old_id) >= (int)sizeof(kept))
		return fault_set(ret_fault, -ENAMETOOLONG, "no_key", "%s: name is too long", path);
	r = write_key(name, key);
	deployment_key_id(key, ret_new_id);
	explicit_bzero(key, sizeof(key));
	if (r == 0 && link(path, kept) < 0 && errno != EEXIST)
		r = -errno;
	if (r == 0 && rename(name, path) < 0)
		r = -errno;
	if (r == 0)
		r = sync_parent(path);
	unlink(name);
	return r < 0 ? fault_set(ret_fault, r, "no_key", "%s: %s", path, strerror(-r)) : 0;
}

int deployment_key_rotate(const char *path, char ret_old_id[DEPLOYMENT_KEY_ID + 1],
			  char ret_new_id[DEPLOYMENT_KEY_ID + 1], struct fault *ret_fault)
{
	uint8_t key[KEY_SIZE];
	int r = read_key(path, key, ret_fault);

	if (r < 0)
		return r;
	deployment_key_id(key, ret_old_id);
	explicit_bzero(key, sizeof(key));
	return replace(path, ret_old_id, ret_new_id, ret_fault);
}

static int take_key(const char *path, deployment_key_take *taker, void *context,
		    struct fault *ret_fault)
{
	char id[DEPLOYMENT_KEY_ID + 1];
	uint8_t key[KEY_SIZE];
	int r = read_key(path, key, ret_fault);

	if (r < 0)
		return r;
	deployment_key_id(key, id);
	r = taker(context, key, id);
	explicit_bzero(key, sizeof(key));
	return r;
}

static void cleanup_glob(glob_t *g)
{
	globfree(g);
}

int deployment_key_each(const char *path, deployment_key_take *taker, void *context,
			struct fault *ret_fault)
{
	char pattern[PATH_MAX];
	cleanup(glob) glob_t found = {0};
	int r = take_key(path, taker, context, ret_fault);

	if (r < 0)
		return r;
	if (snprintf(pattern, sizeof(pattern),
		     "%s.[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]",
		     path) >= (int)sizeof(pattern))
		return 0;
	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		return 0;
	for (size_t i = 0; r == 0 && i < found.gl_pathc; i++)
		r = take_key(found.gl_pathv[i], taker, context, ret_fault);
	return r;
}
