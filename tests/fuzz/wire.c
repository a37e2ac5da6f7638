/*
 * Fuzz: wire records, from the bytes in a ring to the JSON of the events made of them. The input is
 * a row of records, each behind its length in 32 bits.
 */
#include "../../supervisor/capture/account.h"
#include "../../supervisor/capture/capture.h"
#include "../../supervisor/capture/join.h"
#include "../../supervisor/record/json.h"

#include <stdlib.h>
#include <string.h>

#define CPUS 4

struct world {
	struct capture *capture;
	struct json_buffer line;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int no_numbers(void *context, uint64_t *ret_values)
{
	(void)context;
	memset(ret_values, 0, WIRE_CLASS_COUNT * CPUS * sizeof(*ret_values));
	return 0;
}

static int no_losses(void *context, uint64_t *ret_values)
{
	(void)context;
	memset(ret_values, 0, WIRE_CLASS_COUNT * LOSS_REASON_COUNT * CPUS * sizeof(*ret_values));
	return 0;
}

static int on_gap(void *context, const struct account_gap *gap)
{
	(void)context;
	if (gap->count == 0)
		__builtin_trap();
	return 0;
}

static int on_event(void *context, struct event *e)
{
	struct world *w = context;

	w->line.length = 0;
	return json_write_event(&w->line, "fuzz", e);
}

static int on_record(void *context, const struct wire_record *record)
{
	struct world *w = context;

	capture_record(w->capture, record);
	return 0;
}

static void feed(struct account *account, struct join *join, const uint8_t *data, size_t size)
{
	static _Alignas(8) uint8_t room[2 * WIRE_LENGTH_MAX];
	struct wire_record record;
	uint64_t position = 0;
	const char *why;
	uint32_t length;

	while (size >= sizeof(length)) {
		memcpy(&length, data, sizeof(length));
		data += sizeof(length);
		size -= sizeof(length);
		if (length > size || length > sizeof(room))
			length = size < sizeof(room) ? size : sizeof(room);
		memcpy(room, data, length);
		data += length;
		size -= length;
		position += length;
		if (wire_decode(room, length, &record, &why) < 0)
			continue;
		if (account_record(account, record.head) == 0)
			join_record(join, &record, position);
		if (position % 3 == 0) {
			join_settle(join, position);
			account_settle(account);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = {0};
	struct account *account = NULL;
	struct join *join = NULL;
	const struct account_options accounting = {
		.cpus = CPUS, .numbers = no_numbers, .losses = no_losses, .gap = on_gap};
	const struct join_options joining = {.emit = on_record, .context = &w};
	const struct capture_options options = {
		.session = "fuzz",
		.uid_base = 100000,
		.uid_count = 65536,
		.names_fd = -1,
		.fanotify_fd = -1,
		.root_mount_fd = -1,
		.watch_reads = (const char *const[]){"/etc/*", NULL},
		.emit = on_event,
		.emit_context = &w,
	};

	if (capture_new(&options, &w.capture) < 0 || account_new(&accounting, &account) < 0 ||
	    join_new(&joining, &join) < 0)
		abort();
	feed(account, join, data, size);
	join_flush(join);
	capture_finish(w.capture, -1);
	account_finish(account);
	for (uint32_t class = 0; class < WIRE_CLASS_COUNT; class ++) {
		struct account_counts c = account_counts(account, class);

		if (c.produced != c.journaled + c.lost)
			__builtin_trap();
	}

	join_free(join);
	account_free(account);
	capture_free(w.capture);
	json_buffer_free(&w.line);
	return 0;
}
