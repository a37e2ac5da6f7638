/*
 * Fuzz: what stands in place of segments that retention removed. The first byte says which file the
 * rest is: the act in `front`, or the hashes in `turns`; what is taken of these is a state that a
 * tree goes on from.
 */
#include "supervisor/record/front.h"
#include "supervisor/record/turns.h"
#include "tests/unit/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_file(int dir_fd, const char *name, const uint8_t *data, size_t size)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void read_turns(int dir_fd)
{
	struct merkle_state state, again;
	struct merkle *tree;
	uint8_t *first = NULL;
	size_t size;

	if (turns_first(dir_fd, &first, &size) == 0)
		free(first);
	for (uint64_t n = 1; n < 9; n++) {
		if (turns_find(dir_fd, n, &state) < 0 || merkle_new(&tree) < 0)
			continue;
		if (merkle_load(tree, &state)) {
			merkle_save(tree, &again);
			if (again.size != n || again.peak_count != state.peak_count ||
			    again.way_count != state.way_count)
				abort();
		}
		merkle_free(tree);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct scratch s = {.fd = -1};
	struct front front;

	if (!size)
		return 0;
	if (s.fd < 0)
		s = scratch_new();
	write_file(s.fd, data[0] & 1 ? TURNS_FILE : FRONT_FILE, data + 1, size - 1);
	if (data[0] & 1)
		read_turns(s.fd);
	else if (front_read(s.fd, &front) == 0 && (!front.segments || !front.last))
		abort();
	return 0;
}
