/*
 * What one core appends to a journal: redaction with secrets, encoding, checksum, hash, tree,
 * signed checkpoints and write(2), beside what SHA-256 alone does in the same run. `bench-journal
 * [RECORDS [DIRECTORY]]`.
 */
#include "supervisor/record/journal.h"
#include "supervisor/record/cleanup.h"
#include "supervisor/record/reader.h"
#include "supervisor/redact/redact.h"
#include "supervisor/redact/shapes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define RECORDS 2000000
#define DRAIN 512 /* records between two flushes, as a busy ring gives them */
#define HASHED (256u << 20)
#define HOLD 300000

/* Of this thread: what else runs on the machine does not count. */
static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "bench-journal: %s: %s\n", what, strerror(-r));
	exit(1);
}

static int append(void *context, const struct redacted *record)
{
	return journal_append(context, record, NULL);
}

/* The records of a build: opened files, some programs, some output. */
static void make_event(struct event *e, uint64_t n, const char *path)
{
	static const char argv[] = "/usr/lib/gcc/x86_64-linux-gnu/12/cc1\0-quiet\0-I\0include\0"
				   "source.c\0-o\0/tmp/ccXXXXXX.s\0";
	static const char data[] = "  CC      supervisor/record/journal.o\n  CC      supervisor/"
				   "record/reader.o\n";

	if (n % 20 == 0) {
		event_init(e, EVENT_process_exec, n, n);
		event_put_bytes(e, FIELD_argv, argv, sizeof(argv) - 1);
		event_put_u64(e, FIELD_argv_bytes, sizeof(argv) - 1);
	} else if (n % 20 == 1) {
		event_init(e, EVENT_output, n, n);
		event_put_u64(e, FIELD_exec, 1);
		event_put_text(e, FIELD_stream, "stdout");
		event_put_u64(e, FIELD_offset, n / 20 * (sizeof(data) - 1));
		event_put_bytes(e, FIELD_data, data, sizeof(data) - 1);
		return;
	} else {
		event_init(e, EVENT_file_open, n, n);
		event_put_text(e, FIELD_path, path);
		event_put_text(e, FIELD_path_source, "kernel");
		event_put_text(e, FIELD_requested, path + 11);
		event_put_u64(e, FIELD_dev, 66306);
		event_put_u64(e, FIELD_ino, 1000000 + n);
		event_put_text(e, FIELD_file_type, "regular");
		event_put_bytes(e, FIELD_flags, "O_WRONLY\0O_CREAT\0", 17);
		event_put_u64(e, FIELD_size, n % 100000);
	}
	event_put_u64(e, FIELD_exec, 1);
	event_put_text(e, FIELD_proc, "123456-00000f3a9c4b21");
	event_put_u64(e, FIELD_pid, 4711);
	event_put_u64(e, FIELD_host_pid, 123456);
}

static double write_records(struct journal *j, struct redactor *redactor, uint64_t count)
{
	double start = cpu_seconds();

	for (uint64_t n = 0; n < count; n++) {
		struct event e;
		char path[64];

		snprintf(path, sizeof(path), "/workspace/build/objects/part-%04u.o",
			 (unsigned int)(n % 10000));
		make_event(&e, n, path);
		must(redact_event(redactor, &e, append, j), "append");
		if (n % DRAIN == 0)
			must(journal_flush(j, n * 1000), "flush");
	}
	must(redact_flush(redactor, UINT64_MAX, append, j), "append");
	must(journal_flush(j, count * 1000), "flush");
	return cpu_seconds() - start;
}

static double read_records(int dir_fd, uint64_t *ret_count)
{
	double start = cpu_seconds();
	struct reader *r;
	struct event e;

	must(reader_open(dir_fd, &r), "open for reading");
	for (*ret_count = 0; reader_next(r, &e) == READER_RECORD; (*ret_count)++)
		;
	reader_free(r);
	return cpu_seconds() - start;
}

static double hash_megabytes(void)
{
	size_t size = 1 << 20;
	cleanup(free) uint8_t *bytes = calloc(1, size);
	uint8_t hash[SHA256_DIGEST_LENGTH];
	double start = cpu_seconds();

	if (!bytes)
		must(-ENOMEM, "hash");
	for (size_t done = 0; done < HASHED; done += size)
		SHA256(bytes, size, hash);
	return HASHED / 1e6 / (cpu_seconds() - start);
}

/* Remove what the journal left in its directory, and that. */
static void clean_up(int dir_fd, const char *path)
{
	for (unsigned int i = 0; i < 1000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%06u.vtj", i);
		unlinkat(dir_fd, name, 0);
	}
	unlinkat(dir_fd, CHECKPOINTS_FILE, 0);
	rmdir(path);
}

static void run(int dir_fd, uint64_t count)
{
	static const struct redact_secret secrets[] = {
		{"API_KEY", "sk-ant-0123456789abcdef0123456789abcdef", 39},
		{"TOKEN", "ghp_0123456789abcdefghijklmnopqrstuvwxyz", 40},
		{"PASSWORD", "correct horse battery staple", 28},
		{"DATABASE", "postgres://user:password@host/name", 34},
	};
	static const uint8_t key[32] = "a key that is used nowhere else";
	static const uint8_t seed[SIGN_SEED_SIZE] = "a seed that is used nowhere else";
	const struct checkpoints_key signing = {"host/bench", "nobody vouches for it", seed};
	struct journal_options options = {.session = "bench", .key = &signing};
	struct redactor *redactor;
	struct shapes *shapes;
	struct journal *j;
	double written, read;
	uint64_t bytes, back;

	must(shapes_new(SHAPES_MACHINE_CODE, &shapes), "shapes");
	must(redactor_new(key, shapes, secrets, sizeof(secrets) / sizeof(*secrets), &redactor),
	     "secrets");
	must(journal_open(dir_fd, &options, &j), "open");
	written = write_records(j, redactor, count);
	bytes = journal_bytes(j);
	must(journal_close(j), "close");
	redactor_free(redactor);
	shapes_free(shapes);
	read = read_records(dir_fd, &back);
	if (back != count)
		must(-EBADMSG, "records are missing");

	printf("journal append incl. redaction, hash and tree %8.0f records/s a core, %.0f bytes "
	       "each, %.0f MB/s  (hold: >= %d)\n",
	       (double)count / written, (double)bytes / (double)count,
	       (double)bytes / 1e6 / written, HOLD);
	printf("journal read, checked                        %9.0f records/s a core\n",
	       (double)count / read);
	printf("SHA-256 in the same run                      %9.0f MB/s\n", hash_megabytes());
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : RECORDS;
	char path[4096];
	cleanup(close_fd) int dir_fd = -1;

	snprintf(path, sizeof(path), "%s/vitrine-bench-XXXXXX", argc > 2 ? argv[2] : "/tmp");
	if (!mkdtemp(path))
		must(-errno, path);
	dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		must(-errno, path);
	run(dir_fd, count);
	clean_up(dir_fd, path);
	return 0;
}
