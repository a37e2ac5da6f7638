/*
 * Runs a fuzz target over its corpus without a fuzzer: `driver FILE|DIRECTORY...`. Links are not
 * followed and directories are not descended into.
 */
#include "supervisor/record/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(int fd, off_t size)
{
	/* Its own allocation of just the size, so that a sanitizer sees a read past its end. */
	cleanup(free) uint8_t *data = malloc((size_t)size + !size);
	ssize_t n = data ? read(fd, data, (size_t)size) : -1;

	if (n != size)
		return -1;
	LLVMFuzzerTestOneInput(data, (size_t)size);
	return 0;
}

/* The number of inputs that were run, or -1. */
static int run(int dir_fd, const char *name)
{
	cleanup(close_fd) int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -1;
	if (S_ISREG(st.st_mode))
		return run_file(fd, st.st_size) ? -1 : 1;
	return 0;
}

static int run_directory(const char *path)
{
	cleanup(closedir) DIR *dir = opendir(path);
	struct dirent *entry;
	int count = 0;

	if (!dir)
		return errno == ENOTDIR ? run(AT_FDCWD, path) : -1;
	while ((entry = readdir(dir))) {
		int n = entry->d_name[0] == '.' ? 0 : run(dirfd(dir), entry->d_name);

		if (n < 0) {
			fprintf(stderr, "%s/%s: %s\n", path, entry->d_name, strerror(errno));
			return -1;
		}
		count += n;
	}
	return count;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int count = run_directory(argv[i]);

		if (count <= 0) {
			fprintf(stderr, "%s: no input was run\n", argv[i]);
			return 1;
		}
		printf("%s: %d inputs\n", argv[i], count);
	}
	return 0;
}
