/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a file descriptor of the running task stands for.
 */
#pragma once

#include "emit.h"

/* Address of the struct file behind @fd; 0 if there is none. */
SHARED __u64 file_behind(__u32 fd)
{
	struct fdtable *table = bpf_get_current_task_btf()->files->fdt;
	__u64 file = 0;

	if (fd < table->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd);
	return file;
}

static __always_inline struct file *file_of_fd(__u32 fd)
{
	return (struct file *)file_behind(fd);
}
