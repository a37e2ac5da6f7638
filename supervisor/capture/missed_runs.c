/* See missed_runs.h. Other programs of the host are told as well, and passed over. */
#include "missed_runs.h"

#include "../../bpf/wire.h"
#include "../record/cleanup.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define READ_AT_ONCE 64
#define PROGRAMS_MAX 128

struct missed_runs {
	struct bpf_link *link;
	uint64_t count; /* when it was read last */
	uint32_t ids[PROGRAMS_MAX];
	size_t programs;
};

int missed_runs_open(struct bpf_program *iterator, struct missed_runs **ret_missed)
{
	struct missed_runs *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->link = bpf_program__attach_iter(iterator, NULL);
	if (!m->link) {
		int r = -errno;

		free(m);
		return r;
	}
	*ret_missed = m;
	return 0;
}

int missed_runs_add(struct missed_runs *m, int program_fd)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	if (m->programs == PROGRAMS_MAX)
		return -E2BIG;
	if (bpf_obj_get_info_by_fd(program_fd, &info, &size) < 0)
		return -errno;
	m->ids[m->programs++] = info.id;
	return 0;
}

static bool is_ours(const struct missed_runs *m, uint32_t program)
{
	for (size_t i = 0; i < m->programs; i++)
		if (m->ids[i] == program)
			return true;
	return false;
}

static uint64_t sum_of_ours(const struct missed_runs *m, const struct wire_missed *told,
			    size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (is_ours(m, told[i].program))
			sum += told[i].count;
	return sum;
}

uint64_t missed_runs_count(struct missed_runs *m)
{
	cleanup(close_fd) int fd = bpf_iter_create(bpf_link__fd(m->link));
	struct wire_missed told[READ_AT_ONCE];
	uint64_t sum = 0;
	ssize_t n;

	while ((n = read(fd, told, sizeof(told))) > 0 || (n < 0 && errno == EAGAIN))
		if (n > 0)
			sum += sum_of_ours(m, told, (size_t)n / sizeof(told[0]));
	if (n == 0)
		m->count = sum;
	return m->count;
}

void missed_runs_free(struct missed_runs *m)
{
	if (!m)
		return;
	bpf_link__destroy(m->link);
	free(m);
}
