/*
 * The second wall by itself: around a process that is root and has every capability, so that
 * nothing else refuses. Needs root and a kernel with Landlock.
 */
#include "supervisor/sandbox/landlock_wall.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>

#include "scratch.h"

#include <cmocka.h>

#define ABI_IOCTL_DEV 5

static struct scratch s;
static char place[128];

static const char *at(const char *name)
{
	snprintf(place, sizeof(place), "%s/%s", s.path, name);
	return place;
}

/* What @act says behind the wall: 0 or an errno. */
static int behind(int (*act)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || landlock_wall_raise() < 0)
			_exit(255);
		_exit(act());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int make_device(void)
{
	return mknod(at("device"), S_IFCHR | 0600, makedev(1, 3)) < 0 ? errno : 0;
}

static int make_disk(void)
{
	return mknod(at("disk"), S_IFBLK | 0600, makedev(7, 0)) < 0 ? errno : 0;
}

static void no_device_is_made(void **state)
{
	(void)state;
	assert_int_equal(behind(make_device), EACCES);
	assert_int_equal(behind(make_disk), EACCES);
	assert_int_equal(make_device(), 0);
}

static int change_files(void)
{
	char to[128];

	mkdir(at("one"), 0700);
	mkdir(at("two"), 0700);
	int fd = open(at("one/file"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, "x", 1) != 1 || mkfifo(at("fifo"), 0600) < 0)
		return errno;
	close(fd);
	snprintf(to, sizeof(to), "%s/two/file", s.path);
	if (rename(at("one/file"), to) < 0)
		return errno;
	return link(to, at("one/again")) < 0 || unlink(to) < 0 ? errno : 0;
}

static void files_are_free(void **state)
{
	(void)state;
	assert_int_equal(behind(change_files), 0);
}

/* A node of the scratch directory, and the same device below /dev. */
static int ask_device(const char *path)
{
	struct termios modes;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return errno;
	return ioctl(fd, TCGETS, &modes) < 0 ? errno : 0;
}

static int ask_own_device(void)
{
	return ask_device(at("device"));
}

static int ask_known_device(void)
{
	return ask_device("/dev/null");
}

static void devices_elsewhere_are_not_asked(void **state)
{
	(void)state;
	if (landlock_wall_abi() < ABI_IOCTL_DEV)
		skip();
	assert_int_equal(behind(ask_own_device), EACCES);
	assert_int_equal(behind(ask_known_device), ENOTTY);
}

static int signal_parent(void)
{
	return kill(getppid(), 0) < 0 ? errno : 0;
}

static int signal_child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	int r = kill(pid, SIGKILL) < 0 ? errno : 0;
	waitpid(pid, NULL, 0);
	return r;
}

static struct sockaddr_un address_of(const char *name, socklen_t *ret_size)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s-%s", s.path, name);
	*ret_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				strlen(address.sun_path + 1));
	return address;
}

static int listen_at(const char *name)
{
	socklen_t size;
	struct sockaddr_un address = address_of(name, &size);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return bind(fd, (void *)&address, size) < 0 || listen(fd, 1) < 0 ? -1 : fd;
}

static int connect_to(const char *name)
{
	socklen_t size;
	struct sockaddr_un address = address_of(name, &size);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (void *)&address, size) < 0 ? errno : 0;
}

static int connect_out(void)
{
	return connect_to("outside");
}

static int connect_within(void)
{
	return listen_at("within") < 0 ? errno : connect_to("within");
}

static void what_is_outside_is_not_reached(void **state)
{
	(void)state;
	if (landlock_wall_abi() < LANDLOCK_WALL_WHOLE)
		skip();
	cleanup(close_fd) int listening = listen_at("outside");
	assert_true(listening >= 0);
	assert_int_equal(connect_to("outside"), 0);
	assert_int_equal(behind(connect_out), EPERM);
	assert_int_equal(behind(connect_within), 0);
	assert_int_equal(behind(signal_parent), EPERM);
	assert_int_equal(behind(signal_child), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_device_is_made),
		cmocka_unit_test(files_are_free),
		cmocka_unit_test(devices_elsewhere_are_not_asked),
		cmocka_unit_test(what_is_outside_is_not_reached),
	};

	if (geteuid() != 0 || landlock_wall_abi() < 0) {
		puts("needs root and Landlock: skipped");
		return 0;
	}
	/* Not below /dev, where a scratch directory may be. */
	snprintf(s.path, sizeof(s.path), "/tmp/vitrine-unit-XXXXXX");
	if (!mkdtemp(s.path))
		return 1;
	s.fd = open(s.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	scratch_free(&s);
	return r;
}
