/*
 * What tests of sessions stand on: a pretended host with a real loop and a real state directory,
 * and a check that everything that was given has come back.
 */
#pragma once

#include "pretended_host.h"

#include "../../supervisor/grant.h"

#include "../../supervisor/record/jansson_cleanup.h"
#include "../../supervisor/redact/redact.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <cmocka.h>

struct bench {
	char dir[64];
	struct host host;
	struct metrics_daemon metrics;
	struct session *session;
	int fds_before;
};

static int open_fds(void)
{
	cleanup(closedir) DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	return count;
}

static void on_started(void *context, const char *id)
{
	(void)context;
	assert_int_equal(strlen(id), SESSION_ID_LENGTH);
	fake.told_started++;
}

static void on_ended(void *context, const char *id, const json_t *verdict, int status,
		     const char *error)
{
	struct bench *b = context;

	(void)id;
	fake.told_ended++;
	fake.told_status = status;
	fake.has_verdict = verdict != NULL;
	snprintf(fake.told_error, sizeof(fake.told_error), "%s", error ? error : "");
	b->session = NULL;
}

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	json_decref(fake.exec_end);
	json_decref(fake.session_end);
	memset(&fake, 0, sizeof(fake));
	fake.status_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	fake.ready_fd = eventfd(1, EFD_CLOEXEC);
	strcpy(b->dir, "/tmp/vitrine-session-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	b->host.metrics = &b->metrics;
	assert_int_equal(metrics_page_new(IN_HAND_BYTES, false, &b->host.in_hand), 0);
	b->host.sessions_fd = open(b->dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	b->host.recorder_uid = geteuid();
	b->host.recorder_gid = getegid();
	b->host.config.state = b->dir;
	assert_int_equal(redactor_new(b->host.key, NULL, NULL, 0, &b->host.redactor), 0);
	assert_true(sd_event_new(&b->host.loop) >= 0);
	/* The loop keeps the timerfd that the first timer makes. */
	sd_event_source *timer = NULL;
	assert_true(sd_event_add_time_relative(b->host.loop, &timer, CLOCK_MONOTONIC, 1000000, 0,
					       NULL, NULL) >= 0);
	sd_event_source_disable_unref(timer);
	b->fds_before = open_fds();
	*state = b;
	return 0;
}

static inline size_t count_directories(const char *path)
{
	cleanup(closedir) DIR *dir = opendir(path);
	struct dirent *entry;
	size_t count = 0;

	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	return count;
}

/* Whatever happened, everything that was given has come back. */
static void nothing_is_left(struct bench *b)
{
	assert_int_equal(fake.sandboxes, 0);
	assert_int_equal(fake.watches, 0);
	assert_int_equal(fake.slots, 0);
	assert_false(fake.is_held);
	assert_int_equal(b->host.watched, 0);
	assert_int_equal(b->host.session_count, 0);
	assert_null(b->host.sessions);
	assert_int_equal(open_fds(), b->fds_before);
}

static void remove_sessions(struct bench *b)
{
	cleanup(closedir) DIR *dir = opendir(b->dir);
	struct dirent *entry;

	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		cleanup(close_fd) int fd =
			openat(b->host.sessions_fd, entry->d_name, O_DIRECTORY | O_RDONLY);
		session_dir_remove(b->host.sessions_fd, fd, entry->d_name);
	}
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	nothing_is_left(b);
	remove_sessions(b);
	sd_event_unref(b->host.loop);
	metrics_page_free(&b->host.in_hand);
	redactor_free(b->host.redactor);
	close(b->host.sessions_fd);
	close(fake.status_fd);
	close(fake.ready_fd);
	assert_int_equal(rmdir(b->dir), 0);
	free(b);
	return 0;
}

static int start_limited(struct bench *b, json_t *limits, struct fault *f)
{
	struct session_request request;
	const struct grant all = {0};
	struct ucred asker = {.uid = 0};
	struct session_client client = {.context = b, .started = on_started, .ended = on_ended};
	cleanup(json) json_t *body =
		json_pack("{s:[s], s:s, s:[{s:s, s:s}], s:o}", "command", "true", "name", "n",
			  "secrets", "name", "TOKEN", "value", "correct-horse", "limits", limits);
	cleanup(close_fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fds[3] = {null, null, null};

	assert_int_equal(session_request_parse(body, &all, -1, &request, f), 0);
	return session_start(&b->host, &request, &asker, fds, &client, &b->session, f);
}

static inline int start(struct bench *b, struct fault *f)
{
	return start_limited(b, json_object(), f);
}

static void hear_of(struct bench *b, enum recorder_word word, uint32_t exec, int error)
{
	struct recorder_message m = {.word = word, .error = error, .exec = exec};

	if (word == RECORDER_CLOSED && !error)
		m.verdict = json_incref(fake.session_end);
	if (word == RECORDER_EXEC_CLOSED && !error)
		m.verdict = json_incref(fake.exec_end);
	session_recorder_message(b->session, &m);
	recorder_message_free(&m);
}

static inline void hear(struct bench *b, enum recorder_word word, int error)
{
	hear_of(b, word, SESSION_EXEC, error);
}

static void happen_to(struct bench *b, uint32_t exec, enum sandbox_status_kind kind,
		      int wait_status, int error)
{
	uint64_t one = 1;

	fake.status = (struct sandbox_status){
		.exec = exec,
		.kind = kind,
		.wait_status = wait_status,
		.error = error,
		.step = fake.step,
		.cpu_ns = 5,
	};
	assert_int_equal(write(fake.status_fd, &one, sizeof(one)), sizeof(one));
	assert_true(sd_event_run(b->host.loop, 0) >= 0);
}

static inline void happen(struct bench *b, enum sandbox_status_kind kind, int wait_status,
			  int error)
{
	happen_to(b, SESSION_EXEC, kind, wait_status, error);
}

/* Whether the sandbox is ready as soon as it is looked at. */
static inline void set_ready(bool is_ready)
{
	uint64_t value = 1;

	if (is_ready)
		assert_int_equal(write(fake.ready_fd, &value, sizeof(value)), sizeof(value));
	else
		assert_int_equal(read(fake.ready_fd, &value, sizeof(value)), sizeof(value));
}

/* It is, and that is seen. */
static inline void get_ready(struct bench *b)
{
	set_ready(true);
	assert_true(sd_event_run(b->host.loop, 0) >= 0);
}

static inline struct manifest read_manifest(struct bench *b)
{
	cleanup(closedir) DIR *dir = opendir(b->dir);
	struct dirent *entry;
	struct manifest m = {0};

	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		cleanup(close_fd) int fd =
			openat(b->host.sessions_fd, entry->d_name, O_DIRECTORY | O_RDONLY);
		assert_int_equal(manifest_read(fd, &m), 0);
	}
	return m;
}

static inline const char *end_reason(void)
{
	return json_string_value(json_object_get(fake.session_end, "reason"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
