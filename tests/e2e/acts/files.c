/*
 * Files: opens, every way to write, names and attributes.
 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

/* An act on a name: which inode it met is not to be had after the call, so the record has none. */
static void truth_name(const char *kind, const char *path)
{
	truth(kind, getpid());
	truth_text("path", path);
}

static void make_directory(const char *path)
{
	MUST(mkdir(path, 0755));
	truth_name("file.mkdir", path);
	truth_number("mode", 0755);
	truth_end();
}

/* Make @path and say so; returns a descriptor for reading and writing. */
static int create(const char *path)
{
	int fd = MUST(open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));

	truth_file("file.create", path);
	truth_end();
	return fd;
}

/* Close @fd of @path, to which @bytes were written by @method. */
static void finish(int fd, const char *path, long long bytes, const char *method)
{
	struct stat st;
	char *methods[] = {(char *)method, NULL};

	MUST(fstat(fd, &st));
	truth_file("file.modify", path);
	truth_number("bytes_written", bytes);
	truth_number("size", st.st_size);
	truth_list("methods", methods);
	truth_end();
	MUST(close(fd));
}

static void create_written(const char *path, size_t size)
{
	int fd = create(path);
	char *data = calloc(1, size);

	if (!data || write(fd, data, size) != (ssize_t)size)
		acts_fail("write", __FILE__, __LINE__);
	free(data);
	finish(fd, path, size, "write");
}

static void remove_file(const char *path)
{
	truth_name("file.delete", path);
	truth_end();
	MUST(unlink(path));
}

/* Names as long as the file system takes them, and a path longer than PATH_MAX. */
static void long_names(void)
{
	char name[256], path[32768];
	size_t length;

	memset(name, 'n', 255);
	name[255] = '\0';
	length = snprintf(path, sizeof(path), "/tmp/files");
	MUST(chdir("/tmp/files"));
	for (int depth = 0; depth < 20; depth++) {
		struct stat st;

		name[0] = 'a' + depth;
		MUST(mkdir(name, 0755));
		MUST(lstat(name, &st));
		length += snprintf(path + length, sizeof(path) - length, "/%s", name);
		truth("file.mkdir", getpid());
		truth_text("path", path);
		truth_end();
		MUST(chdir(name));
	}
	int fd = MUST(open("deep", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));

	snprintf(path + length, sizeof(path) - length, "/deep");
	truth("file.create", getpid());
	truth_text("path", path);
	truth_end();
	MUST(write(fd, "12345", 5));
	truth("file.modify", getpid());
	truth_text("path", path);
	truth_number("bytes_written", 5);
	truth_end();
	MUST(close(fd));
	MUST(chdir("/"));
}

static void strange_names(void)
{
	static const char *const names[] = {"/tmp/files/new\nline", "/tmp/files/\xff\xfe",
					    "/tmp/files/a \"b\" \\c", "/tmp/files/\x1b[2J",
					    "/tmp/files/x (deleted)"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		create_written(names[i], 3);
		remove_file(names[i]);
	}
}

static void open_again(void)
{
	int fd;

	create_written("/tmp/files/again", 100);
	fd = MUST(open("/tmp/files/../files/again", O_WRONLY | O_TRUNC | O_CLOEXEC));
	truth_file("file.open", "/tmp/files/again");
	truth_text("requested", "/tmp/files/../files/again");
	truth_end();
	finish(fd, "/tmp/files/again", 0, "truncate");
}

static int write_in_child(void *context)
{
	return write(*(int *)context, "child", 5) == 5 ? 0 : 1;
}

/* One description, two processes: one modify, at the very last close. */
static void shared_description(void)
{
	int fd = create("/tmp/files/shared");

	MUST(write(fd, "parent", 6));
	acts_child(write_in_child, &fd, NULL);
	finish(fd, "/tmp/files/shared", 11, "write");
}

static void closed_by_dup2(void)
{
	int fd = create("/tmp/files/dup"), other = MUST(open("/dev/null", O_RDONLY | O_CLOEXEC));
	char *methods[] = {"write", NULL};

	MUST(write(fd, "1234", 4));
	truth_file("file.modify", "/tmp/files/dup");
	truth_number("bytes_written", 4);
	truth_list("methods", methods);
	truth_end();
	MUST(dup2(other, fd));
	close(fd);
	close(other);
}

static int leave_open(void *context)
{
	int fd = open(context, O_WRONLY | O_CREAT | O_EXCL, 0644);

	return fd >= 0 && write(fd, "exit", 4) == 4 ? 0 : 1;
}

static void closed_by_exit(void)
{
	pid_t pid = acts_child(leave_open, "/tmp/files/exit", NULL);
	struct stat st;

	MUST(stat("/tmp/files/exit", &st));
	truth("file.create", pid);
	truth_text("path", "/tmp/files/exit");
	truth_number("ino", st.st_ino);
	truth_end();
	truth("file.modify", pid);
	truth_text("path", "/tmp/files/exit");
	truth_number("ino", st.st_ino);
	truth_number("bytes_written", 4);
	truth_end();
}

void acts_files(void)
{
	make_directory("/tmp/files");
	long_names();
	strange_names();
	open_again();
	shared_description();
	closed_by_dup2();
	closed_by_exit();
}

/* ---- every way to write ---- */

static void by_write(void)
{
	int fd = create("/tmp/methods/write");

	MUST(write(fd, "abc", 3));
	MUST(pwrite(fd, "defg", 4, 100));
	MUST(writev(fd, (struct iovec[]){{"hi", 2}, {"jkl", 3}}, 2));
	MUST(pwritev(fd, (struct iovec[]){{"m", 1}, {"no", 2}}, 2, 50));
	finish(fd, "/tmp/methods/write", 15, "write");
}

static void by_sendfile(int from)
{
	int fd = create("/tmp/methods/sendfile");
	off_t at = 0;

	if (sendfile(fd, from, &at, 1000) != 1000)
		acts_fail("sendfile", __FILE__, __LINE__);
	finish(fd, "/tmp/methods/sendfile", 1000, "sendfile");
}

static void by_splice(void)
{
	int fd = create("/tmp/methods/splice"), pair[2];

	MUST(pipe2(pair, O_CLOEXEC));
	MUST(write(pair[1], "spliced", 7));
	if (splice(pair[0], NULL, fd, NULL, 7, 0) != 7)
		acts_fail("splice", __FILE__, __LINE__);
	close(pair[0]);
	close(pair[1]);
	finish(fd, "/tmp/methods/splice", 7, "splice");
}

static void by_copy_file_range(int from)
{
	int fd = create("/tmp/methods/copy");
	loff_t at = 0;

	if (copy_file_range(from, &at, fd, NULL, 2000, 0) != 2000)
		acts_fail("copy_file_range", __FILE__, __LINE__);
	finish(fd, "/tmp/methods/copy", 2000, "copy_file_range");
}

static void by_mmap(void)
{
	int fd = create("/tmp/methods/mmap");
	char *map;

	MUST(ftruncate(fd, 4096));
	truth_file("file.truncate", "/tmp/methods/mmap");
	truth_number("size", 4096);
	truth_end();
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		acts_fail("mmap", __FILE__, __LINE__);
	truth_file("file.mmap", "/tmp/methods/mmap");
	truth_end();
	memcpy(map, "mapped", 6);
	MUST(munmap(map, 4096));

	char *methods[] = {"mmap", "truncate", NULL};

	truth_file("file.modify", "/tmp/methods/mmap");
	truth_number("bytes_written", 0);
	truth_list("methods", methods);
	truth_end();
	MUST(close(fd));
}

static void by_fallocate(void)
{
	int fd = create("/tmp/methods/fallocate");

	MUST(fallocate(fd, 0, 0, 8192));
	finish(fd, "/tmp/methods/fallocate", 0, "fallocate");
}

static void unnamed_then_linked(void)
{
	int fd = open("/tmp/methods", O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);
	char from[64];
	struct stat st;

	if (fd < 0 && errno == EOPNOTSUPP)
		return; /* an overlay of a kernel before 6.2 */
	MUST(fd);
	MUST(fstat(fd, &st));
	truth("file.create", getpid());
	truth_number("ino", st.st_ino);
	truth_bool("deleted", true);
	truth_end();
	MUST(write(fd, "unnamed", 7));
	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	MUST(linkat(AT_FDCWD, from, AT_FDCWD, "/tmp/methods/linked", AT_SYMLINK_FOLLOW));
	truth("file.link", getpid());
	truth_text("new_path", "/tmp/methods/linked");
	truth_end();
	truth("file.modify", getpid());
	truth_number("ino", st.st_ino);
	truth_number("bytes_written", 7);
	truth_end();
	MUST(close(fd));
}

void acts_write_methods(void)
{
	int from;

	make_directory("/tmp/methods");
	create_written("/tmp/methods/source", 10000);
	from = MUST(open("/tmp/methods/source", O_RDONLY | O_CLOEXEC));
	by_write();
	by_sendfile(from);
	by_splice();
	by_copy_file_range(from);
	by_mmap();
	by_fallocate();
	unnamed_then_linked();
	close(from);
}

/* ---- names and attributes ---- */

static void truth_rename(const char *from, const char *to, bool exchange)
{
	struct stat st;

	MUST(lstat(to, &st));
	truth("file.rename", getpid());
	truth_text("path", from);
	truth_text("new_path", to);
	if (exchange)
		truth_bool("exchange", true);
	truth_end();
}

static void renames(void)
{
	int directory;

	create_written("/tmp/names/a", 1);
	create_written("/tmp/names/b", 1);
	MUST(rename("/tmp/names/a", "/tmp/names/c"));
	truth_rename("/tmp/names/a", "/tmp/names/c", false);
	MUST(syscall(SYS_renameat2, AT_FDCWD, "/tmp/names/b", AT_FDCWD, "/tmp/names/c",
		     RENAME_EXCHANGE));
	truth_rename("/tmp/names/b", "/tmp/names/c", true);
	make_directory("/tmp/names/sub");
	directory = MUST(open("/tmp/names/sub", O_PATH | O_DIRECTORY | O_CLOEXEC));
	MUST(renameat(AT_FDCWD, "/tmp/names/b", directory, "moved"));
	truth_rename("/tmp/names/b", "/tmp/names/sub/moved", false);
	close(directory);
}

static void links(void)
{
	MUST(link("/tmp/names/c", "/tmp/names/hard"));
	truth("file.link", getpid());
	truth_text("path", "/tmp/names/c");
	truth_text("new_path", "/tmp/names/hard");
	truth_end();
	MUST(symlink("../no/where\xff", "/tmp/names/soft"));
	truth("file.symlink", getpid());
	truth_text("path", "/tmp/names/soft");
	truth_text("target", "../no/where\xff");
	truth_end();
	MUST(mkfifo("/tmp/names/fifo", 0600));
	truth("file.create", getpid());
	truth_text("path", "/tmp/names/fifo");
	truth_text("file_type", "fifo");
	truth_end();
}

static void attributes(void)
{
	int fd = MUST(open("/tmp/names/c", O_RDONLY | O_CLOEXEC));

	MUST(chmod("/tmp/names/c", 0600));
	truth_name("file.attr", "/tmp/names/c");
	truth_text("change", "mode");
	truth_number("mode", 0600);
	truth_end();
	MUST(fchmod(fd, 0640));
	truth_file("file.attr", "/tmp/names/c");
	truth_text("change", "mode");
	truth_number("mode", 0640);
	truth_end();
	MUST(fchown(fd, getuid(), getgid()));
	truth_file("file.attr", "/tmp/names/c");
	truth_text("change", "owner");
	truth_end();
	if (fsetxattr(fd, "user.colour", "red", 3, 0) == 0) {
		truth_file("file.attr", "/tmp/names/c");
		truth_text("change", "xattr");
		truth_text("xattr", "user.colour");
		truth_end();
	}
	close(fd);
	MUST(truncate("/tmp/names/c", 5000));
	truth_name("file.truncate", "/tmp/names/c");
	truth_number("size", 5000);
	truth_end();
}

static void removals(void)
{
	int directory = MUST(open("/tmp/names", O_PATH | O_DIRECTORY | O_CLOEXEC));

	remove_file("/tmp/names/sub/moved");
	truth_name("file.rmdir", "/tmp/names/sub");
	truth_end();
	MUST(rmdir("/tmp/names/sub"));
	truth_name("file.delete", "/tmp/names/soft");
	truth_end();
	MUST(unlinkat(directory, "soft", 0));
	make_directory("/tmp/names/last");
	truth_name("file.rmdir", "/tmp/names/last");
	truth_end();
	MUST(unlinkat(directory, "last", AT_REMOVEDIR));
	close(directory);
}

/* What fails changes nothing and is not a change in the record. */
static void failures(void)
{
	if (unlink("/tmp/names/none") == 0 || mkdir("/tmp/names", 0755) == 0 ||
	    rename("/tmp/none", "/tmp/names/x") == 0)
		acts_fail("a call that had to fail", __FILE__, __LINE__);
}

void acts_names(void)
{
	make_directory("/tmp/names");
	renames();
	links();
	attributes();
	removals();
	failures();
}

/* ---- many, for the counts ---- */

void acts_flood(int count)
{
	char path[64];

	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "/tmp/flood-%d", i % 100);
		int fd = MUST(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));

		MUST(write(fd, "x", 1));
		MUST(close(fd));
	}
	truth("flood", 0);
	truth_number("opens", count);
	truth_end();
}
