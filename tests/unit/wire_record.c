/* The wire decoder: what has the right shape is read, everything else is refused. */
#include "../../supervisor/capture/wire_record.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct room {
	_Alignas(8) uint8_t bytes[WIRE_LENGTH_MAX];
};

/* A record of @kind whose tails are of 1, 2, 3 ... bytes, filled with their own number. */
static size_t make_record(struct room *room, unsigned int kind)
{
	const struct wire_info *info = wire_info(kind);
	struct wire_head *head = (struct wire_head *)room->bytes;

	memset(room, 0, sizeof(*room));
	head->kind = kind;
	head->class = info->class;
	head->length = info->fixed_size;
	for (uint32_t i = 0; i < info->tail_count; i++) {
		uint32_t length = i + 1;

		memcpy(room->bytes + info->tail_offsets[i], &length, sizeof(length));
		memset(room->bytes + head->length, 'a' + (int)i, length);
		head->length += length;
	}
	return head->length;
}

static void reads_every_kind(void **state)
{
	struct room *room = *state;

	for (unsigned int kind = 1; kind < WIRE_KIND_COUNT; kind++) {
		struct wire_record record;
		const char *why = NULL;
		size_t size = make_record(room, kind);

		assert_int_equal(wire_decode(room->bytes, size, &record, &why), 0);
		assert_ptr_equal(record.head, room->bytes);
		assert_int_equal(record.tail_count, wire_info(kind)->tail_count);
		for (size_t i = 0; i < record.tail_count; i++) {
			assert_int_equal(record.tails[i].size, i + 1);
			assert_int_equal(((const char *)record.tails[i].data)[i], 'a' + (int)i);
			assert_int_equal(record.missing[i], 0);
		}
	}
}

static void leaves_unused_room_alone(void **state)
{
	struct room *room = *state;
	struct wire_record record;
	const char *why;
	size_t size = make_record(room, WIRE_KIND_socket_close);

	assert_int_equal(wire_decode(room->bytes, size + 40, &record, &why), 0);
}

static void refuses(struct room *room, size_t size)
{
	struct wire_record record;
	const char *why = NULL;

	assert_int_equal(wire_decode(room->bytes, size, &record, &why), -EBADMSG);
	assert_non_null(why);
}

static void refuses_every_cut(void **state)
{
	struct room *room = *state;

	for (unsigned int kind = 1; kind < WIRE_KIND_COUNT; kind++) {
		size_t whole = make_record(room, kind);

		for (size_t size = 0; size < whole; size++)
			refuses(room, size);
	}
}

static void refuses_lengths_that_lie(void **state)
{
	struct room *room = *state;

	for (unsigned int kind = 1; kind < WIRE_KIND_COUNT; kind++) {
		const struct wire_info *info = wire_info(kind);
		size_t size = make_record(room, kind);
		struct wire_head *head = (struct wire_head *)room->bytes;

		head->length--;
		refuses(room, size);
		head->length += 2;
		refuses(room, size + 1);
		head->length--;
		for (size_t i = 0; i < info->tail_count; i++) {
			uint32_t good = i + 1,
				 lies[] = {good - 1, good + 1, UINT32_MAX, UINT32_MAX - 200};

			for (size_t n = 0; n < 4; n++) {
				memcpy(room->bytes + info->tail_offsets[i], &lies[n], 4);
				refuses(room, size);
			}
			memcpy(room->bytes + info->tail_offsets[i], &good, 4);
		}
	}
}

static void refuses_kinds_and_classes(void **state)
{
	struct room *room = *state;
	struct wire_head *head = (struct wire_head *)room->bytes;
	size_t size = make_record(room, WIRE_KIND_process_exit);

	head->kind = 0;
	refuses(room, size);
	head->kind = WIRE_KIND_COUNT;
	refuses(room, size);
	head->kind = WIRE_KIND_process_exit;
	head->class = WIRE_CLASS_file;
	refuses(room, size);
}

static void gives_a_chunk_any_class(void **state)
{
	struct room *room = *state;
	struct wire_head *head = (struct wire_head *)room->bytes;
	struct wire_record record;
	const char *why;
	size_t size = make_record(room, WIRE_KIND_chunk);

	for (unsigned int class = 0; class < WIRE_CLASS_COUNT; class ++) {
		head->class = class;
		assert_int_equal(wire_decode(room->bytes, size, &record, &why), 0);
	}
	head->class = WIRE_CLASS_COUNT;
	refuses(room, size);
}

static int set_up(void **state)
{
	*state = aligned_alloc(8, sizeof(struct room));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_kind),
		cmocka_unit_test(leaves_unused_room_alone),
		cmocka_unit_test(refuses_every_cut),
		cmocka_unit_test(refuses_lengths_that_lie),
		cmocka_unit_test(refuses_kinds_and_classes),
		cmocka_unit_test(gives_a_chunk_any_class),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
