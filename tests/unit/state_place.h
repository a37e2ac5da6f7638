/*
 * A state directory for a test: sessions in it, live and dead, and commands that are asked about
 * them.
 */
#pragma once

#include "../../replay/commands.h"
#include "../../supervisor/record/cleanup.h"
#include "../../supervisor/record/journal.h"
#include "../../supervisor/record/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* A state directory of its own for each test. */
struct place {
	char path[64];
	int state_fd;
};

static inline int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	snprintf(place->path, sizeof(place->path), "/tmp/vitrine-test.XXXXXX");
	assert_non_null(mkdtemp(place->path));
	place->state_fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(place->state_fd, "sessions", 0755), 0);
	*state = place;
	return 0;
}

/* Remove the files of a directory @depth levels deep. */
static inline void remove_below(int dir_fd, int depth)
{
	cleanup(closedir) DIR *dir = fdopendir(dup(dir_fd));
	struct dirent *entry;

	rewinddir(dir);
	while ((entry = readdir(dir))) {
		cleanup(close_fd) int fd = -1;

		if (entry->d_name[0] == '.' && (!entry->d_name[1] || entry->d_name[1] == '.'))
			continue;
		if (unlinkat(dir_fd, entry->d_name, 0) == 0 || depth == 0)
			continue;
		fd = openat(dir_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		remove_below(fd, depth - 1);
		unlinkat(dir_fd, entry->d_name, AT_REMOVEDIR);
	}
}

static inline int tear_down(void **state)
{
	struct place *place = *state;

	remove_below(place->state_fd, 3);
	rmdir(place->path);
	close(place->state_fd);
	free(place);
	return 0;
}

/* ---- sessions ---- */

static inline uint64_t own_start(void)
{
	cleanup(fclose) FILE *in = fopen("/proc/self/stat", "re");
	char text[1024], *at;
	uint64_t start = 0;

	text[fread(text, 1, sizeof(text) - 1, in)] = 0;
	at = strrchr(text, ')');
	for (int field = 2; field < 22; field++)
		at = strchr(at, ' ') + 1;
	while (*at >= '0' && *at <= '9')
		start = start * 10 + (uint64_t)(*at++ - '0');
	return start;
}

static inline int session_dir(struct place *place, const char *id)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "sessions/%s", id);
	mkdirat(place->state_fd, path, 0755);
	fd = openat(place->state_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static inline void write_manifest(struct place *place, const char *id, const char *name,
				  enum session_state state, bool alive)
{
	cleanup(close_fd) int dir = session_dir(place, id);
	struct manifest m = {
		.name = (char *)name,
		.command = (char *)"[\"sh\", \"-c\", \"true\\n\"]",
		.state = state,
		.reason = (char *)(state == SESSION_ENDED ? "exit" : NULL),
		.exit_code = state == SESSION_ENDED ? 3 : -1,
		.signal = -1,
		.started_ns = 1709209845000000000 + strtoull(id, NULL, 16),
		.ended_ns = state == SESSION_ENDED ? 1709209855000000000 : 0,
		.records = state == SESSION_ENDED ? 4 : 0,
		.supervisor_pid = getpid(),
		.supervisor_start = own_start() + !alive,
	};

	snprintf(m.id, sizeof(m.id), "%s", id);
	assert_int_equal(manifest_write(dir, &m), 0);
}

struct writer {
	struct journal *journal;
	uint64_t clock_ns;
};

static inline struct writer open_journal(struct place *place, const char *id, uint64_t block_bytes)
{
	cleanup(close_fd) int dir = session_dir(place, id);
	struct journal_options options = {.session = id, .block_bytes = block_bytes};
	struct writer w = {.clock_ns = 1000000};

	assert_int_equal(journal_open(dir, &options, &w.journal), 0);
	return w;
}

static inline struct redacted begin(struct writer *w, enum event_kind kind)
{
	struct redacted record;

	w->clock_ns += 1000000;
	event_init(&record.event, kind, 1709209845000000000 + w->clock_ns, w->clock_ns);
	return record;
}

static inline void append(struct writer *w, const struct redacted *record)
{
	assert_int_equal(journal_append(w->journal, record, NULL), 0);
	assert_int_equal(journal_flush(w->journal, w->clock_ns), 0);
}

static inline void write_start(struct writer *w)
{
	struct redacted start = begin(w, EVENT_session_start);

	event_put_bytes(&start.event, FIELD_command, "sh\0-c\0true\n", 12);
	event_put_text(&start.event, FIELD_user_name, "root");
	append(w, &start);
}

static inline void write_output(struct writer *w, const char *stream, const char *data)
{
	struct redacted output = begin(w, EVENT_output);

	event_put_text(&output.event, FIELD_stream, stream);
	event_put_text(&output.event, FIELD_data, data);
	append(w, &output);
}

static inline void write_end(struct writer *w)
{
	struct redacted end = begin(w, EVENT_session_end);

	event_put_text(&end.event, FIELD_reason, "exit");
	event_put_u64(&end.event, FIELD_exit_code, 3);
	event_put_text(&end.event, FIELD_counts,
		       "{\"output\":{\"produced\":2,\"journaled\":2,\"lost\":0}}");
	append(w, &end);
}

/* start, two outputs, end */
static inline void write_whole_session(struct place *place, const char *id, const char *name)
{
	struct writer w = open_journal(place, id, 0);

	write_start(&w);
	write_output(&w, "stdout", "to out\n");
	write_output(&w, "stderr", "to err\n");
	write_end(&w);
	assert_int_equal(journal_close(w.journal), 0);
	write_manifest(place, id, name, SESSION_ENDED, false);
}

/* ---- commands ---- */

struct answer {
	int status;
	char *out, *err; /* malloc'ed */
};

static inline void answer_free(struct answer *a)
{
	free(a->out);
	free(a->err);
}

static inline char *read_all(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = calloc(1, (size_t)size + 1);

	assert_int_equal(pread(fd, text, (size_t)size, 0), size);
	close(fd);
	return text;
}

/* A command that was started, its output going to files without a name. */
struct started {
	pid_t pid;
	int out, err;
};

static inline struct started start(struct place *place, const struct command *c, va_list words)
{
	char *argv[16] = {(char *)c->name};
	int argc = 1;
	struct started s = {.out = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600),
			    .err = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};

	while ((argv[argc] = va_arg(words, char *)))
		argc++;
	argv[argc++] = (char *)"--state";
	argv[argc++] = place->path;
	fflush(NULL);
	s.pid = fork();
	if (s.pid == 0) {
		char called[64];

		snprintf(called, sizeof(called), "vitrine %s", c->name);
		dup2(s.out, 1);
		dup2(s.err, 2);
		_exit(command_main(called, c, argc, argv));
	}
	return s;
}

static inline struct answer finish(struct started s)
{
	struct answer a;
	int status;

	assert_int_equal(waitpid(s.pid, &status, 0), s.pid);
	assert_true(WIFEXITED(status));
	a.status = WEXITSTATUS(status);
	a.out = read_all(s.out);
	a.err = read_all(s.err);
	return a;
}

static inline struct started start_words(struct place *place, const struct command *c, ...)
{
	struct started s;
	va_list words;

	va_start(words, c);
	s = start(place, c, words);
	va_end(words);
	return s;
}

#define ask(place, ...) finish(start_words(place, __VA_ARGS__, NULL))

static inline void contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

static inline size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
