/*
 * Events of fanotify joined to acts. The events are made here, and vitrine-names is played by a
 * thread that knows three directories: the root, "tmp" in it, and "old" in "tmp".
 */
#include "../../supervisor/capture/names.h"
#include "../../supervisor/capture/names_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define TID 77

struct fixture {
	struct names *names;
	int events; /* where events are written */
	int events_read;
	int sockets[2];
	pthread_t server;
	uint32_t sequence;
};

/* ---- vitrine-names ---- */

static const struct {
	const char *handle, *name, *parent;
} known[] = {{"root", "", NULL}, {"tmp", "tmp", "root"}, {"old", "old", "tmp"}};

static size_t add_step(uint8_t *reply, size_t used, const char *handle, const char *name)
{
	struct names_step step = {1, strlen(handle), strlen(name)};

	memcpy(reply + used, &step, sizeof(step));
	used += sizeof(step);
	memcpy(reply + used, handle, step.handle_size);
	memcpy(reply + used + step.handle_size, name, step.name_size);
	return used + step.handle_size + step.name_size;
}

static size_t answer(const struct names_request *request, uint8_t *reply)
{
	struct names_reply head = {.id = request->id};
	const char *at = request->kind == NAMES_ADD ? "root" : NULL;
	size_t used = sizeof(head), count = sizeof(known) / sizeof(known[0]);

	for (size_t i = 0; i < count && !at; i++)
		if (request->handle.size == strlen(known[i].handle) &&
		    !memcmp(request->handle.bytes, known[i].handle, request->handle.size))
			at = known[i].handle;
	head.error = at ? 0 : -ESTALE;
	for (size_t i = count; at && i-- > 0;)
		if (strcmp(known[i].handle, at) == 0) {
			used = add_step(reply, used, at, known[i].name);
			at = known[i].parent;
			head.steps++;
		}
	memcpy(reply, &head, sizeof(head));
	return used;
}

static void *serve(void *context)
{
	int socket = *(int *)context;
	struct names_request request;
	static uint8_t reply[4096];

	while (recv(socket, &request, sizeof(request), 0) == sizeof(request))
		send(socket, reply, answer(&request, reply), MSG_NOSIGNAL);
	return NULL;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int ends[2];

	assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	f->events_read = ends[0];
	f->events = ends[1];
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, f->sockets), 0);
	pthread_create(&f->server, NULL, serve, &f->sockets[1]);
	const struct names_options options = {
		.fanotify_fd = f->events_read,
		.names_fd = f->sockets[0],
		.root_mount_fd = f->events_read,
	};
	assert_int_equal(names_new(&options, &f->names), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	names_free(f->names);
	close(f->events);
	close(f->events_read);
	close(f->sockets[0]);
	pthread_join(f->server, NULL);
	close(f->sockets[1]);
	free(f);
	return 0;
}

/* ---- events ---- */

static size_t add_info(uint8_t *event, size_t used, uint8_t type, const char *handle,
		       const char *name)
{
	struct fanotify_event_info_fid fid = {.hdr.info_type = type};
	struct file_handle head = {.handle_bytes = strlen(handle), .handle_type = 1};
	size_t size = sizeof(fid) + sizeof(head) + head.handle_bytes;

	if (name)
		size += strlen(name) + 1;
	fid.hdr.len = (size + 3) & ~3u;
	memcpy(event + used, &fid, sizeof(fid));
	memcpy(event + used + sizeof(fid), &head, sizeof(head));
	memcpy(event + used + sizeof(fid) + sizeof(head), handle, head.handle_bytes);
	if (name)
		memcpy(event + used + size - strlen(name) - 1, name, strlen(name) + 1);
	return used + fid.hdr.len;
}

static void write_event(struct fixture *f, uint64_t mask, int tid, uint8_t *event, size_t size)
{
	struct fanotify_event_metadata meta = {
		.event_len = size,
		.vers = FANOTIFY_METADATA_VERSION,
		.metadata_len = sizeof(meta),
		.mask = mask,
		.fd = FAN_NOFD,
		.pid = tid,
	};

	memcpy(event, &meta, sizeof(meta));
	assert_int_equal(write(f->events, event, size), size);
}

static void tell(struct fixture *f, uint64_t mask, const char *directory, const char *name,
		 const char *child)
{
	uint8_t event[2048] = {0};
	size_t used = sizeof(struct fanotify_event_metadata);

	if (name)
		used = add_info(event, used, FAN_EVENT_INFO_TYPE_DFID_NAME, directory, name);
	if (child)
		used = add_info(event, used, FAN_EVENT_INFO_TYPE_FID, child, NULL);
	write_event(f, mask, TID, event, used);
}

static void tell_rename(struct fixture *f, uint64_t mask, const char *from, const char *name,
			const char *to, const char *new_name, const char *child)
{
	uint8_t event[2048] = {0};
	size_t used = sizeof(struct fanotify_event_metadata);

	used = add_info(event, used, FAN_EVENT_INFO_TYPE_OLD_DFID_NAME, from, name);
	used = add_info(event, used, FAN_EVENT_INFO_TYPE_NEW_DFID_NAME, to, new_name);
	used = add_info(event, used, FAN_EVENT_INFO_TYPE_FID, child, NULL);
	write_event(f, mask | FAN_RENAME, TID, event, used);
}

static void take(struct fixture *f)
{
	assert_int_equal(names_take(f->names), 0);
}

/* ---- acts ---- */

static struct bytes text(const char *s)
{
	return (struct bytes){s, strlen(s)};
}

static uint32_t next_of(struct fixture *f, enum names_act act)
{
	return act == NAMES_UNLINK || act == NAMES_RMDIR || act == NAMES_RENAME ? ++f->sequence : 0;
}

/* The act that was given @given is found to be @path; NULL: it cannot be told. */
static void expect(struct fixture *f, enum names_act act, const char *given, const char *path)
{
	struct names_query query = {
		.tid = TID, .act = act, .sequence = next_of(f, act), .path = text(given)};
	struct names_answer found;

	if (!path) {
		assert_false(names_find(f->names, &query, &found));
		return;
	}
	assert_true(names_find(f->names, &query, &found));
	assert_int_equal(found.path.size, strlen(path));
	assert_memory_equal(found.path.data, path, found.path.size);
}

static void expect_move(struct fixture *f, const char *given, const char *new_given,
			const char *path, const char *target, bool exchange)
{
	struct names_query query = {
		.tid = TID,
		.act = NAMES_RENAME,
		.sequence = next_of(f, NAMES_RENAME),
		.path = text(given),
		.target = text(new_given),
		.exchange = exchange,
	};
	struct names_answer found;

	assert_true(names_find(f->names, &query, &found));
	assert_int_equal(found.path.size, strlen(path));
	assert_memory_equal(found.path.data, path, found.path.size);
	assert_int_equal(found.target.size, strlen(target));
	assert_memory_equal(found.target.data, target, found.target.size);
}

/* ---- tests ---- */

static void finds_plain_acts(void **state)
{
	struct fixture *f = *state;

	tell(f, FAN_CREATE, "tmp", "a", "1");
	tell(f, FAN_CREATE | FAN_ONDIR, "old", "d", "2");
	tell(f, FAN_ATTRIB, "root", "b", "3");
	tell(f, FAN_DELETE, "tmp", "a", "1");
	tell(f, FAN_DELETE | FAN_ONDIR, "old", "d", NULL);
	take(f);
	expect(f, NAMES_CREATE, "/tmp/a", "/tmp/a");
	expect(f, NAMES_MKDIR, "/tmp/old/d", "/tmp/old/d");
	expect(f, NAMES_CHANGE, "/b", "/b");
	expect(f, NAMES_UNLINK, "/tmp/a", "/tmp/a");
	expect(f, NAMES_RMDIR, "/tmp/old/d", "/tmp/old/d");
	expect(f, NAMES_UNLINK, "/tmp/a", NULL); /* each event once */
}

static void tells_threads_apart(void **state)
{
	struct fixture *f = *state;
	struct names_query query = {
		.tid = TID + 1024, .act = NAMES_UNLINK, .sequence = 1, .path = text("/tmp/a")};
	struct names_answer found;

	tell(f, FAN_DELETE, "tmp", "a", "1");
	take(f);
	assert_false(names_find(f->names, &query, &found));
	expect(f, NAMES_UNLINK, "/tmp/a", "/tmp/a");
}

/* Whatever the call seems to have been given. */
static void believes_the_order_of_removals(void **state)
{
	struct fixture *f = *state;

	tell(f, FAN_DELETE, "tmp", "a", "1");
	tell(f, FAN_DELETE, "tmp", "b", "2");
	tell(f, FAN_DELETE, "tmp", "c", "3");
	take(f);
	expect(f, NAMES_UNLINK, "/tmp/forged", "/tmp/a");
	expect(f, NAMES_UNLINK, "/tmp/c", "/tmp/b");
	expect(f, NAMES_UNLINK, "/tmp/forged", "/tmp/c");
}

/* Made and removed in one batch is one event, which says nothing about the order. */
static void takes_merged_events_apart(void **state)
{
	struct fixture *f = *state;

	tell(f, FAN_CREATE | FAN_DELETE, "tmp", "a", "1");
	tell(f, FAN_CREATE | FAN_DELETE, "tmp", "b", "2");
	take(f);
	names_skip(f->names, TID, NAMES_CREATE, text("/tmp/a"));
	names_skip(f->names, TID, NAMES_CREATE, text("/tmp/b"));
	expect(f, NAMES_UNLINK, "/tmp/b", "/tmp/b");
	expect(f, NAMES_UNLINK, "/tmp/forged", "/tmp/a");
}

static void does_not_guess_between_merged_events(void **state)
{
	struct fixture *f = *state;

	tell(f, FAN_CREATE | FAN_DELETE, "tmp", "a", "1");
	tell(f, FAN_CREATE | FAN_DELETE, "tmp", "b", "2");
	take(f);
	names_skip(f->names, TID, NAMES_CREATE, text("/tmp/a"));
	names_skip(f->names, TID, NAMES_CREATE, text("/tmp/b"));
	expect(f, NAMES_UNLINK, "/tmp/forged", NULL);
	expect(f, NAMES_UNLINK, "/tmp/b", "/tmp/b");
}

/* A file is removed before the next one is made: only one can be meant. */
static void knows_what_is_not_due(void **state)
{
	struct fixture *f = *state;

	tell(f, FAN_CREATE | FAN_DELETE, "tmp", "a", "1");
	tell(f, FAN_CREATE | FAN_DELETE, "tmp", "b", "2");
	take(f);
	names_skip(f->names, TID, NAMES_CREATE, text("/tmp/a"));
	expect(f, NAMES_UNLINK, "/tmp/forged", "/tmp/a");
	names_skip(f->names, TID, NAMES_CREATE, text("/tmp/b"));
	expect(f, NAMES_UNLINK, "/tmp/forged", "/tmp/b");
}

/* One event, several acts. */
static void repeats_what_is_merged(void **state)
{
	struct fixture *f = *state;

	tell(f, FAN_ATTRIB, "tmp", "a", "1");
	take(f);
	expect(f, NAMES_CHANGE, "/tmp/a", "/tmp/a");
	expect(f, NAMES_CHANGE, "/tmp/a", "/tmp/a");
	expect(f, NAMES_CHANGE, "/tmp/b", NULL);
	take(f);
	take(f);
	expect(f, NAMES_CHANGE, "/tmp/a", NULL); /* it was read long ago */
}

/* A repeated change may hide another one. */
static void does_not_repeat_while_others_are_open(void **state)
{
	struct fixture *f = *state;

	tell(f, FAN_ATTRIB, "tmp", "a", "1");
	tell(f, FAN_ATTRIB, "tmp", "z", "2");
	take(f);
	expect(f, NAMES_CHANGE, "/tmp/a", "/tmp/a");
	expect(f, NAMES_CHANGE, "/tmp/a", NULL);
	expect(f, NAMES_CHANGE, "/tmp/z", "/tmp/z");
}

/* A record of this thread is missing: the order proves nothing, until names agree again. */
static void mistrusts_the_order_after_a_gap(void **state)
{
	struct fixture *f = *state;

	tell(f, FAN_DELETE, "tmp", "a", "1");
	tell(f, FAN_DELETE, "tmp", "b", "2");
	tell(f, FAN_DELETE, "tmp", "c", "3");
	tell(f, FAN_DELETE, "tmp", "d", "4");
	take(f);
	expect(f, NAMES_UNLINK, "/tmp/a", "/tmp/a");
	f->sequence++; /* the record of b is lost */
	expect(f, NAMES_UNLINK, "/tmp/c", "/tmp/c");
	expect(f, NAMES_UNLINK, "/tmp/forged", "/tmp/d");

	tell(f, FAN_DELETE, "tmp", "e", "5");
	tell(f, FAN_DELETE, "tmp", "f", "6");
	take(f);
	f->sequence++;
	expect(f, NAMES_UNLINK, "/tmp/forged", NULL);
}

/* The caller's names decide nothing for a directory that no event is of. */
static void leaves_unwatched_places_alone(void **state)
{
	struct fixture *f = *state;

	tell(f, FAN_DELETE, "tmp", "a", "1");
	take(f);
	expect(f, NAMES_UNLINK, "/workspace/a", NULL);
	expect(f, NAMES_UNLINK, "/tmp/a", "/tmp/a");
}

static void follows_moved_directories(void **state)
{
	struct fixture *f = *state;

	tell(f, FAN_CREATE | FAN_ONDIR, "tmp", "d", "D");
	tell(f, FAN_CREATE, "D", "x", "1");
	tell_rename(f, FAN_ONDIR, "tmp", "d", "old", "e", "D");
	tell(f, FAN_CREATE, "D", "y", "2");
	take(f);
	expect(f, NAMES_CREATE, "/tmp/d/x", "/tmp/d/x");
	expect_move(f, "/tmp/d", "/tmp/old/e", "/tmp/d", "/tmp/old/e", false);
	expect(f, NAMES_CREATE, "/tmp/old/e/y", "/tmp/old/e/y");
}

/* vitrine-names says where "old" is now; where it was before says the event behind. */
static void looks_back_before_a_move(void **state)
{
	struct fixture *f = *state;

	tell(f, FAN_DELETE, "old", "x", "1");
	tell_rename(f, FAN_ONDIR, "root", "before", "tmp", "old", "old");
	tell(f, FAN_DELETE, "old", "y", "2");
	take(f);
	expect(f, NAMES_UNLINK, "/before/x", "/before/x");
	expect_move(f, "/before", "/tmp/old", "/before", "/tmp/old", false);
	expect(f, NAMES_UNLINK, "/tmp/old/y", "/tmp/old/y");
}

/* Nobody can look up a directory that is gone; its own removal tells where it was. */
static void knows_removed_directories(void **state)
{
	struct fixture *f = *state;

	tell(f, FAN_DELETE, "gone", "x", "1");
	tell(f, FAN_DELETE | FAN_ONDIR, "tmp", "d", "gone");
	take(f);
	expect(f, NAMES_UNLINK, "/tmp/d/x", "/tmp/d/x");
	expect(f, NAMES_RMDIR, "/tmp/d", "/tmp/d");

	tell(f, FAN_DELETE, "unknown", "x", "1");
	take(f);
	expect(f, NAMES_UNLINK, "/tmp/x", NULL);
}

/* The removal was merged into the making, but came after the move of the directory. */
static void tells_merged_acts_across_a_move(void **state)
{
	struct fixture *f = *state;

	tell(f, FAN_CREATE | FAN_ONDIR, "tmp", "d", "D");
	tell(f, FAN_CREATE | FAN_DELETE, "D", "x", "1");
	tell_rename(f, FAN_ONDIR, "tmp", "d", "tmp", "e", "D");
	take(f);
	names_skip(f->names, TID, NAMES_CREATE, text("/tmp/d/x"));
	expect_move(f, "/tmp/d", "/tmp/e", "/tmp/d", "/tmp/e", false);
	expect(f, NAMES_UNLINK, "/tmp/e/x", "/tmp/e/x");
}

static void takes_both_ways_of_an_exchange(void **state)
{
	struct fixture *f = *state;

	tell_rename(f, 0, "tmp", "a", "tmp", "b", "1");
	tell_rename(f, 0, "tmp", "b", "tmp", "a", "2");
	tell_rename(f, 0, "tmp", "c", "tmp", "d", "3");
	take(f);
	expect_move(f, "/tmp/a", "/tmp/b", "/tmp/a", "/tmp/b", true);
	expect_move(f, "/tmp/c", "/tmp/d", "/tmp/c", "/tmp/d", false);
}

static void says_that_events_were_dropped(void **state)
{
	struct fixture *f = *state;

	tell(f, FAN_DELETE, "tmp", "a", "1");
	tell(f, FAN_Q_OVERFLOW, NULL, NULL, NULL);
	assert_int_equal(names_take(f->names), -EOVERFLOW);
	expect(f, NAMES_UNLINK, "/tmp/a", NULL);
	assert_int_equal(names_counts(f->names).overflows, 1);

	tell(f, FAN_DELETE, "tmp", "b", "2");
	take(f);
	expect(f, NAMES_UNLINK, "/tmp/b", "/tmp/b");
}

/* Events of an object alone (a count of links), and what makes no sense. */
static void ignores_events_without_a_name(void **state)
{
	struct fixture *f = *state;
	uint8_t event[64] = {0};
	size_t head = sizeof(struct fanotify_event_metadata);

	tell(f, FAN_ATTRIB, NULL, NULL, "1");
	event[head] = FAN_EVENT_INFO_TYPE_DFID_NAME;
	event[head + 2] = 200; /* longer than the event */
	write_event(f, FAN_DELETE, TID, event, head + 8);
	event[head + 2] = 8; /* too short for a handle */
	write_event(f, FAN_DELETE, TID, event, head + 8);
	event[head + 2] = 0;
	write_event(f, FAN_DELETE, TID, event, head + 8);
	take(f);
	assert_int_equal(names_counts(f->names).events, 0);
	expect(f, NAMES_CHANGE, "/tmp/a", NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(finds_plain_acts),
		TEST(tells_threads_apart),
		TEST(believes_the_order_of_removals),
		TEST(takes_merged_events_apart),
		TEST(does_not_guess_between_merged_events),
		TEST(knows_what_is_not_due),
		TEST(repeats_what_is_merged),
		TEST(does_not_repeat_while_others_are_open),
		TEST(mistrusts_the_order_after_a_gap),
		TEST(leaves_unwatched_places_alone),
		TEST(follows_moved_directories),
		TEST(looks_back_before_a_move),
		TEST(knows_removed_directories),
		TEST(tells_merged_acts_across_a_move),
		TEST(takes_both_ways_of_an_exchange),
		TEST(says_that_events_were_dropped),
		TEST(ignores_events_without_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
