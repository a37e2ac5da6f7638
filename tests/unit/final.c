/* The final tree as it is told to the recorder, by who is honest and by who is not. */
#include "recorder_world.h"

#include "../../supervisor/capture/final_wire.h"

#include <sys/socket.h>

/* A session whose processes are dead; the end at which vitrine-final would be. */
static int begin_look(struct recorder_world *w)
{
	int pair[2];

	start(w);
	open_session(w, "freeze");
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ask(w, json_pack("{s:s, s:s, s:i}", "request", "look", "session", SESSION, "seconds", 60),
	    "final", pair[0], NULL);
	close(pair[0]);
	return pair[1];
}

static void tell(int fd, enum final_kind kind, enum final_change change, const char *name)
{
	struct {
		struct final_packet head;
		char name[512];
	} packet = {.head = {
			    .kind = kind,
			    .change = change,
			    .dev = 42,
			    .ino = 7,
			    .now = {.mode = 0100644, .size = 3, .unhashed = FINAL_SECRET},
			    .name_size = (uint32_t)strlen(name),
		    }};

	memcpy(packet.name, name, strlen(name));
	assert_true(send(fd, &packet, sizeof(packet.head) + strlen(name), 0) > 0);
}

static void tell_walked(int fd)
{
	struct {
		struct final_packet head;
		struct final_totals totals;
	} packet = {.head = {.kind = FINAL_WALKED}, .totals = {.found = 1}};

	assert_int_equal(send(fd, &packet, sizeof(packet), 0), sizeof(packet));
}

static const char *end_says(struct recorder_world *w, enum event_field field)
{
	read_journal(w, field);
	assert_int_equal(w->events[w->count - 1].kind, EVENT_session_end);
	return text_of(w, EVENT_session_end);
}

static void what_is_told_is_recorded(void **state)
{
	struct recorder_world *w = *state;
	cleanup(close_fd) int fd = begin_look(w);

	tell(fd, FINAL_ENTER, 0, "tmp");
	tell(fd, FINAL_FOUND, FINAL_CREATED, "new\nline");
	tell(fd, FINAL_LEAVE, 0, "");
	tell_walked(fd);
	json_decref(close_session(w));
	assert_string_equal(end_says(w, FIELD_final),
			    "{\"state\":\"whole\",\"found\":1,\"bytes\":0}");
	assert_string_equal(
		end_says(w, FIELD_unexplained),
		"{\"count\":1,\"names\":[{\"path\":\"/tmp/new\\nline\",\"why\":\"no_record\"}]}");
	read_journal(w, FIELD_path);
	assert_string_equal(text_of(w, EVENT_file_final), "/tmp/new\nline");
	read_journal(w, FIELD_unhashed);
	assert_string_equal(text_of(w, EVENT_file_final), "secret");
	assert_int_equal(find_kind(w, EVENT_file_final), w->count - 2);
}

/* The end of the record waits for it, and other requests do not. */
static void the_end_waits_for_it(void **state)
{
	struct recorder_world *w = *state;
	cleanup(close_fd) int fd = begin_look(w);

	ask(w,
	    json_pack("{s:s, s:s, s:{s:s}}", "request", "close", "session", SESSION, "fields",
		      "reason", "exit"),
	    NULL);
	ask(w,
	    json_pack("{s:s, s:s, s:{s:s}}", "request", "close", "session", SESSION, "fields",
		      "reason", "exit"),
	    NULL);
	expect_refusal(w, "closed", EALREADY);
	tell(fd, FINAL_FOUND, FINAL_DELETED, "srv");
	tell_walked(fd);
	json_decref(expect_reply(w, "closing"));
	json_decref(expect_reply(w, "closed"));
	assert_non_null(strstr(end_says(w, FIELD_final), "whole"));
	assert_int_equal(count_kind(w, EVENT_file_final), 1);
}

static void an_untouched_tree_is_whole(void **state)
{
	struct recorder_world *w = *state;

	start(w);
	open_session(w, "freeze");
	ask(w, json_pack("{s:s, s:s}", "request", "look", "session", SESSION), NULL);
	json_decref(close_with(w, true));
	assert_string_equal(end_says(w, FIELD_final),
			    "{\"state\":\"whole\",\"found\":0,\"bytes\":0}");
	assert_string_equal(end_says(w, FIELD_unexplained), "{\"count\":0}");
}

/* Nor for ever: who closes the socket, or talks nonsense, is not waited for. */
static void expect_failed(struct recorder_world *w, int fd)
{
	close(fd);
	json_decref(close_session(w));
	assert_non_null(strstr(end_says(w, FIELD_final), "\"state\":\"failed\""));
	read_journal(w, FIELD_unexplained);
	assert_null(event_get(&w->events[w->count - 1], FIELD_unexplained));
}

static void nobody_tells(void **state)
{
	expect_failed(*state, begin_look(*state));
}

static void it_breaks_off(void **state)
{
	int fd = begin_look(*state);

	tell(fd, FINAL_ENTER, 0, "tmp");
	tell(fd, FINAL_FOUND, FINAL_CREATED, "f");
	expect_failed(*state, fd);
}

static void it_leaves_the_root(void **state)
{
	int fd = begin_look(*state);

	tell(fd, FINAL_LEAVE, 0, "");
	expect_failed(*state, fd);
}

static void its_packets_are_cut(void **state)
{
	struct final_packet head = {.kind = FINAL_FOUND, .name_size = 1000};
	int fd = begin_look(*state);

	assert_true(send(fd, &head, sizeof(head), 0) > 0);
	expect_failed(*state, fd);
}

static void its_totals_are_cut(void **state)
{
	struct final_packet head = {.kind = FINAL_WALKED};
	int fd = begin_look(*state);

	assert_true(send(fd, &head, sizeof(head), 0) > 0);
	expect_failed(*state, fd);
}

static void its_words_are_none(void **state)
{
	int fd = begin_look(*state);

	tell(fd, 77, 0, "x");
	expect_failed(*state, fd);
}

static void a_long_path_is_cut_in_front(void **state)
{
	struct recorder_world *w = *state;
	cleanup(close_fd) int fd = begin_look(w);
	char name[256];

	memset(name, 'n', sizeof(name));
	name[255] = 0;
	for (int i = 0; i < 100; i++)
		tell(fd, FINAL_ENTER, 0, name);
	tell(fd, FINAL_FOUND, FINAL_CREATED, "last");
	tell_walked(fd);
	json_decref(close_session(w));
	read_journal(w, FIELD_path);
	const struct event *e = &w->events[find_kind(w, EVENT_file_final)];
	const struct event_value *path = event_get(e, FIELD_path);
	assert_true(path->is_cut);
	assert_int_equal(path->cut.full_length, 100 * 256 + 5);
	const char *text = text_of(w, EVENT_file_final);
	assert_string_equal(text + strlen(text) - 5, "/last");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(what_is_told_is_recorded),
		TEST(the_end_waits_for_it),
		TEST(an_untouched_tree_is_whole),
		TEST(nobody_tells),
		TEST(it_breaks_off),
		TEST(it_leaves_the_root),
		TEST(its_packets_are_cut),
		TEST(its_totals_are_cut),
		TEST(its_words_are_none),
		TEST(a_long_path_is_cut_in_front),
	};

	return cmocka_run_group_tests(all, NULL, NULL);
}
