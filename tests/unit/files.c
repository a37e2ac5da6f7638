/* Wire records of files as events, without fanotify: paths of calls are what they were given. */
#include "../../supervisor/capture/files.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#define SLOT 3
#define TAIL(text)                                                                                 \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}
/* Components: the last NUL is that of the literal. */
#define PATH(text)                                                                                 \
	{                                                                                          \
		text, sizeof(text)                                                                 \
	}

struct fixture {
	struct capture *capture;
	struct event event; /* the last that was emitted */
	size_t count;
};

static int on_event(void *context, struct event *e)
{
	struct fixture *f = context;

	f->event = *e;
	f->count++;
	return 0;
}

static const char *const watched[] = {"/workspace/**", "**/.env", "/usr/share/secret/*", NULL};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct capture_options options = {
		.session = "0123456789ab",
		.slot = SLOT,
		.names_fd = -1,
		.fanotify_fd = -1,
		.root_mount_fd = -1,
		.watch_reads = watched,
		.emit = on_event,
		.emit_context = f,
	};

	assert_int_equal(capture_new(&options, &f->capture), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	capture_free(f->capture);
	free(f);
	return 0;
}

/* ---- records ---- */

/* Put the tails behind the fixed part, decode the whole and translate it. */
static int translate(struct fixture *f, void *fixed, enum wire_kind kind, const struct bytes *tails)
{
	const struct wire_info *info = wire_info(kind);
	struct wire_record record;
	struct wire_head *head = fixed;
	uint8_t *data = malloc(WIRE_LENGTH_MAX);
	size_t used = info->fixed_size;
	const char *why;

	head->kind = kind;
	head->class = WIRE_CLASS_file;
	head->pid = head->tid = 100;
	for (size_t i = 0; i < info->tail_count; i++) {
		uint32_t size = tails[i].size;

		memcpy((uint8_t *)fixed + info->tail_offsets[i], &size, sizeof(size));
		if (size)
			memcpy(data + used, tails[i].data, size);
		used += size;
	}
	head->length = used;
	memcpy(data, fixed, info->fixed_size);
	assert_int_equal(wire_decode(data, used, &record, &why), 0);
	int r = capture_record(f->capture, &record);
	/* The event points into the record: it is looked at while that is there. */
	static uint8_t *kept;
	free(kept);
	kept = data;
	return r;
}

static void expect_text(struct fixture *f, enum event_field field, const char *text)
{
	struct bytes got = event_bytes(&f->event, field);

	if (!text) {
		assert_null(event_get(&f->event, field));
		return;
	}
	assert_non_null(got.data);
	if (got.size != strlen(text) || memcmp(got.data, text, got.size) != 0)
		fail_msg("%s: %.*s is not %s", field_table[field].name, (int)got.size,
			 (const char *)got.data, text);
}

/* Items with commas between them. */
static void expect_words(struct fixture *f, enum event_field field, const char *words)
{
	char joined[512] = "";
	struct bytes item;
	size_t cursor = 0;

	while (bytes_next_item(event_bytes(&f->event, field), &cursor, &item))
		snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%.*s",
			 joined[0] ? "," : "", (int)item.size, (const char *)item.data);
	assert_string_equal(joined, words);
}

static void expect_number(struct fixture *f, enum event_field field, uint64_t value)
{
	assert_non_null(event_get(&f->event, field));
	assert_int_equal(event_u64(&f->event, field, 0), value);
}

static void expect_absent(struct fixture *f, enum event_field field)
{
	assert_null(event_get(&f->event, field));
}

/* ---- open and modify ---- */

static struct wire_file_open an_open(uint64_t file_id, uint32_t flags)
{
	return (struct wire_file_open){
		.file_id = file_id,
		.dev = 8 << 20 | 1,
		.ino = 42,
		.size = 7,
		.flags = flags,
		.mode = S_IFREG | 0640,
	};
}

static void tells_an_open_for_writing(void **state)
{
	struct fixture *f = *state;
	struct wire_file_open wire = an_open(1, O_WRONLY | O_APPEND | O_CLOEXEC | O_SYNC);
	const struct bytes tails[] = {PATH("f\0tmp"), {0}, TAIL("../tmp/f")};

	assert_int_equal(translate(f, &wire, WIRE_KIND_file_open, tails), 0);
	assert_int_equal(f->event.kind, EVENT_file_open);
	expect_text(f, FIELD_path, "/tmp/f");
	expect_text(f, FIELD_path_source, "kernel");
	expect_text(f, FIELD_requested, "../tmp/f");
	expect_words(f, FIELD_flags, "O_WRONLY,O_APPEND,O_SYNC,O_CLOEXEC");
	expect_number(f, FIELD_dev, makedev(8, 1));
	expect_number(f, FIELD_ino, 42);
	expect_number(f, FIELD_size, 7);
	expect_text(f, FIELD_file_type, "regular");
	expect_absent(f, FIELD_deleted);
}

static void tells_a_new_file(void **state)
{
	struct fixture *f = *state;
	struct wire_file_open wire = an_open(1, O_RDWR | O_CREAT | O_EXCL);
	const struct bytes tails[] = {PATH("f\0tmp"), {0}, {0}};

	wire.state = FILE_OPEN_CREATED;
	assert_int_equal(translate(f, &wire, WIRE_KIND_file_open, tails), 0);
	assert_int_equal(f->event.kind, EVENT_file_create);
	expect_words(f, FIELD_flags, "O_RDWR,O_CREAT,O_EXCL");
	expect_number(f, FIELD_mode, 0640);
	expect_absent(f, FIELD_requested);
}

static void tells_an_unnamed_file(void **state)
{
	struct fixture *f = *state;
	struct wire_file_open wire = an_open(1, O_RDWR | O_TMPFILE);
	const struct bytes tails[] = {PATH("#42\0tmp"), {0}, TAIL("/tmp")};

	wire.state = FILE_OPEN_CREATED;
	wire.path_flags = PATH_DELETED;
	assert_int_equal(translate(f, &wire, WIRE_KIND_file_open, tails), 0);
	assert_int_equal(f->event.kind, EVENT_file_create);
	expect_words(f, FIELD_flags, "O_RDWR,O_TMPFILE");
	expect_number(f, FIELD_deleted, true);
}

static void leaves_unwatched_reads_out(void **state)
{
	struct fixture *f = *state;
	struct wire_file_open wire = an_open(0, O_RDONLY | O_NONBLOCK);
	const struct bytes other[] = {PATH("f\0tmp"), {0}, {0}};
	const struct bytes env[] = {PATH(".env\0tmp"), {0}, {0}};
	const struct bytes below[] = {PATH(".env\0lib\0usr"), {0}, {0}};
	const struct bytes named[] = {PATH("x\0secret\0share\0usr"), {0}, {0}};

	assert_int_equal(translate(f, &wire, WIRE_KIND_file_open, other), 0);
	assert_int_equal(translate(f, &wire, WIRE_KIND_file_open, below), 0);
	assert_int_equal(f->count, 0);
	assert_int_equal(f->capture->filtered[WIRE_CLASS_file], 2);

	assert_int_equal(translate(f, &wire, WIRE_KIND_file_open, env), 0);
	assert_int_equal(f->event.kind, EVENT_file_read);
	expect_text(f, FIELD_path, "/tmp/.env");
	expect_words(f, FIELD_flags, "O_RDONLY,O_NONBLOCK");
	assert_int_equal(translate(f, &wire, WIRE_KIND_file_open, named), 0);
	assert_int_equal(f->count, 2);
	assert_int_equal(f->capture->filtered[WIRE_CLASS_file], 2);
}

/* An open for reading that empties the file is no read. */
static void never_leaves_a_truncation_out(void **state)
{
	struct fixture *f = *state;
	struct wire_file_open wire = an_open(1, O_RDONLY | O_TRUNC);
	const struct bytes tails[] = {PATH("f\0tmp"), {0}, {0}};

	assert_int_equal(translate(f, &wire, WIRE_KIND_file_open, tails), 0);
	assert_int_equal(f->event.kind, EVENT_file_open);
	expect_words(f, FIELD_flags, "O_RDONLY,O_TRUNC");
}

/* The descriptor led elsewhere by the time of the record. */
static void marks_an_open_that_was_not_seen(void **state)
{
	struct fixture *f = *state;
	struct wire_file_open wire = {.flags = O_WRONLY, .state = FILE_OPEN_UNSEEN};
	const struct bytes tails[] = {{0}, PATH("tmp"), TAIL("./a//../f")};

	assert_int_equal(translate(f, &wire, WIRE_KIND_file_open, tails), 0);
	assert_int_equal(f->event.kind, EVENT_file_open);
	expect_text(f, FIELD_path, "/tmp/f");
	expect_text(f, FIELD_path_source, "args");
	expect_absent(f, FIELD_dev);
	expect_absent(f, FIELD_size);
	expect_absent(f, FIELD_file_type);
}

static void remembers_the_path_of_a_description(void **state)
{
	struct fixture *f = *state;
	struct wire_file_open open = an_open(5, O_WRONLY);
	struct wire_file_modify modify = {
		.file_id = 5,
		.dev = 8 << 20,
		.ino = 42,
		.size = 100,
		.bytes_written = 90,
		.methods = FILE_METHOD_write | FILE_METHOD_mmap | FILE_METHOD_clone,
		.writers = 2,
		.mode = S_IFREG | 0600,
	};
	const struct bytes tails[] = {PATH("f\0tmp"), {0}, {0}}, none[] = {{0}},
			   moved[] = {PATH("g\0tmp")};

	translate(f, &open, WIRE_KIND_file_open, tails);
	assert_int_equal(translate(f, &modify, WIRE_KIND_file_modify, none), 0);
	assert_int_equal(f->event.kind, EVENT_file_modify);
	expect_text(f, FIELD_path, "/tmp/f");
	expect_text(f, FIELD_path_source, "kernel");
	expect_words(f, FIELD_methods, "write,mmap,clone");
	expect_number(f, FIELD_bytes_written, 90);
	expect_number(f, FIELD_size, 100);
	expect_number(f, FIELD_writers, 2);
	expect_absent(f, FIELD_still_open);
	expect_absent(f, FIELD_deleted);

	modify.path_flags = PATH_DELETED;
	modify.writers = 0;
	translate(f, &modify, WIRE_KIND_file_modify, none);
	expect_text(f, FIELD_path, "/tmp/f");
	expect_number(f, FIELD_deleted, true);
	expect_absent(f, FIELD_writers);

	translate(f, &modify, WIRE_KIND_file_modify, moved);
	expect_text(f, FIELD_path, "/tmp/g");
}

/* Never another file's path: unknown is absent. */
static void forgets_rather_than_mistakes(void **state)
{
	struct fixture *f = *state;
	struct wire_file_open open = an_open(5, O_WRONLY);
	struct wire_file_modify modify = {.file_id = 5, .ino = 1, .methods = FILE_METHOD_write};
	const struct bytes tails[] = {PATH("f\0tmp"), {0}, {0}}, none[] = {{0}};
	char longest[REMEMBERED_PATH_MAX + 2];
	struct bytes long_path[] = {{longest, sizeof(longest)}, {0}, {0}};

	translate(f, &open, WIRE_KIND_file_open, tails);
	open.file_id += REMEMBERED_OPENS;
	translate(f, &open, WIRE_KIND_file_open, tails);
	translate(f, &modify, WIRE_KIND_file_modify, none);
	expect_text(f, FIELD_path, NULL);
	expect_text(f, FIELD_path_source, NULL);
	expect_number(f, FIELD_ino, 1);

	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	open.file_id = modify.file_id = 9;
	translate(f, &open, WIRE_KIND_file_open, long_path);
	translate(f, &modify, WIRE_KIND_file_modify, none);
	expect_text(f, FIELD_path, NULL);
}

/* ---- names ---- */

static void joins_what_a_call_was_given(void **state)
{
	static const struct {
		const char *requested, *path;
	} cases[] = {
		{"a", "/home/x/a"},	  {"./a", "/home/x/a"},	     {"../a", "/home/a"},
		{"../../../../a", "/a"},  {"/etc//a/", "/etc/a"},    {"..", "/home"},
		{"../..", "/"},		  {"a/./b/..", "/home/x/a"}, {"...", "/home/x/..."},
		{"a\nb", "/home/x/a\nb"}, {"", "/home/x"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wire_file_name wire = {.operation = FILE_NAME_UNLINK, .act = 1};
		bool is_absolute = cases[i].requested[0] == '/';
		const struct bytes tails[] = {
			{is_absolute ? "" : "x\0home", is_absolute ? 1 : 7},
			{cases[i].requested, strlen(cases[i].requested)},
			{0},
			{0},
		};

		assert_int_equal(translate(f, &wire, WIRE_KIND_file_name, tails), 0);
		assert_int_equal(f->event.kind, EVENT_file_delete);
		expect_text(f, FIELD_path, cases[i].path);
		expect_text(f, FIELD_path_source, "args");
		expect_absent(f, FIELD_ino);
	}
}

/* The task's root is not the session's: what it calls / is not. */
static void joins_from_the_root_of_the_task(void **state)
{
	struct fixture *f = *state;
	struct wire_file_name wire = {.operation = FILE_NAME_MKDIR, .mode = 0750};
	const struct bytes tails[] = {PATH("jail\0srv"), TAIL("/d"), {0}, {0}};
	const struct bytes unknown[] = {{0}, TAIL("d"), {0}, {0}};

	assert_int_equal(translate(f, &wire, WIRE_KIND_file_name, tails), 0);
	assert_int_equal(f->event.kind, EVENT_file_mkdir);
	expect_text(f, FIELD_path, "/srv/jail/d");
	expect_number(f, FIELD_mode, 0750);

	translate(f, &wire, WIRE_KIND_file_name, unknown);
	expect_text(f, FIELD_path, NULL);
	expect_text(f, FIELD_path_source, NULL);
	expect_text(f, FIELD_requested, "d");
}

static void tells_each_operation(void **state)
{
	struct fixture *f = *state;
	struct wire_file_name wire = {.operation = FILE_NAME_RENAME, .flags = 2};
	const struct bytes tails[] = {PATH("tmp"), TAIL("a"), PATH("var"), TAIL("b")};

	translate(f, &wire, WIRE_KIND_file_name, tails);
	assert_int_equal(f->event.kind, EVENT_file_rename);
	expect_text(f, FIELD_path, "/tmp/a");
	expect_text(f, FIELD_new_path, "/var/b");
	expect_text(f, FIELD_new_path_source, "args");
	expect_text(f, FIELD_new_requested, "b");
	expect_number(f, FIELD_exchange, true);
	expect_words(f, FIELD_flags, "RENAME_EXCHANGE");

	wire = (struct wire_file_name){.operation = FILE_NAME_LINK};
	translate(f, &wire, WIRE_KIND_file_name, tails);
	assert_int_equal(f->event.kind, EVENT_file_link);
	expect_text(f, FIELD_path, "/tmp/a");
	expect_text(f, FIELD_new_path, "/var/b");

	wire = (struct wire_file_name){.operation = FILE_NAME_SYMLINK};
	translate(f, &wire, WIRE_KIND_file_name, tails);
	assert_int_equal(f->event.kind, EVENT_file_symlink);
	expect_text(f, FIELD_target, "b");

	wire = (struct wire_file_name){.operation = FILE_NAME_MKNOD, .mode = S_IFIFO | 0600};
	translate(f, &wire, WIRE_KIND_file_name, tails);
	assert_int_equal(f->event.kind, EVENT_file_create);
	expect_text(f, FIELD_file_type, "fifo");
	expect_number(f, FIELD_mode, 0600);

	wire.operation = FILE_NAME_RMDIR;
	translate(f, &wire, WIRE_KIND_file_name, tails);
	assert_int_equal(f->event.kind, EVENT_file_rmdir);
	wire.operation = 99;
	assert_int_equal(translate(f, &wire, WIRE_KIND_file_name, tails), -EBADMSG);
	wire.operation = 0;
	assert_int_equal(translate(f, &wire, WIRE_KIND_file_name, tails), -EBADMSG);
}

static void knows_the_object_of_a_descriptor(void **state)
{
	struct fixture *f = *state;
	struct wire_file_name wire = {.operation = FILE_NAME_LINK,
				      .known = FILE_KNOWN_OBJECT,
				      .directory_flags = PATH_DELETED,
				      .ino = 7,
				      .mode = S_IFREG};
	const struct bytes tails[] = {PATH("#7\0tmp"), {0}, PATH("tmp"), TAIL("b")};

	translate(f, &wire, WIRE_KIND_file_name, tails);
	expect_text(f, FIELD_path, "/tmp/#7");
	expect_text(f, FIELD_path_source, "kernel");
	expect_number(f, FIELD_deleted, true);
	expect_number(f, FIELD_ino, 7);
	expect_text(f, FIELD_new_path_source, "args");
}

/* ---- attributes ---- */

static void tells_attributes(void **state)
{
	struct fixture *f = *state;
	struct wire_file_attr wire = {.change = FILE_ATTR_MODE, .mode = 0755};
	const struct bytes given[] = {{0}, PATH("tmp"), TAIL("f"), {0}};
	const struct bytes object[] = {PATH("f\0tmp"), {0}, {0}, TAIL("user.k")};

	translate(f, &wire, WIRE_KIND_file_attr, given);
	assert_int_equal(f->event.kind, EVENT_file_attr);
	expect_text(f, FIELD_change, "mode");
	expect_text(f, FIELD_path_source, "args");
	expect_number(f, FIELD_mode, 0755);
	expect_absent(f, FIELD_uid);

	wire = (struct wire_file_attr){.change = FILE_ATTR_OWNER, .uid = 1000, .gid = UINT32_MAX};
	translate(f, &wire, WIRE_KIND_file_attr, given);
	expect_number(f, FIELD_uid, 1000);
	expect_absent(f, FIELD_gid);
	expect_absent(f, FIELD_mode);

	wire = (struct wire_file_attr){.change = FILE_ATTR_XATTR,
				       .known = FILE_KNOWN_OBJECT | FILE_REMOVED,
				       .ino = 3,
				       .mode = S_IFDIR | 0700};
	translate(f, &wire, WIRE_KIND_file_attr, object);
	expect_text(f, FIELD_path, "/tmp/f");
	expect_text(f, FIELD_path_source, "kernel");
	expect_text(f, FIELD_file_type, "directory");
	expect_text(f, FIELD_xattr_name, "user.k");
	expect_number(f, FIELD_removed, true);
	expect_absent(f, FIELD_mode);

	wire.change = 0;
	assert_int_equal(translate(f, &wire, WIRE_KIND_file_attr, object), -EBADMSG);
	wire.change = FILE_ATTR_SIZE + 1;
	assert_int_equal(translate(f, &wire, WIRE_KIND_file_attr, object), -EBADMSG);
}

static void tells_sizes(void **state)
{
	struct fixture *f = *state;
	struct wire_file_attr wire = {.change = FILE_ATTR_SIZE, .size = 9, .old_size = 5};
	const struct bytes given[] = {{0}, PATH("tmp"), TAIL("f"), {0}};

	translate(f, &wire, WIRE_KIND_file_attr, given);
	assert_int_equal(f->event.kind, EVENT_file_truncate);
	expect_number(f, FIELD_size, 9);
	expect_absent(f, FIELD_old_size);

	wire.known = FILE_KNOWN_OLD_SIZE;
	translate(f, &wire, WIRE_KIND_file_attr, given);
	expect_number(f, FIELD_old_size, 5);
}

/* ---- the end ---- */

static void tells_what_is_left_at_the_end(void **state)
{
	struct fixture *f = *state;
	int map = bpf_map_create(BPF_MAP_TYPE_HASH, "written_files", sizeof(struct written_key),
				 sizeof(struct written_file), 16, NULL);
	struct written_file entry = {.file_id = 1,
				     .ino = 4,
				     .bytes = 10,
				     .methods = FILE_METHOD_write,
				     .pid = 100,
				     .ns_pid = 2};
	struct written_key ours = {.file = 1, .slot = SLOT}, unwritten = {.file = 2, .slot = SLOT};
	struct written_key other = {.file = 1, .slot = SLOT + 1};

	if (map < 0)
		skip(); /* needs root */
	assert_int_equal(bpf_map_update_elem(map, &ours, &entry, 0), 0);
	assert_int_equal(bpf_map_update_elem(map, &other, &entry, 0), 0);
	entry.methods = 0;
	assert_int_equal(bpf_map_update_elem(map, &unwritten, &entry, 0), 0);
	assert_int_equal(capture_finish(f->capture, map), 0);
	assert_int_equal(f->count, 1);
	assert_int_equal(f->event.kind, EVENT_file_modify);
	expect_number(f, FIELD_bytes_written, 10);
	expect_number(f, FIELD_still_open, true);
	expect_number(f, FIELD_pid, 2);

	entry.methods = FILE_METHOD_write;
	entry.is_gone = 1;
	assert_int_equal(bpf_map_update_elem(map, &ours, &entry, 0), 0);
	assert_int_equal(capture_finish(f->capture, map), 0);
	assert_int_equal(f->count, 2);
	expect_absent(f, FIELD_still_open);
	close(map);
}

/* More than are read at once. */
static void tells_all_that_is_left(void **state)
{
	struct fixture *f = *state;
	int map = bpf_map_create(BPF_MAP_TYPE_HASH, "written_files", sizeof(struct written_key),
				 sizeof(struct written_file), 4096, NULL);
	struct written_file entry = {.file_id = 1, .methods = FILE_METHOD_write};

	if (map < 0)
		skip(); /* needs root */
	for (uint64_t i = 1; i <= 1000; i++) {
		struct written_key ours = {.file = i, .slot = SLOT};
		struct written_key other = {.file = i, .slot = SLOT + 1};

		assert_int_equal(bpf_map_update_elem(map, &ours, &entry, 0), 0);
		assert_int_equal(bpf_map_update_elem(map, &other, &entry, 0), 0);
	}
	assert_int_equal(capture_finish(f->capture, map), 0);
	assert_int_equal(f->count, 1000);
	close(map);
	assert_int_equal(capture_finish(f->capture, -1), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(tells_an_open_for_writing),
		TEST(tells_a_new_file),
		TEST(tells_an_unnamed_file),
		TEST(leaves_unwatched_reads_out),
		TEST(never_leaves_a_truncation_out),
		TEST(marks_an_open_that_was_not_seen),
		TEST(remembers_the_path_of_a_description),
		TEST(forgets_rather_than_mistakes),
		TEST(joins_what_a_call_was_given),
		TEST(joins_from_the_root_of_the_task),
		TEST(tells_each_operation),
		TEST(knows_the_object_of_a_descriptor),
		TEST(tells_attributes),
		TEST(tells_sizes),
		TEST(tells_what_is_left_at_the_end),
		TEST(tells_all_that_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
