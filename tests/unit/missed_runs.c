/*
 * Runs that the kernel leaves out are counted: those of a program that is called by what it does
 * itself. Needs root; says so and is skipped without.
 */
#include "../../supervisor/capture/missed_runs.h"

#include "vitrine.skel.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#define RUNS 10

/* Of all our programs those that count. */
static int set_up(void **state)
{
	struct vitrine *skel;
	struct bpf_program *program;

	if (geteuid() != 0) {
		print_message("skipped: needs root\n");
		return 0;
	}
	*state = skel = vitrine__open();
	assert_non_null(skel);
	bpf_object__for_each_program(program, skel->obj)
	{
		bool counts =
			program == skel->progs.find_missed || program == skel->progs.sum_missed;

		bpf_program__set_autoload(program, counts);
	}
	assert_int_equal(vitrine__load(skel), 0);
	return 0;
}

static int tear_down(void **state)
{
	vitrine__destroy(*state);
	return 0;
}

/* It says a word by bpf_trace_printk, which is a tracepoint. */
static int load_speaker(void)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -8, .imm = 'x'},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_1, .imm = -8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 8},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_trace_printk},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "speaker", "GPL", insns,
			     sizeof(insns) / sizeof(insns[0]), NULL);
}

/* Each run calls it once more, and that again, which is left out. */
static void run(int program)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	for (int i = 0; i < RUNS; i++)
		assert_int_equal(bpf_prog_test_run_opts(program, &options), 0);
}

static uint64_t told_by_the_kernel(int program)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(program, &info, &size), 0);
	return info.recursion_misses;
}

static uint64_t sum(const struct vitrine *skel)
{
	uint64_t missed = 0;

	assert_int_equal(missed_runs_sum(skel, &missed), 0);
	return missed;
}

static void what_is_left_out_is_counted(void **state)
{
	struct vitrine *skel = *state;

	if (geteuid() != 0)
		skip();
	int program = load_speaker();
	assert_true(program >= 0);
	int tracepoint = bpf_raw_tracepoint_open("bpf_trace_printk", program);
	assert_true(tracepoint >= 0);

	run(program);
	assert_int_equal(told_by_the_kernel(program), RUNS);
	assert_int_equal(sum(skel), 0); /* it is none of ours */
	assert_int_equal(missed_runs_add(skel, program), 0);
	assert_int_equal(sum(skel), RUNS);
	run(program);
	assert_int_equal(told_by_the_kernel(program), 2 * RUNS);
	assert_int_equal(sum(skel), 2 * RUNS);
	close(tracepoint);
	close(program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_out_is_counted),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
