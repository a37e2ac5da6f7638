/*
 * Directories of the host's as templates. See template_directory.h.
 *
 * What one was is noted in the state directory, with the stamp that it had: as long as it has that,
 * its files need not be read again.
 */
#include "template_directory.h"

#include "record/cleanup.h"
#include "record/hash.h"
#include "record/printable.h"
#include "sandbox/mount.h"
#include "template_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define PATHS ".paths"
#define SETTLED_NS 1000000000ll /* the clock of files is at least this fine */

int template_blame(const struct template_fault *fault, int r, const char *what, struct fault *f)
{
	return fault_set(f, r, "template", "%s: %s: %s", what, fault->path[0] ? fault->path : ".",
			 fault->what ? fault->what : strerror(-r));
}

int template_open_directory(const char *directory, int *ret_root_fd, int *ret_tree_fd,
			    struct fault *f)
{
	struct stat st, host;
	cleanup(close_fd) int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0 || stat("/", &host) < 0)
		return fault_set(f, -errno, "template", "%s: %s", directory, strerror(errno));
	if (st.st_dev == host.st_dev && st.st_ino == host.st_ino)
		return fault_set(f, -EINVAL, "template",
				 "%s: is the root of the host, whose secrets a session's root "
				 "could then read; without a template a session gets what "
				 "everybody may read of it",
				 directory);
	int r = mount_clone(fd, "", false, ret_tree_fd);
	if (r < 0)
		return fault_set(f, r, "template", "%s: %s%s", directory, strerror(-r),
				 r == -EPERM ? "; only root can use a directory as a template"
					     : "");
	*ret_root_fd = take_fd(fd);
	return 0;
}

int template_digest_of(int tree_fd, const char *what, struct template_sum *ret_sum, struct fault *f)
{
	struct template_fault fault;
	int r = template_digest(tree_fd, ret_sum, &fault);

	return r < 0 ? template_blame(&fault, r, what, f) : 0;
}

static void name_path(const char *path, char ret_name[48])
{
	uint8_t digest[HASH_SIZE];

	hash_bytes(bytes_of(path), digest);
	for (size_t i = 0; i < 16; i++)
		snprintf(ret_name + 2 * i, 3, "%02x", digest[i]);
	memcpy(ret_name + 32, ".json", sizeof(".json"));
}

/* The files with what is known; without them everything is read again. */
static int open_paths(const char *state)
{
	cleanup(close_fd) int store_fd = -1;
	struct fault unseen;

	if (template_store_open(state, true, &store_fd, &unseen) < 0)
		return -1;
	mkdirat(store_fd, PATHS, 0700);
	return openat(store_fd, PATHS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* A change within a tick of the clock of files would not show: too young a tree is not noted. */
static bool is_settled(const struct template_sum *sum, const struct timespec *looked)
{
	return sum->changed_ns + SETTLED_NS < looked->tv_sec * 1000000000ll + looked->tv_nsec;
}

int template_of_directory(const char *state, const char *directory, struct template_sum *ret_sum,
			  struct fault *f)
{
	cleanup(close_fd) int root_fd = -1, tree_fd = -1;
	struct template_info known = {0};
	struct template_fault fault;
	struct timespec looked;
	char name[48];
	int r = template_open_directory(directory, &root_fd, &tree_fd, f);

	if (r < 0)
		return r;
	cleanup(close_fd) int paths_fd = open_paths(state);
	bool may_note = paths_fd >= 0;
	name_path(directory, name);
	if (may_note && template_file_read(paths_fd, name, &known) == 0 &&
	    strcmp(known.source, directory) == 0) {
		r = template_stamp(tree_fd, ret_sum, &fault);
		if (r < 0)
			return template_blame(&fault, r, directory, f);
		if (strcmp(ret_sum->stamp, known.sum.stamp) == 0) {
			*ret_sum = known.sum;
			return 0;
		}
	}
	clock_gettime(CLOCK_REALTIME, &looked);
	r = template_digest_of(tree_fd, directory, ret_sum, f);
	if (r < 0 || !may_note || !is_settled(ret_sum, &looked))
		return r;
	known = (struct template_info){.sum = *ret_sum};
	snprintf(known.source, sizeof(known.source), "%s", directory);
	template_file_write(paths_fd, name, &known); /* only to be faster the next time */
	return 0;
}
