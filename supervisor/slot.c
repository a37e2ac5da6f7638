/* A slot is a byte of a file, locked by an open file description of its own: the kernel frees it
 * with its holder, however that ends. */
#include "slot.h"

#include "record/cleanup.h"

#include <errno.h>
#include <fcntl.h>

int slot_take(const char *file, uint32_t count, uint32_t hint, uint32_t *ret_slot, int *ret_fd)
{
	cleanup(close_fd) int fd = open(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t slot = (hint + i) % count;
		struct flock lock = {
			.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = slot, .l_len = 1};

		if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
			*ret_slot = slot;
			*ret_fd = take_fd(fd);
			return 0;
		}
		if (errno != EAGAIN && errno != EACCES)
			return -errno;
	}
	return -ENOSPC;
}
