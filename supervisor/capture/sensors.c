/*
 * Loads the programs of bpf/, attaches them, and gives each session its slot.
 *
 * How a program is attached follows from its section: cgroup programs once, to the daemon's own
 * cgroup; all others host-wide, and only while a session lives; programs of SYSCALL_EXITS never,
 * they are entries of `on_exit_calls`. A section that begins with `?` is optional: it is loaded if
 * the kernel has its hook.
 */
#include "sensors.h"

#include "../../bpf/syscalls.h"
#include "../record/cleanup.h"
#include "../sandbox/syscall_policy.h"
#include "missed_runs.h"
#include "ring_pool.h"
#include "tracefs.h"
#include "vitrine.skel.h"
#include "written_files.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#define PROGRAMS_MAX 128
#define ERROR_SIZE 512
#define MIB (1024ull * 1024)

/* What one CPU may write at once: an exec at the kernel's limit (a quarter of an 8 MiB stack), and
 * 10 ms at peak. */
#define ARGV_BYTES_MAX (2 * MIB)
#define PEAK_BYTES (3 * MIB / 2)

/* ---- kinds of programs ---- */

enum attachment { ATTACH_HOST, ATTACH_CGROUP, ATTACH_TAIL_CALL };

/* clang-format off */
static const struct {
	const char *call;
	uint32_t number;
	const char *program;
} tail_calls[] = {
#define TAIL_CALL(call, program) {#call, __NR_##call, #program},
	SYSCALL_EXITS(TAIL_CALL)
#undef TAIL_CALL
	{"refused", REFUSED_EXIT, "on_exit_refused"},
	{"limited", LIMIT_EXIT, "on_exit_limit"},
};
/* clang-format on */
#define TAIL_CALLS (sizeof(tail_calls) / sizeof(*tail_calls))

struct sensors {
	struct sensors_options options;
	struct vitrine *skel;
	struct ring_pool *rings;
	struct tracefs *tracefs;
	uint64_t missed; /* runs, when they were counted last */
	uint64_t high_water;
	struct bpf_program *programs[PROGRAMS_MAX]; /* that are loaded */
	struct bpf_link *links[PROGRAMS_MAX];	    /* of the program at the same place */
	size_t program_count;
	bool attached;
	bool releasing; /* the thread is there, and has `links` of host-wide programs */
	atomic_bool keep_rest;
	pthread_t release;
	char call_names[TAIL_CALLS][64]; /* what `names` points to */
	const char *names[PROGRAMS_MAX + TAIL_CALLS + 1];
	const char *missing[PROGRAMS_MAX + 1];
};

static enum attachment attachment_of(const struct bpf_program *program)
{
	for (size_t i = 0; i < TAIL_CALLS; i++)
		if (strcmp(tail_calls[i].program, bpf_program__name(program)) == 0)
			return ATTACH_TAIL_CALL;

	switch (bpf_program__type(program)) {
	case BPF_PROG_TYPE_TRACING:
	case BPF_PROG_TYPE_RAW_TRACEPOINT:
	case BPF_PROG_TYPE_TRACEPOINT:
		return ATTACH_HOST;
	default:
		return ATTACH_CGROUP;
	}
}

/* ---- what went wrong, and the mend ---- */

/* libbpf says why a program was refused only here, and gives no context to the function. */
static _Thread_local char libbpf_words[ERROR_SIZE];

static int keep_libbpf_words(enum libbpf_print_level level, const char *format, va_list arguments)
{
	if (level == LIBBPF_WARN && libbpf_words[0] == '\0') {
		vsnprintf(libbpf_words, sizeof(libbpf_words), format, arguments);
		libbpf_words[strcspn(libbpf_words, "\n")] = '\0';
	}
	return 0;
}

static void explain_load(int error, char ret_error[ERROR_SIZE])
{
	const char *why = NULL;

	if (geteuid() != 0)
		why = "loading BPF programs needs root: run as root, or ask a running vitrined";
	else if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		why = "/sys/kernel/btf/vmlinux is missing: vitrine needs a kernel with "
		      "CONFIG_DEBUG_INFO_BTF=y, as Debian's since 6.1 have";
	else if (libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL) == 0)
		why = "this kernel has no BPF ring buffer: vitrine needs Linux 6.1 or newer";
	else if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_loop, NULL) == 0)
		why = "this kernel has no bpf_loop: vitrine needs Linux 6.1 or newer";
	else if (error == -EPERM)
		why = "the kernel refuses BPF programs (EPERM): vitrined needs CAP_BPF, "
		      "CAP_PERFMON, CAP_NET_ADMIN and CAP_SYS_ADMIN, and a kernel that is not in "
		      "lockdown=confidentiality";
	if (why)
		snprintf(ret_error, ERROR_SIZE, "%s", why);
	else
		snprintf(ret_error, ERROR_SIZE, "loading the BPF programs: %s (%.400s)",
			 strerror(-error), libbpf_words);
}

static int fail(char ret_error[ERROR_SIZE], int error, const char *what, const char *name)
{
	snprintf(ret_error, ERROR_SIZE, "%s %s: %s", what, name, strerror(-error));
	return error;
}

/* ---- programs, maps ---- */

static void cleanup_btf(struct btf **kernel)
{
	btf__free(*kernel);
}

static bool has_hook(struct sensors *s, const struct btf *kernel, const char *section)
{
	char type[128];

	if (strncmp(section, "tp_btf/", 7) == 0) {
		snprintf(type, sizeof(type), "btf_trace_%s", section + 7);
		return btf__find_by_name_kind(kernel, type, BTF_KIND_TYPEDEF) > 0;
	}
	if (strncmp(section, "tp/", 3) == 0)
		return tracefs_event_id(s->tracefs, section + 3) > 0;
	return true;
}

static int choose_programs(struct sensors *s)
{
	cleanup(btf) struct btf *kernel = NULL;
	struct bpf_program *program;
	size_t missing = 0;

	bpf_object__for_each_program(program, s->skel->obj)
	{
		const char *section = bpf_program__section_name(program);

		if (program == s->skel->progs.find_missed || program == s->skel->progs.sum_missed)
			continue;
		if (s->program_count + missing == PROGRAMS_MAX)
			return -E2BIG;
		if (!bpf_program__autoload(program)) {
			if (!kernel)
				kernel = btf__load_vmlinux_btf();
			if (!kernel)
				return -ENOENT;
			bpf_program__set_autoload(program, has_hook(s, kernel, section));
		}
		if (bpf_program__autoload(program))
			s->programs[s->program_count++] = program;
		else
			s->missing[missing++] = section;
	}
	return 0;
}

static int set_sizes(struct sensors *s)
{
	int cpus = libbpf_num_possible_cpus();

	if (cpus < 0)
		return cpus;
	s->skel->rodata->session_level = s->options.session_level;
	s->skel->rodata->supervisor_pid = (uint32_t)getpid();
	return bpf_map__set_max_entries(s->skel->maps.scratches, (uint32_t)cpus);
}

static int fill_tail_calls(struct sensors *s, char ret_error[ERROR_SIZE])
{
	int map = bpf_map__fd(s->skel->maps.on_exit_calls);

	for (size_t i = 0; i < TAIL_CALLS; i++) {
		const struct bpf_program *program =
			bpf_object__find_program_by_name(s->skel->obj, tail_calls[i].program);
		int fd = program ? bpf_program__fd(program) : -ENOENT;

		if (fd >= 0 && bpf_map_update_elem(map, &tail_calls[i].number, &fd, BPF_ANY) < 0)
			fd = -errno;
		if (fd < 0)
			return fail(ret_error, fd, "watching system call", tail_calls[i].call);
	}
	return 0;
}

/* The errors that the filter of sessions gives, from its table. */
static void fill_refused_calls(struct sensors *s)
{
	for (size_t i = 0; i < syscall_rule_count; i++) {
		const struct syscall_rule *rule = &syscall_rules[i];

		if (rule->call < 0 || rule->call >= SYSCALL_NUMBERS)
			continue;
		if (rule->error == EPERM)
			s->skel->bss->refused_calls[rule->call] |= REFUSAL_EPERM;
		else if (rule->error == EINVAL)
			s->skel->bss->refused_calls[rule->call] |= REFUSAL_EINVAL;
	}
}

void sensors_deny(struct sensors *s, const struct syscall_set *denied)
{
	for (uint32_t call = 0; call < SYSCALL_NUMBERS; call++)
		if (syscall_set_has(denied, call))
			s->skel->bss->refused_calls[call] |= REFUSAL_DENIED;
}

/* Room above the mark for what comes before a freeze takes effect; file records stop at three
 * quarters, so for them it has to be below that. */
static uint64_t high_water_of(uint64_t ring_bytes)
{
	uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t above = ring_bytes / 4;

	if (above < cpus * ARGV_BYTES_MAX)
		above = cpus * ARGV_BYTES_MAX;
	above += cpus * PEAK_BYTES;
	return ring_bytes < above + ring_bytes / 8 ? ring_bytes / 8 : ring_bytes - above;
}

/* ---- attach ---- */

static struct bpf_link *attach_program(struct sensors *s, struct bpf_program *program,
				       enum attachment kind)
{
	if (kind == ATTACH_CGROUP)
		return bpf_program__attach_cgroup(program, s->options.cgroup_fd);
	if (bpf_program__type(program) != BPF_PROG_TYPE_TRACEPOINT)
		return bpf_program__attach(program);

	const char *section = bpf_program__section_name(program);
	cleanup(close_fd) int event = tracefs_open_event(s->tracefs, strchr(section, '/') + 1);
	if (event < 0) {
		errno = -event;
		return NULL;
	}

	struct bpf_link *link = bpf_program__attach_perf_event(program, event);
	if (link)
		(void)take_fd(event); /* the link closes it */
	return link;
}

static int attach_kind(struct sensors *s, enum attachment kind, char ret_error[ERROR_SIZE])
{
	for (size_t i = 0; i < s->program_count; i++) {
		if (s->links[i] || attachment_of(s->programs[i]) != kind)
			continue;
		s->links[i] = attach_program(s, s->programs[i], kind);
		if (!s->links[i])
			return fail(ret_error, -errno, "attaching",
				    bpf_program__section_name(s->programs[i]));
	}
	return 0;
}

static void release_type(struct sensors *s, bool perf_events)
{
	for (size_t i = 0; i < s->program_count && !atomic_load(&s->keep_rest); i++) {
		if (!s->links[i] || attachment_of(s->programs[i]) != ATTACH_HOST ||
		    (bpf_program__type(s->programs[i]) == BPF_PROG_TYPE_TRACEPOINT) != perf_events)
			continue;
		bpf_link__destroy(s->links[i]);
		s->links[i] = NULL;
	}
}

/* The programs that cost most go first, at once; the kernel waits for each perf event. */
static void *release_links(void *context)
{
	struct sensors *s = context;

	release_type(s, false);
	release_type(s, true);
	return NULL;
}

static void stop_release(struct sensors *s)
{
	if (!s->releasing)
		return;
	atomic_store(&s->keep_rest, true);
	pthread_join(s->release, NULL);
	atomic_store(&s->keep_rest, false);
	s->releasing = false;
}

int sensors_attach(struct sensors *s, char ret_error[ERROR_SIZE])
{
	if (s->attached)
		return 0;
	stop_release(s);

	int r = attach_kind(s, ATTACH_HOST, ret_error);
	if (r < 0) {
		release_links(s);
		return r;
	}
	s->attached = true;
	return 0;
}

void sensors_detach(struct sensors *s)
{
	if (!s->attached)
		return;
	s->attached = false;
	s->releasing = pthread_create(&s->release, NULL, release_links, s) == 0;
	if (!s->releasing)
		release_links(s);
}

/* ---- load ---- */

/* The section, and for what is called on the way the system call; several may share a program. */
static void write_names(struct sensors *s)
{
	size_t count = 0;

	for (size_t i = 0; i < s->program_count; i++)
		if (attachment_of(s->programs[i]) != ATTACH_TAIL_CALL)
			s->names[count++] = bpf_program__section_name(s->programs[i]);
	for (size_t i = 0; i < TAIL_CALLS; i++) {
		snprintf(s->call_names[i], sizeof(s->call_names[i]), "sys_exit/%s",
			 tail_calls[i].call);
		s->names[count++] = s->call_names[i];
	}
}

static int load(struct sensors *s, char ret_error[ERROR_SIZE])
{
	int r = tracefs_open(&s->tracefs);
	if (r < 0 && geteuid() == 0)
		return fail(ret_error, r, "opening", "tracefs (CONFIG_FTRACE=y, CAP_SYS_ADMIN)");

	if (r == 0)
		s->skel = vitrine__open();
	if (r == 0)
		r = s->skel ? set_sizes(s) : -errno;
	if (r == 0)
		r = choose_programs(s);
	if (r == 0)
		r = vitrine__load(s->skel);
	if (r < 0) {
		explain_load(r, ret_error);
		return r;
	}

	fill_refused_calls(s);
	r = fill_tail_calls(s, ret_error);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < s->program_count; i++)
		r = missed_runs_add(s->skel, bpf_program__fd(s->programs[i]));
	if (r < 0)
		return fail(ret_error, r, "counting", "missed runs");
	r = ring_pool_new(bpf_map__fd(s->skel->maps.rings), s->options.ring_bytes, s->options.rings,
			  &s->rings);
	if (r < 0)
		return fail(ret_error, r, "making", "the sessions' ring buffers");
	return s->options.cgroup_fd < 0 ? 0 : attach_kind(s, ATTACH_CGROUP, ret_error);
}

int sensors_load(const struct sensors_options *options, struct sensors **ret_sensors,
		 char ret_error[ERROR_SIZE])
{
	struct sensors *s = calloc(1, sizeof(*s));
	libbpf_print_fn_t print_before;

	if (!s)
		return fail(ret_error, -ENOMEM, "loading", "the BPF programs");
	s->options = *options;
	s->high_water = high_water_of(options->ring_bytes);

	libbpf_words[0] = '\0';
	print_before = libbpf_set_print(keep_libbpf_words);
	int r = load(s, ret_error);
	libbpf_set_print(print_before);
	if (r < 0) {
		sensors_free(s);
		return r;
	}
	write_names(s);
	*ret_sensors = s;
	return 0;
}

/* ---- sessions ---- */

static uint64_t read_hits(struct sensors *s, uint32_t slot, enum wire_limit limit)
{
	uint32_t index = slot * WIRE_LIMIT_COUNT + limit;
	uint64_t hits = 0;

	bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.limit_hits), &index, &hits);
	return hits;
}

/* s_dev, as the kernel has it. */
static uint64_t kernel_dev(dev_t dev)
{
	return (uint64_t)major(dev) << 20 | minor(dev);
}

int sensors_take_slot(struct sensors *s, struct sensors_session *ret_session)
{
	struct sensors_session session = {
		.ring_bytes = s->options.ring_bytes,
		.high_water = s->high_water,
	};
	struct ring_taken ring;
	int r = ring_pool_take(s->rings, &ring);

	if (r < 0)
		return r;
	session.slot = ring.slot;
	session.ring_fd = ring.fd;
	session.ring_id = ring.id;
	for (int i = 0; i < WIRE_LIMIT_COUNT; i++)
		session.hits_before[i] = read_hits(s, session.slot, i);
	*ret_session = session;
	return 0;
}

int sensors_open_session(struct sensors *s, const struct sensors_subject *subject,
			 const struct sensors_session *session)
{
	const uint64_t none = 0;
	struct session_slot slot = {
		.slot = session->slot,
		.high_water = session->high_water,
		.ring_bytes = session->ring_bytes,
		.flags = subject->flags,
		.workspace_dev = kernel_dev(subject->workspace_dev),
	};

	memcpy(slot.limits, subject->limits, sizeof(slot.limits));
	int e = bpf_map_update_elem(bpf_map__fd(s->skel->maps.exec_bytes), &session->slot, &none,
				    BPF_ANY);
	if (e == 0)
		e = bpf_map_update_elem(bpf_map__fd(s->skel->maps.sessions), &subject->cgroup,
					&slot, BPF_ANY);
	return e;
}

void sensors_give_slot(struct sensors *s, uint32_t slot)
{
	ring_pool_give(s->rings, slot);
}

void sensors_close_session(struct sensors *s, uint64_t cgroup, uint32_t slot)
{
	bpf_map_delete_elem(bpf_map__fd(s->skel->maps.sessions), &cgroup);
	sensors_forget_death(s, cgroup);
	written_files_forget(bpf_map__fd(s->skel->maps.written_files),
			     bpf_map__fd(s->skel->maps.file_counts), slot);
	sensors_give_slot(s, slot);
}

uint64_t sensors_hits(struct sensors *s, const struct sensors_session *session,
		      enum wire_limit limit)
{
	return read_hits(s, session->slot, limit) - session->hits_before[limit];
}

int sensors_numbers(struct sensors *s, uint32_t slot, uint64_t ret_numbers[WIRE_CLASS_COUNT])
{
	int cpus = libbpf_num_possible_cpus();
	cleanup(free) uint64_t *values = cpus > 0 ? calloc((size_t)cpus, sizeof(*values)) : NULL;

	if (!values)
		return cpus < 0 ? cpus : -ENOMEM;
	for (uint32_t class = 0; class < WIRE_CLASS_COUNT; class ++) {
		uint32_t index = slot * WIRE_CLASS_COUNT + class;

		if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.numbers), &index, values) < 0)
			return -errno;
		ret_numbers[class] = 0;
		for (int cpu = 0; cpu < cpus; cpu++)
			ret_numbers[class] += values[cpu];
	}
	return 0;
}

int sensors_limit_command(struct sensors *s, uint64_t cgroup,
			  const uint64_t limits[WIRE_LIMIT_COUNT])
{
	struct command_slot slot = {0};

	memcpy(slot.limits, limits, sizeof(slot.limits));
	return bpf_map_update_elem(bpf_map__fd(s->skel->maps.commands), &cgroup, &slot, BPF_ANY) < 0
		       ? -errno
		       : 0;
}

uint64_t sensors_command_hits(struct sensors *s, uint64_t cgroup, enum wire_limit limit)
{
	struct command_slot slot = {0};

	bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.commands), &cgroup, &slot);
	return slot.hits[limit];
}

void sensors_forget_command(struct sensors *s, uint64_t cgroup)
{
	bpf_map_delete_elem(bpf_map__fd(s->skel->maps.commands), &cgroup);
}

int sensors_death(struct sensors *s, uint64_t cgroup, struct death *ret_death)
{
	struct death death;

	if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.deaths), &cgroup, &death) < 0)
		return -errno;
	if (!death.ended)
		return -ENOENT;
	*ret_death = death;
	return 0;
}

void sensors_forget_death(struct sensors *s, uint64_t cgroup)
{
	bpf_map_delete_elem(bpf_map__fd(s->skel->maps.deaths), &cgroup);
}

/* ---- what there is ---- */

const char *const *sensors_names(const struct sensors *s)
{
	return s->names;
}

const char *const *sensors_missing(const struct sensors *s)
{
	return s->missing;
}

int sensors_map_fd(const struct sensors *s, const char *name)
{
	return bpf_object__find_map_fd_by_name(s->skel->obj, name);
}

uint64_t sensors_missed(struct sensors *s)
{
	(void)missed_runs_sum(s->skel, &s->missed); /* it was tried when they were loaded */
	return s->missed;
}

void sensors_write_instruction_counts(const struct sensors *s, FILE *out)
{
	for (size_t i = 0; i < s->program_count; i++) {
		struct bpf_prog_info info = {};
		uint32_t size = sizeof(info);

		bpf_obj_get_info_by_fd(bpf_program__fd(s->programs[i]), &info, &size);
		fprintf(out, "%s %u\n", bpf_program__name(s->programs[i]), info.verified_insns);
	}
}

void sensors_free(struct sensors *s)
{
	if (!s)
		return;
	stop_release(s);
	for (size_t i = 0; i < s->program_count; i++)
		bpf_link__destroy(s->links[i]);
	ring_pool_free(s->rings);
	vitrine__destroy(s->skel);
	tracefs_free(s->tracefs);
	free(s);
}
