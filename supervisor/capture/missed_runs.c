/* See missed_runs.h. */
#include "missed_runs.h"

#include "../../bpf/wire.h"
#include "../record/cleanup.h"
#include "vitrine.skel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

#define READ_AT_ONCE 64

static void cleanup_link(struct bpf_link **link)
{
	bpf_link__destroy(*link);
}

/* The iterator tells all programs of the host. */
static int find_place(struct vitrine *skel, uint32_t program, __u64 *ret_counts)
{
	cleanup(link) struct bpf_link *link =
		bpf_program__attach_iter(skel->progs.find_missed, NULL);
	cleanup(close_fd) int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	struct wire_missed_place places[READ_AT_ONCE];
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, places, sizeof(places))) > 0 || (n < 0 && errno == EAGAIN))
		for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(places[0]); i++)
			if (places[i].program == program) {
				*ret_counts = places[i].counts;
				return 0;
			}
	return n < 0 ? -errno : -ENOENT;
}

int missed_runs_sum(const struct vitrine *skel, uint64_t *ret_sum)
{
	struct bpf_test_run_opts options = {
		.sz = sizeof(options),
		.ctx_in = ret_sum, /* which such a program may write to */
		.ctx_size_in = sizeof(*ret_sum),
	};

	return bpf_prog_test_run_opts(bpf_program__fd(skel->progs.sum_missed), &options) < 0
		       ? -errno
		       : 0;
}

int missed_runs_add(struct vitrine *skel, int program_fd)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info), at = skel->bss->missed_programs;

	if (at == MISSED_PROGRAMS_MAX)
		return -E2BIG;
	if (bpf_obj_get_info_by_fd(program_fd, &info, &size) < 0)
		return -errno;
	int r = find_place(skel, info.id, &skel->bss->missed_counts[at]);
	if (r < 0)
		return r;
	uint64_t sum = 0;
	skel->bss->missed_programs++;
	return missed_runs_sum(skel, &sum);
}
