/* Metrics: the table, the text that is made of it, pages, places to listen at, and the server. */
#include "../../supervisor/metrics/listen.h"
#include "../../supervisor/metrics/page.h"
#include "../../supervisor/metrics/server.h"
#include "../../supervisor/metrics/text.h"
#include "../../supervisor/redact/detector.h"
#include "../../supervisor/verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define NOW 2000000000000000000u

_Static_assert(METRIC_SIZE_REASON == VERDICT_SETUP_FAILED + 1, "a label for each reason");

/* ---- the table ---- */

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), size = strlen(end);

	return length > size && !strcmp(text + length - size, end);
}

static void test_rows_keep_the_rules_of_openmetrics(void **state)
{
	static const char *const units[] = {"", "_bytes", "_seconds", "_ratio"};
	static const char name_chars[] = "abcdefghijklmnopqrstuvwxyz_";

	(void)state;
	for (size_t i = 0; i < metric_count; i++) {
		const struct metric *m = &metrics[i];
		char name[128];

		assert_int_equal(strspn(m->name, name_chars), strlen(m->name));
		assert_memory_equal(m->name, "vitrine_", 8);
		snprintf(name, sizeof(name), "%s", m->name);
		assert_int_equal(ends_with(name, "_total"), m->type == METRIC_COUNTER);
		if (m->type == METRIC_COUNTER)
			name[strlen(name) - strlen("_total")] = 0;
		if (!ends_with(name, units[m->unit]) && *units[m->unit])
			fail_msg("%s does not end with its unit", m->name);
		/* What would have to be escaped, and in each form in another way. */
		assert_null(strpbrk(m->help, "\\\"\n"));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(metrics[k].name, m->name);
	}
}

static void test_labels_are_those_of_the_rest(void **state)
{
	(void)state;
	for (size_t i = 1; i < METRIC_SIZE_REASON; i++)
		assert_string_equal(metric_label_value(METRIC_LABEL_REASON, i),
				    verdict_reason_name((enum verdict_reason)i));
	for (size_t i = 0; i < EVENT_CLASS_COUNT; i++)
		assert_string_equal(metric_label_value(METRIC_LABEL_CLASS, i),
				    event_class_names[i]);
	assert_true(detector_count + 2 < METRIC_SIZE_RULE);
	assert_string_equal(metric_label_value(METRIC_LABEL_RULE, 0), "given");
	for (size_t i = 0; i < detector_count; i++) {
		assert_string_equal(metric_label_value(METRIC_LABEL_RULE, metric_rule(i)),
				    detectors[i].name);
		for (size_t k = 0; k <= i; k++) /* two would be one series twice */
			assert_string_not_equal(detectors[i].name,
						metric_label_value(METRIC_LABEL_RULE, k));
	}
	assert_string_equal(metric_label_value(METRIC_LABEL_RULE, metric_rule(100000)), "policy");
	assert_null(metric_label_value(METRIC_LABEL_RULE, detector_count + 2));
}

static void test_a_loss_is_counted_where_its_reason_is_told(void **state)
{
	(void)state;
	size_t full = metric_loss(EVENT_CLASS_file, "ring_full");
	size_t new = metric_loss(EVENT_CLASS_file, "a reason that nobody knows yet");

	assert_int_equal(full / METRIC_SIZE_LOSS, EVENT_CLASS_file);
	assert_string_equal(metric_label_value(METRIC_LABEL_LOSS, full % METRIC_SIZE_LOSS),
			    "ring_full");
	assert_int_equal(new / METRIC_SIZE_LOSS, EVENT_CLASS_file);
	assert_string_equal(metric_label_value(METRIC_LABEL_LOSS, new % METRIC_SIZE_LOSS), "other");
}

/* ---- text ---- */

struct text {
	struct metrics_daemon daemon;
	struct metrics_recorder recorder;
	struct metrics_exporter exporter;
	struct json_buffer buffer;
};

static const char *write_text(struct text *t, enum metrics_format format)
{
	const struct metrics_source source = {
		.program = "vitrined",
		.daemon = &t->daemon,
		.recorder = &t->recorder,
		.exporter = &t->exporter,
	};

	t->buffer.length = 0;
	assert_int_equal(metrics_write(&t->buffer, &source, format, NOW), 0);
	assert_int_equal(json_write_raw(&t->buffer, "", 1), 0);
	return t->buffer.text;
}

static int make_text(void **state)
{
	*state = calloc(1, sizeof(struct text));
	return *state ? 0 : -1;
}

static int free_text(void **state)
{
	struct text *t = *state;

	json_buffer_free(&t->buffer);
	free(t);
	return 0;
}

static void has(const char *text, const char *line)
{
	if (!strstr(text, line))
		fail_msg("no %s in:\n%s", line, text);
}

static void test_cells_become_numbers(void **state)
{
	struct text *t = *state;

	metric_add(t->daemon.sessions_started, 2);
	metric_add(t->daemon.sessions_started, 3);
	metric_set(t->daemon.started, 1500000000123000000);
	metric_set(t->daemon.beat, NOW - 1500000000);
	metric_set(t->recorder.ring_fullest, 250000000);
	metric_add(&t->recorder.lost[metric_loss(EVENT_CLASS_net, "fault")], 7);
	metric_set(t->recorder.written, UINT64_MAX);

	const char *text = write_text(t, METRICS_OPENMETRICS);
	has(text, "\n# TYPE vitrine_sessions_started counter\n");
	has(text, "\nvitrine_sessions_started_total 5\n");
	has(text, "\nvitrine_daemon_start_timestamp_seconds 1500000000.123\n");
	has(text, "\nvitrine_daemon_idle_seconds 1.5\n");
	has(text, "\n# UNIT vitrine_ring_fullest_ratio ratio\n");
	has(text, "\nvitrine_ring_fullest_ratio 0.25\n");
	has(text, "\nvitrine_lost_records_total{class=\"net\",reason=\"fault\"} 7\n");
	has(text, "\nvitrine_lost_records_total{class=\"file\",reason=\"fault\"} 0\n");
	has(text, "\nvitrine_journal_written_bytes_total 18446744073709551615\n");
	has(text, "vitrine_build_info{program=\"vitrined\",version=\"" VITRINE_VERSION "\"} 1\n");
	assert_true(ends_with(text, "\n# EOF\n"));

	text = write_text(t, METRICS_PROMETHEUS);
	has(text, "\n# TYPE vitrine_sessions_started_total counter\n");
	has(text, "# TYPE vitrine_build_info gauge\n");
	assert_null(strstr(text, "# UNIT"));
	assert_null(strstr(text, "# EOF"));
}

static void test_ages_are_never_negative(void **state)
{
	struct text *t = *state;

	metric_set(t->daemon.beat, NOW + 5000000000);
	has(write_text(t, METRICS_PROMETHEUS), "\nvitrine_daemon_idle_seconds 0\n");
	metric_set(t->daemon.beat, 0);
	has(write_text(t, METRICS_PROMETHEUS), "\nvitrine_daemon_idle_seconds 0\n");
}

static void test_observations_fall_into_their_buckets(void **state)
{
	struct text *t = *state;

	metric_observe(t->recorder.sync_time, METRIC_SECONDS, 0);
	metric_observe(t->recorder.sync_time, METRIC_SECONDS, 100000);
	metric_observe(t->recorder.sync_time, METRIC_SECONDS, 100001);
	metric_observe(t->recorder.sync_time, METRIC_SECONDS, 11000000000);

	const char *text = write_text(t, METRICS_OPENMETRICS);
	has(text, "\nvitrine_journal_sync_seconds_bucket{le=\"0.0001\"} 2\n");
	has(text, "\nvitrine_journal_sync_seconds_bucket{le=\"0.00025\"} 3\n");
	has(text, "\nvitrine_journal_sync_seconds_bucket{le=\"1.0\"} 3\n");
	has(text, "\nvitrine_journal_sync_seconds_bucket{le=\"10.0\"} 3\n");
	has(text, "\nvitrine_journal_sync_seconds_bucket{le=\"+Inf\"} 4\n");
	has(text, "\nvitrine_journal_sync_seconds_count 4\n");
	has(text, "\nvitrine_journal_sync_seconds_sum 11.000200001\n");
}

static void test_sinks_have_their_names(void **state)
{
	struct text *t = *state;

	strcpy(t->exporter.sinks[0].name, "siem");
	strcpy(t->exporter.sinks[0].type, "elastic");
	metric_set(t->exporter.sinks[0].cells.oldest, NOW - 60000000000);
	metric_set(&t->exporter.sinks[0].cells.state[2], 1);
	/* A page that was bent: nothing of it reaches the text, nor what is behind. */
	strcpy(t->exporter.sinks[1].name, "a\"} 1\nfake");
	strcpy(t->exporter.sinks[1].type, "file");
	strcpy(t->exporter.sinks[2].name, "later-one");
	strcpy(t->exporter.sinks[2].type, "file");

	const char *text = write_text(t, METRICS_OPENMETRICS);
	has(text, "\nvitrine_export_lag_seconds{sink=\"siem\",type=\"elastic\"} 60\n");
	has(text,
	    "\nvitrine_export_sink_state{sink=\"siem\",type=\"elastic\",state=\"waiting\"} 1\n");
	assert_null(strstr(text, "fake"));
	assert_null(strstr(text, "later-one"));
	memset(t->exporter.sinks[0].name, 'x', METRIC_NAME);
	assert_null(strstr(write_text(t, METRICS_OPENMETRICS), "xxx"));
}

static void test_what_is_not_there_is_not_told(void **state)
{
	struct text *t = *state;
	const struct metrics_source source = {.program = "vitrine-export",
					      .exporter = &t->exporter};

	assert_int_equal(metrics_write(&t->buffer, &source, METRICS_OPENMETRICS, NOW), 0);
	assert_int_equal(json_write_raw(&t->buffer, "", 1), 0);
	assert_null(strstr(t->buffer.text, "vitrine_daemon"));
	assert_null(strstr(t->buffer.text, "vitrine_journal"));
	has(t->buffer.text, "vitrine_export_cpu_seconds_total 0\n");
}

static void test_the_list_has_a_line_for_each_row(void **state)
{
	struct text *t = *state;
	size_t lines = 0;

	assert_int_equal(metrics_list(&t->buffer), 0);
	for (size_t i = 0; i < t->buffer.length; i++)
		lines += t->buffer.text[i] == '\n';
	assert_int_equal(lines, metric_count);
	assert_int_equal(json_write_raw(&t->buffer, "", 1), 0);
	has(t->buffer.text, "vitrine_lost_records_total\tcounter\t\tclass,reason\t");
	has(t->buffer.text, "vitrine_export_sink_state\tgauge\t\tsink,type,state\t");
}

/* ---- pages ---- */

static void test_a_page_is_shared_but_for_writing(void **state)
{
	struct metrics_page page, other;

	(void)state;
	assert_int_equal(metrics_page_new(4096, true, &page), 0);
	int fd = metrics_page_reader(&page);
	assert_true(fd >= 0);
	assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	assert_int_equal(metrics_page_map(fd, 4096, false, &other), 0);
	metric_set(page.cells, 42);
	assert_int_equal(metric_get(other.cells), 42);
	metrics_page_free(&other);
	assert_int_equal(metrics_page_map(fd, 8192, false, &other), -EINVAL);
	assert_int_equal(metrics_page_map(fd, 4096, true, &other), -EACCES);
	assert_true(ftruncate(page.fd, 0) < 0);
	close(fd);
	metrics_page_free(&page);
	metrics_page_free(&page);
}

static void test_what_could_shrink_is_no_page(void **state)
{
	struct metrics_page page;
	int fd = memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)state;
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(metrics_page_map(fd, 4096, false, &page), -EINVAL);
	close(fd);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(metrics_page_map(fd, 0, false, &page), -EINVAL);
	close(fd);
}

/* ---- places ---- */

static void test_only_the_host_itself_is_served(void **state)
{
	static const char *const good[] = {"unix:/run/m.sock", "127.0.0.1:9847", "127.1.2.3:1",
					   "[::1]:65535"};
	static const char *const bad[] = {"",
					  "unix:",
					  "unix:m.sock",
					  "unix:/a\nb",
					  "0.0.0.0:9847",
					  "192.168.1.1:9847",
					  "127.0.0.1",
					  "127.0.0.1:",
					  "127.0.0.1:0",
					  "127.0.0.1:65536",
					  "127.0.0.1:+1",
					  "localhost:9847",
					  "[::]:9847",
					  "[::1]",
					  ":9847",
					  "[::1]:9847x",
					  "1:2:3",
					  "[::ffff:127.0.0.1]:1"};
	char long_path[256] = "unix:/";

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!metrics_listen_is_valid(good[i]))
			fail_msg("%s was refused", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (metrics_listen_is_valid(bad[i]) || metrics_listen(bad[i]) != -EINVAL)
			fail_msg("%s was taken", bad[i]);
	memset(long_path + 6, 'a', 200);
	assert_false(metrics_listen_is_valid(long_path));
}

static void test_a_socket_file_is_the_owners_alone(void **state)
{
	char dir[] = "/tmp/vitrine-metrics-XXXXXX", place[64];
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(place, sizeof(place), "unix:%s/s", dir);
	const char *path = place + strlen("unix:");
	int fd = metrics_listen(place);
	assert_true(fd >= 0);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(metrics_listen(place), -EADDRINUSE);
	close(fd); /* as after a crash: the name stays */
	fd = metrics_listen(place);
	assert_true(fd >= 0);
	metrics_unlisten(place);
	assert_int_equal(lstat(path, &st), -1);
	close(fd);

	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(fd);
	assert_int_equal(metrics_listen(place), -EEXIST);
	assert_int_equal(lstat(path, &st), 0);
	unlink(path);
	rmdir(dir);
}

/* ---- the server ---- */

struct served {
	struct text text;
	struct metrics_source source;
	struct metrics_server *server;
};

static int start_server(void **state)
{
	struct served *s = calloc(1, sizeof(*s));
	struct metrics_server_options options = {.listen_fd = -1, .is_network = true};

	s->source = (struct metrics_source){
		.program = "vitrined", .daemon = &s->text.daemon, .recorder = &s->text.recorder};
	options.source = &s->source;
	*state = s;
	return metrics_server_new(&options, &s->server);
}

static int stop_server(void **state)
{
	struct served *s = *state;

	metrics_server_free(s->server);
	free(s);
	return 0;
}

static int connect_to(struct served *s)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
			 0);
	metrics_server_add(s->server, ends[1]);
	return ends[0];
}

/* Send @request, and read until the connection ends or nothing comes. */
static size_t ask(struct served *s, const char *request, size_t size, char *answer, size_t room)
{
	int fd = connect_to(s);
	size_t length = 0;

	assert_int_equal(send(fd, request, size, MSG_NOSIGNAL), size);
	for (int turns = 0; turns < 200; turns++) {
		metrics_server_turn(s->server);
		ssize_t n = recv(fd, answer + length, room - 1 - length, 0);
		if (n == 0)
			break;
		length += n > 0 ? (size_t)n : 0;
	}
	answer[length] = 0;
	close(fd);
	for (int turns = 0; turns < 10; turns++)
		metrics_server_turn(s->server);
	return length;
}

static void expect(struct served *s, const char *request, const char *status, const char *body)
{
	static char answer[1 << 17];

	ask(s, request, strlen(request), answer, sizeof(answer));
	if (strncmp(answer, status, strlen(status)) != 0)
		fail_msg("%s\ngot: %.200s", request, answer);
	if (body && !strstr(answer, body))
		fail_msg("no %s in: %.2000s", body, answer);
	assert_int_equal(metrics_server_connections(s->server), 0);
}

#define HOST "Host: 127.0.0.1:9847\r\n"

static void test_get_metrics_and_nothing_else(void **state)
{
	struct served *s = *state;

	expect(s, "GET /metrics HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ",
	       "vitrine_sessions_started_total 0\n");
	expect(s, "GET /metrics HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ",
	       "text/plain; version=0.0.4");
	expect(s,
	       "GET /metrics HTTP/1.1\r\n" HOST
	       "Accept: application/openmetrics-text;version=1.0.0;q=0.8\r\n\r\n",
	       "HTTP/1.1 200 ", "application/openmetrics-text; version=1.0.0");
	expect(s, "GET /metrics?a=b HTTP/1.0\r\n\r\n", "HTTP/1.1 200 ", NULL);
	expect(s, "HEAD /metrics HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ", "Connection: close");
	expect(s, "GET / HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 404 ", "only /metrics");
	expect(s, "GET /metrics/../etc HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 404 ", NULL);
	expect(s, "GET /%6detrics%00 HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 ", NULL);
	expect(s, "DELETE /metrics HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 405 ", "Allow: GET, HEAD");
	expect(s, "POST /metrics HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc", "HTTP/1.1 405 ",
	       NULL);
}

static void test_names_that_are_not_ours_are_refused(void **state)
{
	static const char *const ours[] = {"localhost", "LOCALHOST:9847", "127.0.0.1", "[::1]:9",
					   "127.9.9.9:80"};
	static const char *const others[] = {"evil.example", "localhost.evil.example",
					     "127.0.0.1.evil.example", "127.evil", "[::2]"};
	char request[256];

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		snprintf(request, sizeof(request), "GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n",
			 ours[i]);
		expect(*state, request, "HTTP/1.1 200 ", NULL);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		snprintf(request, sizeof(request), "GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n",
			 others[i]);
		expect(*state, request, "HTTP/1.1 403 ", NULL);
	}
}

static void test_nonsense_ends_its_own_connection(void **state)
{
	struct served *s = *state;
	char answer[8192], request[METRICS_MEMORY + 4096];

	expect(s, "\r\n\r\n\r\nnonsense\r\n\r\n", "", NULL);
	expect(s, "GET /metrics SMTP/1.1\r\n" HOST "\r\n", "", NULL);
	expect(s, "GET /metrics HTTP/9.9\r\n" HOST "\r\n", "HTTP/1.1 505", NULL);

	/* A head that is longer than there is memory. */
	size_t length = (size_t)snprintf(request, sizeof(request), "GET /metrics HTTP/1.1\r\nA: ");
	memset(request + length, 'a', sizeof(request) - length);
	ask(s, request, sizeof(request), answer, sizeof(answer));
	assert_memory_equal(answer, "HTTP/1.1 4", 10);
	assert_int_equal(metrics_server_connections(s->server), 0);
	expect(s, "GET /metrics HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ", NULL);
}

static void test_who_dawdles_is_cut_off(void **state)
{
	struct served *s = *state;
	int fds[METRICS_CONNECTIONS + 4];

	/* More than there may be, each with half a request. */
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		fds[i] = connect_to(s);
		assert_true(send(fds[i], "GET /met", 8, MSG_NOSIGNAL) == 8 || errno == EPIPE);
		metrics_server_turn(s->server);
	}
	assert_int_equal(metrics_server_connections(s->server), METRICS_CONNECTIONS);
	metrics_server_sweep(s->server, 0);
	metrics_server_turn(s->server);
	assert_int_equal(metrics_server_connections(s->server), METRICS_CONNECTIONS);
	metrics_server_sweep(s->server, UINT64_MAX / 2);
	for (int turns = 0; turns < 50 && metrics_server_connections(s->server); turns++)
		metrics_server_turn(s->server);
	assert_int_equal(metrics_server_connections(s->server), 0);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		close(fds[i]);
	expect(s, "GET /metrics HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ", NULL);
}

/* It has its answer in its own memory, and holds up nobody. */
static void test_who_does_not_read_waits_alone(void **state)
{
	struct served *s = *state;
	static const char request[] = "GET /metrics HTTP/1.1\r\n" HOST "\r\n";
	int small = 1, fd = connect_to(s);

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	for (int turns = 0; turns < 20; turns++)
		metrics_server_turn(s->server);
	int other = connect_to(s);
	char answer[16] = "";
	assert_int_equal(send(other, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	for (int turns = 0; turns < 100 && recv(other, answer, 12, MSG_PEEK) < 12; turns++)
		metrics_server_turn(s->server);
	assert_int_equal(recv(other, answer, 12, 0), 12);
	assert_memory_equal(answer, "HTTP/1.1 200", 12);
	close(other);
	close(fd);
}

int main(void)
{
#define TEXT(test) cmocka_unit_test_setup_teardown(test, make_text, free_text)
#define SERVED(test) cmocka_unit_test_setup_teardown(test, start_server, stop_server)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_keep_the_rules_of_openmetrics),
		cmocka_unit_test(test_labels_are_those_of_the_rest),
		cmocka_unit_test(test_a_loss_is_counted_where_its_reason_is_told),
		TEXT(test_cells_become_numbers),
		TEXT(test_ages_are_never_negative),
		TEXT(test_observations_fall_into_their_buckets),
		TEXT(test_sinks_have_their_names),
		TEXT(test_what_is_not_there_is_not_told),
		TEXT(test_the_list_has_a_line_for_each_row),
		cmocka_unit_test(test_a_page_is_shared_but_for_writing),
		cmocka_unit_test(test_what_could_shrink_is_no_page),
		cmocka_unit_test(test_only_the_host_itself_is_served),
		cmocka_unit_test(test_a_socket_file_is_the_owners_alone),
		SERVED(test_get_metrics_and_nothing_else),
		SERVED(test_names_that_are_not_ours_are_refused),
		SERVED(test_nonsense_ends_its_own_connection),
		SERVED(test_who_dawdles_is_cut_off),
		SERVED(test_who_does_not_read_waits_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
