/*
 * A ring of the kernel's own, written by a BPF program of a dozen instructions: for tests that need
 * its wake-ups. Takes root.
 */
#pragma once

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define KERNEL_RING_BYTES (64 * 1024)
#define KERNEL_RING_RECORD_MAX 32768

struct kernel_ring {
	int ring_fd, call_fd, program_fd;
};

/* What the program is called with: the one value of a map. */
struct kernel_ring_call {
	uint64_t size;
	uint64_t flags;
	uint8_t data[KERNEL_RING_RECORD_MAX];
};

#define INSN(code_, dst, src, off_, imm_)                                                          \
	((struct bpf_insn){.code = (code_),                                                        \
			   .dst_reg = (dst),                                                       \
			   .src_reg = (src),                                                       \
			   .off = (off_),                                                          \
			   .imm = (imm_)})

/* return bpf_ringbuf_output(ring, call->data, call->size, call->flags) */
static inline int kernel_ring_load(struct kernel_ring *k)
{
	const struct bpf_insn program[] = {
		INSN(BPF_LD | BPF_DW | BPF_IMM, 2, BPF_PSEUDO_MAP_VALUE, 0, k->call_fd),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_LDX | BPF_DW | BPF_MEM, 3, 2, 0, 0),
		INSN(BPF_LDX | BPF_DW | BPF_MEM, 4, 2, 8, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, 16),
		INSN(BPF_JMP | BPF_JGT | BPF_K, 3, 0, 4, KERNEL_RING_RECORD_MAX),
		INSN(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, k->ring_fd),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_output),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .prog_flags = BPF_F_SLEEPABLE);

	k->program_fd = bpf_prog_load(BPF_PROG_TYPE_SYSCALL, "put", "GPL", program,
				      sizeof(program) / sizeof(program[0]), &options);
	return k->program_fd < 0 ? -errno : 0;
}

static inline void kernel_ring_close(struct kernel_ring *k)
{
	close(k->program_fd);
	close(k->call_fd);
	close(k->ring_fd);
}

static inline int kernel_ring_open(struct kernel_ring *k)
{
	*k = (struct kernel_ring){-1, -1, -1};
	k->ring_fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, KERNEL_RING_BYTES, NULL);
	k->call_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "call", sizeof(uint32_t),
				    sizeof(struct kernel_ring_call), 1, NULL);
	int r = k->ring_fd < 0 || k->call_fd < 0 ? -errno : kernel_ring_load(k);
	if (r < 0)
		kernel_ring_close(k);
	return r;
}

/* 0, or what bpf_ringbuf_output said. */
static inline int kernel_ring_put(struct kernel_ring *k, const void *record, size_t size, bool wake)
{
	static struct kernel_ring_call call;
	uint32_t zero = 0;

	call.size = size;
	call.flags = wake ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
	memcpy(call.data, record, size);
	if (bpf_map_update_elem(k->call_fd, &zero, &call, BPF_ANY) < 0)
		return -errno;
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int r = bpf_prog_test_run_opts(k->program_fd, &run);
	return r < 0 ? r : (int)run.retval;
}
