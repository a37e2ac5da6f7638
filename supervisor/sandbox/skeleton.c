/*
 * The lower layer of every session's root. See skeleton.h.
 */
#include "skeleton.h"

#include "../record/cleanup.h"
#include "changes.h"
#include "mount.h"
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define FILE_BYTES_MAX (16 << 20)
#define DEPTH_MAX 6
#define NAME_ROOM 256

/*
 * What is taken from the host's /etc: a directory below it ("" is /etc itself) and a pattern of
 * names. Directories that match are taken with all below. Not listed on purpose: what tends to hold
 * credentials (gitconfig, npmrc, pip.conf, wgetrc, environment, ssl/private, maven).
 */
static const struct listed {
	const char *directory, *pattern;
} listed[] = {
	{"", "ld.so.c*"},
	{"", "alternatives"},
	{"", "localtime"},
	{"", "timezone"},
	{"", "locale.*"},
	{"", "host.conf"},
	{"", "gai.conf"},
	{"", "networks"},
	{"", "protocols"},
	{"", "services"},
	{"", "rpc"},
	{"", "ethertypes"},
	{"", "mime.types"},
	{"", "magic*"},
	{"", "shells"},
	{"", "profile"},
	{"", "bash.bashrc"},
	{"", "bashrc"},
	{"", "inputrc"},
	{"", "terminfo"},
	{"", "debian_version"},
	{"", "*-release"},
	{"", "fonts"},
	{"", "perl"},
	{"", "python3*"},
	{"", "java-*"},
	{"", "ca-certificates.conf"},
	{"ssl", "certs"},
	{"ssl", "openssl.cnf"},
	{"ssl", "cert.pem"},
	{"pki", "tls"},
	{"pki", "ca-trust"},
};

static const char *const listed_directories[] = {"", "ssl", "pki"};

/* What changes when the host installs or updates something: files of /etc are replaced by renames.
 */
static const char *const watched[] = {
	"/etc",		  "/etc/ld.so.cache",	"/etc/ld.so.conf.d",
	"/etc/ssl",	  "/etc/ssl/certs",	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls",	  "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted/pem",
	"/etc/localtime", "/etc/alternatives",
};

/* Directories of the host's pki trees that are keys and not certificates. */
static const char *const never[] = {"private", "*key*"};

static const struct written {
	const char *path, *text;
} written[] = {
	{"etc/nsswitch.conf",
	 "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
	 "protocols: files\nservices: files\nethers: files\nrpc: files\n"},
};

static const struct made_link {
	const char *path, *target;
} made_links[] = {
	{"etc/mtab", "../proc/self/mounts"},
	{"var/run", "/run"},
	{"var/lock", "/run/lock"},
};

static const char *const directories[] = {"etc", "etc/ssl", "etc/pki", "var",
					  "usr", "proc",    "sys",     "dev"};

static const char *const system_links[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_never(const char *name)
{
	for (size_t i = 0; i < COUNT(never); i++)
		if (fnmatch(never[i], name, 0) == 0)
			return true;
	return false;
}

static int copy_bytes(int from, int to)
{
	char buffer[65536];
	ssize_t n;

	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		for (ssize_t done = 0; done < n;) {
			ssize_t w = write(to, buffer + done, (size_t)(n - done));
			if (w < 0)
				return -errno;
			done += w;
		}
	return n < 0 ? -errno : 0;
}

/* A file that not everybody may read is left out, and so is one that went away meanwhile. */
static int copy_file(int from_dir, int to_dir, const char *name)
{
	cleanup(close_fd) int from =
		openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (from < 0 || fstat(from, &st) < 0)
		return 0;
	if (!S_ISREG(st.st_mode) || !(st.st_mode & S_IROTH) || st.st_size > FILE_BYTES_MAX)
		return 0;

	mode_t mode = st.st_mode & S_IXOTH ? 0755 : 0644;
	cleanup(close_fd) int to =
		openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (to < 0)
		return errno == EEXIST ? 0 : -errno;
	if (fchmod(to, mode) < 0)
		return -errno;
	return copy_bytes(from, to);
}

static int copy_link(int from_dir, int to_dir, const char *name)
{
	char target[4096];
	ssize_t n = readlinkat(from_dir, name, target, sizeof(target) - 1);
	if (n < 0)
		return 0;

	target[n] = 0;
	if (symlinkat(target, to_dir, name) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

static int copy_entry(int from_dir, int to_dir, const char *name, int depth);

static int copy_directory(int from_dir, int to_dir, const char *name, int depth)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	struct stat st;

	if (depth >= DEPTH_MAX)
		return 0;
	cleanup(closedir) DIR *dir = NULL;
	int from = openat(from_dir, name, flags);
	if (from < 0)
		return 0;
	if (!(dir = fdopendir(from))) {
		close(from);
		return -ENOMEM;
	}
	if (fstat(from, &st) < 0 || (st.st_mode & (S_IROTH | S_IXOTH)) != (S_IROTH | S_IXOTH))
		return 0;

	int r = tree_make_directory(to_dir, name, 0755, 0);
	if (r < 0 && r != -EEXIST)
		return r;
	cleanup(close_fd) int to = openat(to_dir, name, flags);
	if (to < 0)
		return -errno;

	for (struct dirent *e; (e = readdir(dir));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;

		r = copy_entry(from, to, e->d_name, depth + 1);
		if (r < 0)
			return r;
	}
	return 0;
}

static int copy_entry(int from_dir, int to_dir, const char *name, int depth)
{
	struct stat st;

	if (is_never(name) || fstatat(from_dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISLNK(st.st_mode))
		return copy_link(from_dir, to_dir, name);
	if (S_ISDIR(st.st_mode))
		return copy_directory(from_dir, to_dir, name, depth);
	return S_ISREG(st.st_mode) ? copy_file(from_dir, to_dir, name) : 0;
}

static bool is_listed(const char *directory, const char *name)
{
	for (size_t i = 0; i < COUNT(listed); i++)
		if (strcmp(listed[i].directory, directory) == 0 &&
		    fnmatch(listed[i].pattern, name, FNM_PERIOD) == 0)
			return true;
	return false;
}

/* Copy what is listed of one directory below the host's /etc. */
static int copy_listed(int etc_fd, const char *directory, int root_fd)
{
	char path[NAME_ROOM] = "etc/";

	int fd = openat(etc_fd, *directory ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	cleanup(closedir) DIR *dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	strncat(path, directory, sizeof(path) - sizeof("etc/"));
	cleanup(close_fd) int to = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to < 0)
		return -errno;

	for (struct dirent *e; (e = readdir(dir));) {
		int r = is_listed(directory, e->d_name) ? copy_entry(fd, to, e->d_name, 0) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static int copy_all_listed(int root_fd)
{
	cleanup(close_fd) int etc_fd = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (etc_fd < 0)
		return -errno;

	for (size_t i = 0; i < COUNT(listed_directories); i++) {
		int r = copy_listed(etc_fd, listed_directories[i], root_fd);
		if (r < 0)
			return r;
	}
	return 0;
}

static int make_directories(int root_fd)
{
	for (size_t i = 0; i < COUNT(directories); i++) {
		int r = tree_make_directory(root_fd, directories[i], 0755, 0);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < COUNT(made_links); i++)
		if (symlinkat(made_links[i].target, root_fd, made_links[i].path) < 0)
			return -errno;
	return 0;
}

/* /bin and its like: links as on the host, or mount points where they are directories there. */
static int make_system_links(int root_fd)
{
	cleanup(close_fd) int host = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (host < 0)
		return -errno;

	for (size_t i = 0; i < COUNT(system_links); i++) {
		const char *name = system_links[i];
		struct stat st;

		if (fstatat(host, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		int r = S_ISLNK(st.st_mode) ? copy_link(host, root_fd, name) : 0;
		if (r == 0 && S_ISDIR(st.st_mode))
			r = tree_make_directory(root_fd, name, 0755, 0);
		if (r < 0)
			return r;
	}
	return 0;
}

static int write_files(int root_fd)
{
	for (size_t i = 0; i < COUNT(written); i++) {
		int r = tree_write_file(root_fd, written[i].path, written[i].text,
					strlen(written[i].text), 0);
		if (r < 0)
			return r;
	}
	return 0;
}

int skeleton_make(int *ret_mount_fd)
{
	cleanup(close_fd) int root_fd = -1;

	int r = mount_detached(
		"tmpfs",
		(const struct mount_option[]){{"mode", "0755"}, {"size", "256M"}, {NULL, NULL}},
		MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &root_fd);
	if (r == 0)
		r = make_directories(root_fd);
	if (r == 0)
		r = make_system_links(root_fd);
	if (r == 0)
		r = write_files(root_fd);
	if (r == 0)
		r = copy_all_listed(root_fd);
	if (r < 0)
		return r;

	*ret_mount_fd = take_fd(root_fd);
	return 0;
}

/* FNV-1a: a change by accident is what has to be seen, nobody forges the host's /etc. */
static void mix(uint64_t *print, uint64_t value)
{
	for (int i = 0; i < 8; i++) {
		*print ^= value >> (8 * i) & 0xff;
		*print *= 0x100000001b3;
	}
}

uint64_t skeleton_fingerprint(void)
{
	uint64_t print = 0xcbf29ce484222325;

	for (size_t i = 0; i < COUNT(watched); i++) {
		struct stat st;

		if (lstat(watched[i], &st) < 0)
			continue;
		mix(&print, st.st_ino);
		mix(&print, (uint64_t)st.st_ctim.tv_sec);
		mix(&print, (uint64_t)st.st_ctim.tv_nsec);
	}
	return print;
}

/* What is not there may come into being where its path ends. */
static int watch(int fd, const char *path)
{
	char place[NAME_ROOM];

	snprintf(place, sizeof(place), "%s", path);
	while (inotify_add_watch(fd, place, CHANGES_MASK) < 0) {
		char *name = strrchr(place, '/');

		if (errno != ENOENT || name == place)
			return -errno;
		*name = '\0';
	}
	return 0;
}

int skeleton_watch(int *ret_fd)
{
	cleanup(close_fd) int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	int r = fd < 0 ? -errno : 0;

	for (size_t i = 0; r == 0 && i < COUNT(watched); i++)
		r = watch(fd, watched[i]);
	if (r == 0)
		*ret_fd = take_fd(fd);
	return r;
}
