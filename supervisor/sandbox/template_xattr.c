/*
 * Extended attributes of files in a template. See template_xattr.h.
 *
 * They are reached through /proc/self/fd and not by following: a link has attributes of its own.
 */
#include "template_xattr.h"

#include "../record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/xattr.h>

#define LIST_ROOM 65536
#define VALUE_ROOM 65536
#define NAMES_MAX 256
#define PLACE_ROOM (32 + NAME_MAX)

/* Of the host, or of the one file system. */
static const char *const left_out[] = {
	"security.selinux", "security.SMACK64", "security.apparmor", "security.ima",
	"security.evm",	    "trusted.",		"system.nfs",	     "btrfs.",
};

static bool counts(const char *name)
{
	for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
		if (strncmp(name, left_out[i], strlen(left_out[i])) == 0)
			return false;
	return true;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void place_of(int dir_fd, const char *name, char place[PLACE_ROOM])
{
	snprintf(place, PLACE_ROOM, "/proc/self/fd/%d/%s", dir_fd, name);
}

static size_t sort_names(const char *list, size_t size, const char *names[NAMES_MAX])
{
	size_t count = 0;

	for (const char *n = list; n < list + size && count < NAMES_MAX; n += strlen(n) + 1)
		if (counts(n))
			names[count++] = n;
	qsort(names, count, sizeof(*names), compare);
	return count;
}

int template_xattrs(const struct template_entry *e, template_xattr_visit visit, void *context)
{
	const char *names[NAMES_MAX];
	char place[PLACE_ROOM], list[1024];

	place_of(e->dir_fd, e->name, place);
	ssize_t size = llistxattr(place, list, sizeof(list));
	if (size == 0 || (size < 0 && errno == ENOTSUP))
		return 0;

	cleanup(free) char *room = malloc(LIST_ROOM + VALUE_ROOM);
	if (!room)
		return -ENOMEM;
	size = llistxattr(place, room, LIST_ROOM);
	if (size < 0)
		return -errno;
	size_t count = sort_names(room, (size_t)size, names);
	for (size_t i = 0; i < count; i++) {
		ssize_t n = lgetxattr(place, names[i], room + LIST_ROOM, VALUE_ROOM);
		int r = n < 0 ? -errno : visit(context, names[i], room + LIST_ROOM, (size_t)n);
		if (r < 0)
			return r;
	}
	return 0;
}

int template_xattr_set(int dir_fd, const char *name, const char *attribute, const void *value,
		       size_t size)
{
	char place[PLACE_ROOM];

	place_of(dir_fd, name, place);
	return lsetxattr(place, attribute, value, size, 0) < 0 ? -errno : 0;
}
