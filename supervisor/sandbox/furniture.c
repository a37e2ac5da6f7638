/*
 * What a session finds in its root. See furniture.h.
 *
 * A template says itself what is in its /etc; there the user of commands is added to the lists of
 * users and groups, if its id is not in them.
 */
#include "furniture.h"

#include "../record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define LIST_ROOM 65536
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum root_kind { OF_HOST = 1, OF_TEMPLATE = 2, OF_BOTH = 3 };

static const struct furniture {
	const char *path;
	mode_t mode;
	uid_t owner; /* inside */
	enum root_kind in;
} furniture[] = {
	{"etc", 0755, SESSION_ROOT, OF_BOTH},
	{"etc/alternatives", 0755, SESSION_ROOT, OF_HOST},
	{"etc/ssl", 0755, SESSION_ROOT, OF_HOST},
	{"etc/ssl/certs", 0755, SESSION_ROOT, OF_HOST},
	{"dev", 0755, SESSION_ROOT, OF_BOTH},
	{"dev/shm", 01777, SESSION_ROOT, OF_BOTH},
	{"home", 0755, SESSION_ROOT, OF_BOTH},
	{"home/agent", 0755, SESSION_AGENT, OF_BOTH},
	{"mnt", 0755, SESSION_ROOT, OF_HOST},
	{"opt", 0755, SESSION_ROOT, OF_HOST},
	{"proc", 0755, SESSION_ROOT, OF_TEMPLATE},
	{"root", 0700, SESSION_ROOT, OF_BOTH},
	{"run", 0755, SESSION_ROOT, OF_BOTH},
	{"run/lock", 01777, SESSION_ROOT, OF_BOTH},
	{"srv", 0755, SESSION_ROOT, OF_HOST},
	{"sys", 0755, SESSION_ROOT, OF_TEMPLATE},
	{"tmp", 01777, SESSION_ROOT, OF_BOTH},
	{"var", 0755, SESSION_ROOT, OF_BOTH},
	{"var/cache", 0755, SESSION_ROOT, OF_HOST},
	{"var/lib", 0755, SESSION_ROOT, OF_HOST},
	{"var/log", 0755, SESSION_ROOT, OF_HOST},
	{"var/tmp", 01777, SESSION_ROOT, OF_BOTH},
	{"workspace", 0755, SESSION_AGENT, OF_BOTH},
};

/* Lists of names and ids, and the line that a template's may lack. */
static const struct list {
	const char *path, *text, *line;
} lists[] = {
	{"etc/passwd",
	 "root:x:0:0:root:/root:/bin/sh\n"
	 "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
	 "bin:x:2:2:bin:/bin:/usr/sbin/nologin\n"
	 "agent:x:1000:1000:agent:/home/agent:/bin/sh\n"
	 "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
	 "agent:x:1000:1000:agent:/home/agent:/bin/sh\n"},
	{"etc/group",
	 "root:x:0:\ndaemon:x:1:\nbin:x:2:\nsys:x:3:\nadm:x:4:\ntty:x:5:\nmail:x:8:\nutmp:x:43:\n"
	 "staff:x:50:\nusers:x:100:\nagent:x:1000:\nnogroup:x:65534:\n",
	 "agent:x:1000:\n"},
};

static void make_files_as(uid_t id)
{
	setfsgid(id);
	setfsuid(id);
}

static int write_file(int base_fd, const char *path, const char *text, size_t size)
{
	cleanup(close_fd) int fd =
		openat(base_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	ssize_t n = fd < 0 ? -1 : write(fd, text, size);

	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -ENOSPC;
}

static int write_names(int base_fd, const struct launch_request *request)
{
	char text[512];

	int n = snprintf(text, sizeof(text), "%s\n", request->id);
	int r = write_file(base_fd, "etc/hostname", text, (size_t)n);
	if (r < 0)
		return r;

	n = snprintf(text, sizeof(text),
		     "127.0.0.1\tlocalhost\n127.0.1.1\t%s\n::1\tlocalhost ip6-localhost "
		     "ip6-loopback\n",
		     request->id);
	r = write_file(base_fd, "etc/hosts", text, (size_t)n);
	if (r < 0)
		return r;
	return write_file(base_fd, "etc/resolv.conf", request->resolv, request->resolv_length);
}

/* ---- lists of a template ---- */

/* Links in a template lead where they would lead in the session, never out of it. */
static int open_in_template(int template_fd, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, template_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Bytes of the list, 0 if there is none, -EFBIG if it is none that we can complete. */
static ssize_t read_list(int template_fd, const char *path, char *text, size_t room)
{
	struct stat st;
	cleanup(close_fd) int fd = open_in_template(template_fd, path);

	if (fd < 0)
		return fd == -ENOENT || fd == -ELOOP || fd == -ENOTDIR ? 0 : fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (size_t)st.st_size >= room)
		return -EFBIG;
	ssize_t n = read(fd, text, room);
	return n < 0 ? -errno : (size_t)n >= room ? -EFBIG : n;
}

static bool field_is(const char **at, const char *end, const char *value)
{
	const char *colon = memchr(*at, ':', (size_t)(end - *at));
	size_t length = (size_t)((colon ? colon : end) - *at);
	bool same = length == strlen(value) && memcmp(*at, value, length) == 0;

	*at = colon ? colon + 1 : end;
	return same;
}

/* Is there a line with the name or the id of the user of commands? */
static bool knows_agent(const char *text, size_t size)
{
	const char *end = text + size;

	for (const char *line = text, *next; line < end; line = next) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const char *last = newline ? newline : end, *at = line;

		next = last + (newline != NULL);
		bool named = field_is(&at, last, "agent");
		field_is(&at, last, "");
		if (named || field_is(&at, last, "1000"))
			return true;
	}
	return false;
}

static int complete_list(const struct list *l, int template_fd, int base_fd, uid_t owner)
{
	char text[LIST_ROOM + 128] = "";

	make_files_as(0); /* whoever's it is in the template */
	ssize_t n = read_list(template_fd, l->path, text, LIST_ROOM);
	make_files_as(owner);

	if (n == -EFBIG)
		return 0;
	if (n < 0)
		return (int)n;
	if (n == 0)
		return write_file(base_fd, l->path, l->text, strlen(l->text));
	if (knows_agent(text, (size_t)n))
		return 0;
	size_t size = (size_t)n;
	if (text[size - 1] != '\n')
		text[size++] = '\n';
	memcpy(text + size, l->line, strlen(l->line));
	return write_file(base_fd, l->path, text, size + strlen(l->line));
}

static int make_places(enum root_kind kind, int base_fd)
{
	for (size_t i = 0; i < COUNT(furniture); i++) {
		const struct furniture *f = &furniture[i];

		if ((f->in & kind) && mkdirat(base_fd, f->path, f->mode) < 0)
			return -errno;
	}
	return 0;
}

static int make_lists(enum root_kind kind, int template_fd, int base_fd, uid_t owner)
{
	for (size_t i = 0; i < COUNT(lists); i++) {
		const struct list *l = &lists[i];
		int r = kind == OF_HOST ? write_file(base_fd, l->path, l->text, strlen(l->text))
					: complete_list(l, template_fd, base_fd, owner);
		if (r < 0)
			return r;
	}
	return 0;
}

static int give_places(uid_t uid_base, int base_fd)
{
	for (size_t i = 0; i < COUNT(furniture); i++) {
		const struct furniture *f = &furniture[i];
		uid_t owner = uid_base + f->owner;

		if (f->owner != SESSION_ROOT && fchownat(base_fd, f->path, owner, owner, 0) < 0)
			return -errno;
	}
	return 0;
}

/* Made by the session's root, all is the session's root's from the start. */
int furniture_make(uid_t uid_base, int template_fd, int base_fd)
{
	enum root_kind kind = template_fd < 0 ? OF_HOST : OF_TEMPLATE;
	mode_t mask = umask(0);

	make_files_as(uid_base);
	int r = make_places(kind, base_fd);
	if (r == 0)
		r = make_lists(kind, template_fd, base_fd, uid_base);
	make_files_as(0);
	umask(mask);
	return r < 0 ? r : give_places(uid_base, base_fd);
}

int furniture_name(const struct launch_request *request, int base_fd)
{
	mode_t mask = umask(0);

	make_files_as(request->uid_base);
	int r = write_names(base_fd, request);
	if (r == 0 && (request->flags & LAUNCH_SECRETS) &&
	    mkdirat(base_fd, "run/secrets", 0755) < 0)
		r = -errno;
	make_files_as(0);
	umask(mask);
	return r;
}
