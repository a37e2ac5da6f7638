/*
 * How many wire records a second go from a ring's bytes to the journal on one core: decode,
 * account, join, translate, redact (with three secrets to look for), append, write(2) for each MiB.
 */
#include "../../supervisor/capture/account.h"
#include "../../supervisor/capture/capture.h"
#include "../../supervisor/capture/clock.h"
#include "../../supervisor/capture/join.h"
#include "../../supervisor/record/journal.h"
#include "../../supervisor/redact/redact.h"
#include "../../supervisor/redact/shapes.h"
#include "../unit/scratch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS 2
#define EXEC_ARGV 4 /* among the tails of an exec */
#define BATCH_BYTES (1024 * 1024)

struct line {
	struct account *account;
	struct join *join;
	struct capture *capture;
	struct redactor *redactor;
	struct shapes *shapes;
	struct journal *journal;
	uint64_t events;
};

static void must(bool is_good, const char *what)
{
	if (is_good)
		return;
	fprintf(stderr, "pipeline: %s failed\n", what);
	exit(1);
}

static int no_numbers(void *context, uint64_t *ret_values)
{
	(void)context;
	memset(ret_values, 0, WIRE_CLASS_COUNT * sizeof(*ret_values));
	return 0;
}

static int no_losses(void *context, uint64_t *ret_values)
{
	(void)context;
	memset(ret_values, 0, WIRE_CLASS_COUNT * LOSS_REASON_COUNT * sizeof(*ret_values));
	return 0;
}

static int on_gap(void *context, const struct account_gap *gap)
{
	(void)context;
	(void)gap;
	must(false, "the account of what came in order");
	return 0;
}

static int on_redacted(void *context, const struct redacted *record)
{
	struct line *l = context;

	l->events++;
	return journal_append(l->journal, record, NULL);
}

static int on_event(void *context, struct event *e)
{
	struct line *l = context;

	return redact_event(l->redactor, e, on_redacted, l);
}

static int on_record(void *context, const struct wire_record *record)
{
	struct line *l = context;

	return capture_record(l->capture, record);
}

static void open_line(struct line *l, int dir_fd)
{
	static const uint8_t key[32] = {1};
	static const char *const no_reads[] = {NULL};
	static const struct redact_secret secrets[] = {
		{"A", "AKIAIOSFODNN7EXAMPLE", 20},
		{"B", "correct-horse-battery-staple", 28},
		{"C", "0123456789abcdef0123456789abcdef", 32},
	};
	const struct account_options accounting = {
		.cpus = 1, .numbers = no_numbers, .losses = no_losses, .gap = on_gap};
	const struct capture_options capturing = {.session = "bench",
						  .names_fd = -1,
						  .fanotify_fd = -1,
						  .root_mount_fd = -1,
						  .watch_reads = no_reads,
						  .emit = on_event,
						  .emit_context = l};
	const struct join_options joining = {.emit = on_record, .context = l};
	const struct journal_options writing = {.session = "bench"};

	must(account_new(&accounting, &l->account) == 0, "account_new");
	must(join_new(&joining, &l->join) == 0, "join_new");
	must(capture_new(&capturing, &l->capture) == 0, "capture_new");
	must(shapes_new(SHAPES_MACHINE_CODE, &l->shapes) == 0, "shapes_new");
	must(redactor_new(key, l->shapes, secrets, 3, &l->redactor) == 0, "redactor_new");
	must(journal_open(dir_fd, &writing, &l->journal) == 0, "journal_open");
}

static void close_line(struct line *l)
{
	must(journal_close(l->journal) == 0, "journal_close");
	redactor_free(l->redactor);
	shapes_free(l->shapes);
	capture_free(l->capture);
	join_free(l->join);
	account_free(l->account);
}

static void set_tail(uint8_t *record, const struct wire_info *info, size_t tail, const char *text,
		     uint32_t size)
{
	struct wire_head *head = (struct wire_head *)record;

	memcpy(record + head->length, text, size);
	memcpy(record + info->tail_offsets[tail], &size, sizeof(size));
	head->length += size;
}

/* What a build makes most of. Returns the size. */
static size_t make_record(uint8_t *record, unsigned int kind, uint64_t number)
{
	static const char path[] = "object-file.o\0objects\0build\0project\0workspace";
	static const char argv[] =
		"/usr/bin/cc\0-O2\0-g\0-Wall\0-c\0-o\0build/main.o\0source/main.c";
	const struct wire_info *info = wire_info(kind);
	struct wire_head *head = (struct wire_head *)record;

	memset(record, 0, info->fixed_size);
	*head = (struct wire_head){.number = number,
				   .boot_ns = 1000000 + number * 1000,
				   .start_ns = 555,
				   .cgroup = 7,
				   .length = info->fixed_size,
				   .pid = 1000 + number % 100,
				   .tid = 1000 + number % 100,
				   .ns_pid = 10,
				   .kind = kind,
				   .class = info->class};
	for (size_t i = 0; i < info->tail_count; i++)
		if (kind == WIRE_KIND_process_exec && i == EXEC_ARGV)
			set_tail(record, info, i, argv, sizeof(argv));
		else
			set_tail(record, info, i, path, sizeof(path));
	if (kind == WIRE_KIND_file_open)
		((struct wire_file_open *)record)->flags = O_WRONLY | O_CLOEXEC;
	return head->length;
}

static void run(struct line *l, const char *name, const unsigned int *kinds, size_t kind_count)
{
	static _Alignas(8) uint8_t room[WIRE_LENGTH_MAX];
	uint64_t records = 0, bytes = 0, flushed = 0, numbers[WIRE_CLASS_COUNT] = {0};
	uint64_t start = clock_ns(CLOCK_MONOTONIC), now = start;
	const char *why;

	l->events = 0;
	for (; now - start < SECONDS * 1000000000ULL; records++) {
		unsigned int kind = kinds[records % kind_count];
		uint64_t number = numbers[wire_info(kind)->class]++;
		struct wire_record record;
		size_t size = make_record(room, kind, number);

		must(wire_decode(room, size, &record, &why) == 0, "wire_decode");
		must(account_record(l->account, record.head) == 0, "account_record");
		must(join_record(l->join, &record, bytes) == 0, "join_record");
		bytes += size;
		if (bytes - flushed >= BATCH_BYTES) {
			now = clock_ns(CLOCK_MONOTONIC);
			must(journal_flush(l->journal, now) == 0, "journal_flush");
			flushed = bytes;
		}
	}
	double seconds = (double)(now - start) / 1e9;
	printf("%-44s %9.0f records/s  %6.0f MB/s of wire  %.2f events each%s\n", name,
	       (double)records / seconds, (double)bytes / seconds / 1e6,
	       (double)l->events / (double)records, kind_count > 1 ? "  (hold: >= 300,000)" : "");
}

int main(void)
{
	static const unsigned int mixed[] = {WIRE_KIND_file_open,    WIRE_KIND_file_modify,
					     WIRE_KIND_file_open,    WIRE_KIND_file_modify,
					     WIRE_KIND_file_mmap,    WIRE_KIND_process_fork,
					     WIRE_KIND_process_exec, WIRE_KIND_process_exit};
	static const struct {
		const char *name;
		const unsigned int *kinds;
		size_t count;
	} runs[] = {
		{"ring to journal, one core: a build's mixture", mixed, 8},
		{"ring to journal: opens for writing", &mixed[0], 1},
		{"ring to journal: execs", &mixed[6], 1},
	};

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct scratch dir = scratch_new();
		struct line l = {0};

		open_line(&l, dir.fd);
		run(&l, runs[i].name, runs[i].kinds, runs[i].count);
		close_line(&l);
		scratch_free(&dir);
	}
	return 0;
}
