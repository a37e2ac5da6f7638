/*
 * Entries are found by walking the whole map: it holds what all sessions have open now, and a
 * session ends seldom.
 */
#include "written_files.h"

#include "../../bpf/wire.h"

#include "../../bpf/file_wire.h"

#include <bpf/bpf.h>
#include <stdbool.h>

void written_files_forget(int written_files_fd, int file_counts_fd, uint32_t slot)
{
	struct written_key key, next;
	struct file_counts counts;

	if (bpf_map_lookup_elem(file_counts_fd, &slot, &counts) < 0 || counts.live == 0)
		return;
	/* The walk goes on from a key that is still there, so one is deleted only behind it. */
	bool more = bpf_map_get_next_key(written_files_fd, NULL, &next) == 0;
	while (more) {
		key = next;
		more = bpf_map_get_next_key(written_files_fd, &key, &next) == 0;
		if (key.slot == slot)
			bpf_map_delete_elem(written_files_fd, &key);
	}
	counts.live = 0;
	bpf_map_update_elem(file_counts_fd, &slot, &counts, BPF_ANY);
}
