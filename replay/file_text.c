/*
 * Reads a file to its end; it may be growing.
 */
#include "file_text.h"

#include "../supervisor/record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

int file_read(int dir_fd, const char *name, size_t most, char **ret_text, size_t *ret_size)
{
	cleanup(close_fd) int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	cleanup(free) char *text = NULL;
	size_t size = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	if ((uint64_t)st.st_size > most)
		return -EFBIG;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	while (size < (size_t)st.st_size) {
		ssize_t n = read(fd, text + size, (size_t)st.st_size - size);

		if (n < 0)
			return -errno;
		if (!n)
			break;
		size += (size_t)n;
	}
	text[size] = 0;
	*ret_text = take(text);
	*ret_size = size;
	return 0;
}

bool text_line(struct bytes text, size_t *at, struct bytes *ret_line)
{
	const char *begin = (const char *)text.data + *at;
	const char *newline = *at < text.size ? memchr(begin, '\n', text.size - *at) : NULL;

	if (!newline)
		return false;
	*ret_line = (struct bytes){begin, (size_t)(newline - begin)};
	*at += ret_line->size + 1;
	return true;
}
