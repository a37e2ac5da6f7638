/*
 * Each file is written through a descriptor that stays: it is what is overwritten in the end,
 * whatever the session's root has done to the names.
 */
#include "secret_files.h"

#include "record/cleanup.h"
#include "sandbox/launch.h"
#include "sandbox/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096

struct secret_file {
	struct secret_files *owner;
	const struct session_secret *secret;
	int fd; /* -1: its time is over */
	ino_t ino;
	dev_t program_dev; /* of the one program that may open it */
	ino_t program_ino;
	sd_event_source *ttl;
};

struct secret_files {
	int mount_fd;
	int guard_fd; /* fanotify; -1: none is guarded */
	sd_event_source *guard;
	struct secret_files_watcher watcher;
	size_t count;
	struct secret_file files[];
};

/* Below the mount. */
static const char *name_of(const struct session_secret *secret)
{
	return secret->path + sizeof(SECRET_DIRECTORY);
}

/* ---- making ---- */

static int make_mount(const struct session_secrets *secrets, uid_t uid_base, int *ret_mount_fd)
{
	char size[32], inodes[32], owner[32];
	size_t bytes = PAGE;

	for (size_t i = 0; i < secrets->count; i++)
		bytes += secrets->items[i].size + 2 * PAGE;
	snprintf(size, sizeof(size), "%zu", bytes);
	snprintf(inodes, sizeof(inodes), "%zu", 2 + secrets->count * SECRET_PATH_ROOM / 2);
	snprintf(owner, sizeof(owner), "%u", uid_base + SESSION_ROOT);

	const struct mount_option options[] = {
		{"mode", "0755"},      {"uid", owner},	 {"gid", owner}, {"size", size},
		{"nr_inodes", inodes}, {"noswap", NULL}, {NULL, NULL}};
	const uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	struct mount_option plain[sizeof(options) / sizeof(options[0])];

	int r = mount_detached("tmpfs", options, attributes, ret_mount_fd);
	if (r != -EINVAL)
		return r;
	/* Kernels before 6.4 cannot promise it. */
	memcpy(plain, options, sizeof(plain));
	plain[sizeof(options) / sizeof(options[0]) - 2] = (struct mount_option){NULL, NULL};
	return mount_detached("tmpfs", plain, attributes, ret_mount_fd);
}

static int make_parents(int mount_fd, const char *name, uid_t owner)
{
	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
		char directory[SECRET_PATH_ROOM];

		snprintf(directory, sizeof(directory), "%.*s", (int)(slash - name), name);
		if (mkdirat(mount_fd, directory, 0755) < 0) {
			if (errno != EEXIST)
				return -errno;
			continue;
		}
		if (fchownat(mount_fd, directory, owner, owner, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
	}
	return 0;
}

static int write_file(int mount_fd, uid_t uid_base, struct secret_file *file)
{
	const struct session_secret *secret = file->secret;
	uid_t owner = uid_base + (secret->delivery.for_root ? SESSION_ROOT : SESSION_AGENT);
	struct stat st;

	int r = make_parents(mount_fd, name_of(secret), uid_base + SESSION_ROOT);
	if (r < 0)
		return r;
	file->fd = openat(mount_fd, name_of(secret),
			  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file->fd < 0)
		return -errno;
	ssize_t n = pwrite(file->fd, secret->value, secret->size, 0);
	if (n != (ssize_t)secret->size)
		return n < 0 ? -errno : -EIO;
	if (fchown(file->fd, owner, owner) < 0 || fchmod(file->fd, secret->delivery.mode) < 0 ||
	    fstat(file->fd, &st) < 0)
		return -errno;
	file->ino = st.st_ino;
	return 0;
}

static void cleanup_files(struct secret_files **f)
{
	secret_files_free(*f);
}

int secret_files_make(const struct session_secrets *secrets, uid_t uid_base,
		      struct secret_files **ret_files, struct fault *ret_fault)
{
	cleanup(files) struct secret_files *f =
		calloc(1, sizeof(*f) + secrets->count * sizeof(*f->files));

	if (!f)
		return fault_set(ret_fault, -ENOMEM, "no_memory", "out of memory");
	f->mount_fd = f->guard_fd = -1;
	for (size_t i = 0; i < secrets->count; i++)
		if (secrets->items[i].delivery.as_file)
			f->files[f->count++] = (struct secret_file){
				.owner = f, .secret = &secrets->items[i], .fd = -1};
	*ret_files = NULL;
	if (!f->count)
		return 0;

	int r = make_mount(secrets, uid_base, &f->mount_fd);
	for (size_t i = 0; r == 0 && i < f->count; i++) {
		r = write_file(f->mount_fd, uid_base, &f->files[i]);
		if (r < 0)
			return fault_set(ret_fault, r, "secret", "secret %s: file %s: %s",
					 f->files[i].secret->name, f->files[i].secret->path,
					 strerror(-r));
	}
	if (r < 0)
		return fault_set(ret_fault, r, "secret", "secrets: no file system for %s: %s",
				 SECRET_DIRECTORY, strerror(-r));
	*ret_files = take(f);
	return 0;
}

/* ---- the end ---- */

static void wipe(struct secret_file *file)
{
	static const uint8_t zeros[PAGE];

	file->ttl = sd_event_source_disable_unref(file->ttl);
	if (file->fd < 0)
		return;
	for (size_t at = 0; at < file->secret->size; at += PAGE) {
		size_t left = file->secret->size - at;

		if (pwrite(file->fd, zeros, left < PAGE ? left : PAGE, (off_t)at) < 0)
			break;
	}
	(void)unlinkat(file->owner->mount_fd, name_of(file->secret), 0);
	close(take_fd(file->fd));
}

void secret_files_free(struct secret_files *f)
{
	if (!f)
		return;
	f->guard = sd_event_source_disable_unref(f->guard);
	for (size_t i = 0; i < f->count; i++)
		wipe(&f->files[i]);
	cleanup_close_fd(&f->guard_fd);
	cleanup_close_fd(&f->mount_fd);
	free(f);
}

int secret_files_mount(const struct secret_files *f)
{
	return f->mount_fd;
}

static int on_ttl(sd_event_source *source, uint64_t now_us, void *context)
{
	struct secret_file *file = context;

	(void)source, (void)now_us;
	wipe(file);
	file->owner->watcher.expired(file->owner->watcher.context, file->secret);
	return 0;
}

/* ---- who may open them ---- */

/* Links in the session's root lead where they lead there. */
static int find_program(pid_t init_pid, struct secret_file *file)
{
	char path[64];
	struct stat st;
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};

	snprintf(path, sizeof(path), "/proc/%d/root", init_pid);
	cleanup(close_fd) int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	cleanup(close_fd) int fd =
		(int)syscall(SYS_openat2, root, file->secret->delivery.only, &how, sizeof(how));
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	file->program_dev = st.st_dev;
	file->program_ino = st.st_ino;
	return 0;
}

/* The kernel's own link: nothing that the process could have written is looked at. */
static bool runs_program(pid_t pid, const struct secret_file *file)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return stat(path, &st) == 0 && st.st_dev == file->program_dev &&
	       st.st_ino == file->program_ino;
}

static const struct secret_file *find_file(const struct secret_files *f, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return NULL;
	for (size_t i = 0; i < f->count; i++)
		if (f->files[i].ino == st.st_ino)
			return &f->files[i];
	return NULL;
}

static void answer(struct secret_files *f, const struct fanotify_event_metadata *event)
{
	const struct secret_file *file = find_file(f, event->fd);
	bool is_allowed = file && runs_program(event->pid, file);
	const struct fanotify_response response = {
		.fd = event->fd,
		.response = is_allowed ? FAN_ALLOW : FAN_DENY,
	};

	/* One whose process is gone meanwhile needs no answer. */
	(void)!write(f->guard_fd, &response, sizeof(response));
	if (file && !is_allowed)
		f->watcher.denied(f->watcher.context, file->secret, event->pid);
}

static int on_open(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct secret_files *f = context;
	struct fanotify_event_metadata room[16];
	ssize_t size = read(fd, room, sizeof(room));
	struct fanotify_event_metadata *event = room;

	(void)source, (void)events;
	for (; size > 0 && FAN_EVENT_OK(event, size); event = FAN_EVENT_NEXT(event, size)) {
		if (event->fd < 0)
			continue;
		answer(f, event);
		close(event->fd);
	}
	return 0;
}

static int guard(struct secret_files *f, struct secret_file *file, sd_event *loop)
{
	if (f->guard_fd < 0) {
		f->guard_fd = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK,
					    O_RDONLY | O_CLOEXEC | O_LARGEFILE);
		if (f->guard_fd < 0)
			return -errno;
		int r = sd_event_add_io(loop, &f->guard, f->guard_fd, EPOLLIN, on_open, f);
		if (r < 0)
			return r;
	}
	if (fanotify_mark(f->guard_fd, FAN_MARK_ADD, FAN_OPEN_PERM, f->mount_fd,
			  name_of(file->secret)) < 0)
		return -errno;
	return 0;
}

int secret_files_guard(struct secret_files *f, sd_event *loop, pid_t init_pid,
		       const struct secret_files_watcher *watcher, struct fault *ret_fault)
{
	if (f)
		f->watcher = *watcher;
	for (size_t i = 0; f && i < f->count; i++) {
		struct secret_file *file = &f->files[i];
		const struct secret_delivery *d = &file->secret->delivery;
		int r = d->only ? find_program(init_pid, file) : 0;

		if (r < 0)
			return fault_set(
				ret_fault, r, "secret",
				"secret %s: only=%s: %s; a program of the session is needed",
				file->secret->name, d->only, strerror(-r));
		r = d->only ? guard(f, file, loop) : 0;
		if (r < 0)
			return fault_set(
				ret_fault, r, "secret",
				"secret %s: only=%s cannot be kept: fanotify: %s; the kernel "
				"has to have CONFIG_FANOTIFY_ACCESS_PERMISSIONS",
				file->secret->name, d->only, strerror(-r));
		if (d->ttl_ms)
			r = sd_event_add_time_relative(loop, &file->ttl, CLOCK_BOOTTIME,
						       d->ttl_ms * 1000, 1, on_ttl, file);
		if (r < 0)
			return fault_set(ret_fault, r, "secret", "secret %s: no timer: %s",
					 file->secret->name, strerror(-r));
	}
	return 0;
}
