/*
 * A stack of them, held by descriptors. See networks.h.
 */
#include "networks.h"

#include "../record/cleanup.h"
#include "kernel_text.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define THIS_NETWORK "/proc/thread-self/ns/net"
#define ALL_GROUPS "0 4294967294"

static int home = -1;
static int spares[NETWORKS_AHEAD];
static size_t count;

int networks_open(void)
{
	home = open(THIS_NETWORK, O_RDONLY | O_CLOEXEC);
	return home < 0 ? -errno : 0;
}

/* In it as in the host's, but with all ports and with echo requests for everybody. */
static int set_up(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING};
	cleanup(close_fd) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		return -errno;
	int r = kernel_text_write(AT_FDCWD, "/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
	return r < 0 ? r
		     : kernel_text_write(AT_FDCWD, "/proc/sys/net/ipv4/ping_group_range",
					 ALL_GROUPS);
}

void networks_leave(void)
{
	if (setns(home, CLONE_NEWNET) < 0)
		abort();
}

static int make(void)
{
	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	int r = set_up();
	if (r < 0)
		networks_leave();
	return r;
}

bool networks_want_more(void)
{
	return count < NETWORKS_AHEAD;
}

bool networks_make_ahead(void)
{
	if (!networks_want_more() || make() < 0)
		return false;
	int fd = open(THIS_NETWORK, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		spares[count++] = fd;
	networks_leave();
	return fd >= 0;
}

int networks_enter(void)
{
	if (count == 0)
		return make();
	cleanup(close_fd) int fd = spares[--count];
	return setns(fd, CLONE_NEWNET) < 0 ? -errno : 0;
}
