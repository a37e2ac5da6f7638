/*
 * Writes a long session for measurements of what reads records:
 *
 *   bench-acts STATE ID COUNT [AUDIT_LOG]
 *
 * COUNT records of a build that goes on and on: processes, files, connections, questions. Every
 * millionth act, and at least three of all, is `curl https://drop.example/NUMBER`. With AUDIT_LOG
 * the execs and opened files stand there too, as the kernel's audit would have logged them.
 */
#include "supervisor/record/cleanup.h"
#include "supervisor/record/journal.h"
#include "supervisor/record/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define START_NS UINT64_C(1750000000000000000)
#define STEP_NS 50000 /* between two records */
#define ACTS_RARE 1000000

struct acts {
	struct journal *journal;
	FILE *audit; /* NULL: none */
	uint64_t count, written, number, serial, rare;
	struct redacted record;
	char arguments[256], path[128], proc[32];
};

static struct event *begin(struct acts *a, enum event_kind kind)
{
	uint64_t at = a->written * STEP_NS;
	struct event *e = &a->record.event;

	event_init(e, kind, START_NS + at, at + 1000000000);
	return e;
}

static void who(struct acts *a, struct event *e)
{
	snprintf(a->proc, sizeof(a->proc), "%" PRIu64 "-%" PRIu64, 1000 + a->number % 30000,
		 a->number);
	event_put_u64(e, FIELD_exec, 1);
	event_put_text(e, FIELD_proc, a->proc);
	event_put_u64(e, FIELD_pid, 2 + a->number % 30000);
	event_put_u64(e, FIELD_host_pid, 1000 + a->number % 30000);
}

static void append(struct acts *a)
{
	if (a->written >= a->count)
		return;
	if (journal_append(a->journal, &a->record, NULL) < 0)
		abort();
	a->written++;
	if (a->written % 20000 == 0 && journal_flush(a->journal, a->written * STEP_NS) < 0)
		abort();
}

static void audit(struct acts *a, const char *type, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void audit(struct acts *a, const char *type, const char *format, ...)
{
	uint64_t at = START_NS + a->written * STEP_NS;
	va_list rest;

	if (!a->audit)
		return;
	fprintf(a->audit, "type=%s msg=audit(%" PRIu64 ".%03u:%" PRIu64 "): ", type,
		at / 1000000000, (unsigned)(at % 1000000000 / 1000000), a->serial);
	va_start(rest, format);
	vfprintf(a->audit, format, rest);
	va_end(rest);
	fputc('\n', a->audit);
}

static void audit_call(struct acts *a, unsigned call, const char *exe, const char *name)
{
	audit(a, "SYSCALL",
	      "arch=c000003e syscall=%u success=yes exit=0 a0=0 a1=0 a2=0 a3=0 items=1 ppid=1 "
	      "pid=%" PRIu64
	      " auid=1000 uid=1000 gid=1000 euid=1000 suid=1000 fsuid=1000 egid=1000 "
	      "sgid=1000 fsgid=1000 tty=(none) ses=1 comm=\"%s\" exe=\"%s\" key=\"acts\"",
	      call, 1000 + a->number % 30000, name, exe);
}

static void exec(struct acts *a, const char *exe, const char *const *argv, size_t argc)
{
	struct event *e = begin(a, EVENT_process_exec);
	size_t size = 0;

	for (size_t i = 0; i < argc; i++)
		size += (size_t)snprintf(a->arguments + size, sizeof(a->arguments) - size, "%s",
					 argv[i]) +
			1;
	who(a, e);
	event_put_bytes(e, FIELD_argv, a->arguments, size);
	event_put_text(e, FIELD_exe_path, exe);
	event_put_text(e, FIELD_cwd, "/workspace");
	audit_call(a, 59, exe, argv[0]);
	if (a->audit) {
		char line[512];
		size_t length = (size_t)snprintf(line, sizeof(line), "argc=%zu", argc);

		for (size_t i = 0; i < argc; i++)
			length += (size_t)snprintf(line + length, sizeof(line) - length,
						   " a%zu=\"%s\"", i, argv[i]);
		audit(a, "EXECVE", "%s", line);
	}
	a->serial++;
	append(a);
}

static void file(struct acts *a, enum event_kind kind)
{
	struct event *e = begin(a, kind);

	snprintf(a->path, sizeof(a->path), "/workspace/src/part%03u/unit%05u.o",
		 (unsigned)(a->number / 131 % 997), (unsigned)(a->number % 65536));
	who(a, e);
	event_put_text(e, FIELD_path, a->path);
	event_put_text(e, FIELD_path_source, "kernel");
	event_put_u64(e, FIELD_ino, a->number);
	if (kind == EVENT_file_modify)
		event_put_u64(e, FIELD_bytes_written, a->number % 65536);
	if (kind == EVENT_file_open) {
		audit_call(a, 257, "/usr/bin/as", "as");
		audit(a, "PATH", "item=0 name=\"%s\" inode=%" PRIu64 " nametype=NORMAL", a->path,
		      a->number);
		a->serial++;
	}
	append(a);
}

static void net(struct acts *a)
{
	struct event *e = begin(a, EVENT_net_connect);

	snprintf(a->path, sizeof(a->path), "10.%u.%u.7", (unsigned)(a->number / 256 % 256),
		 (unsigned)(a->number % 256));
	who(a, e);
	event_put_text(e, FIELD_family, "inet");
	event_put_text(e, FIELD_protocol, "tcp");
	event_put_text(e, FIELD_dst_address, a->path);
	event_put_u64(e, FIELD_dst_port, a->number % 50 ? 443 : 8443);
	append(a);
}

static void simple(struct acts *a, enum event_kind kind)
{
	struct event *e = begin(a, kind);

	who(a, e);
	if (kind == EVENT_process_fork)
		event_put_text(e, FIELD_child_proc, a->proc);
	else
		event_put_u64(e, FIELD_exit_code, a->number % 200 == 0);
	append(a);
}

static void round_of_acts(struct acts *a)
{
	char unit[64], object[64];

	a->number++;
	snprintf(unit, sizeof(unit), "unit%05u.c", (unsigned)(a->number % 65536));
	snprintf(object, sizeof(object), "-o/tmp/cc%06u.o", (unsigned)(a->number % 1000000));
	simple(a, EVENT_process_fork);
	if (a->written >= a->rare) {
		char url[64];

		snprintf(url, sizeof(url), "https://drop.example/%" PRIu64, a->written);
		exec(a, "/usr/bin/curl", (const char *const[]){"curl", "-sS", url}, 3);
		a->rare += a->count / 3 < ACTS_RARE ? a->count / 3 : ACTS_RARE;
	} else {
		exec(a, "/usr/bin/cc1", (const char *const[]){"cc1", "-O2", unit, object}, 4);
	}
	for (int i = 0; i < 3; i++) {
		file(a, EVENT_file_open);
		file(a, EVENT_file_modify);
	}
	if (a->number % 4 == 0)
		net(a);
	simple(a, EVENT_process_exit);
}

static int open_session(const char *state, const char *id, int *ret_fd)
{
	struct manifest m = {.state = SESSION_ENDED, .exit_code = 0, .signal = -1};
	char path[4096];

	snprintf(path, sizeof(path), "%s/sessions", state);
	if ((mkdir(state, 0700) < 0 && errno != EEXIST) ||
	    (mkdir(path, 0700) < 0 && errno != EEXIST))
		return -errno;
	snprintf(path, sizeof(path), "%s/sessions/%s", state, id);
	if (mkdir(path, 0700) < 0)
		return -errno;
	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(m.id, sizeof(m.id), "%s", id);
	m.started_ns = START_NS;
	m.ended_ns = START_NS + 1;
	m.command = (char *)"[\"make\"]";
	m.reason = (char *)"exit";
	return *ret_fd < 0 ? -errno : manifest_write(*ret_fd, &m);
}

int main(int argc, char **argv)
{
	cleanup(close_fd) int dir_fd = -1;
	struct acts a = {.number = 0};

	if (argc < 4 || !session_id_is_valid(argv[2])) {
		fputs("bench-acts: STATE ID COUNT [AUDIT_LOG]\n", stderr);
		return 2;
	}
	a.count = strtoull(argv[3], NULL, 10);
	a.rare = a.count / 3 < ACTS_RARE ? a.count / 3 : ACTS_RARE;
	if (argc > 4 && !(a.audit = fopen(argv[4], "we")))
		return perror(argv[4]), 1;
	const struct journal_options options = {.session = argv[2], .compress = true};
	int r = open_session(argv[1], argv[2], &dir_fd);
	if (r == 0)
		r = journal_open(dir_fd, &options, &a.journal);
	if (r < 0)
		return fprintf(stderr, "bench-acts: %s\n", strerror(-r)), 1;
	begin(&a, EVENT_session_start);
	event_put_text(&a.record.event, FIELD_host, "bench");
	append(&a);
	a.count--; /* the end has its place */
	while (a.written < a.count)
		round_of_acts(&a);
	a.count++;
	begin(&a, EVENT_session_end);
	event_put_text(&a.record.event, FIELD_reason, "exit");
	append(&a);
	r = journal_close(a.journal);
	if (a.audit && fclose(a.audit) != 0)
		return 1;
	return r < 0;
}
