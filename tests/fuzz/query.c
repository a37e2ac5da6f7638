/*
 * Fuzz: a filter. What is taken is held against events of every type of field; it has to answer the
 * same twice, and its opposite the opposite.
 */
#include "replay/query.h"
#include "supervisor/record/cleanup.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct origin origin = {1000, 500};

static void check(const struct query *q, const struct query *opposite, const struct event *e)
{
	bool first = query_match(q, &origin, e);

	if (query_match(q, &origin, e) != first)
		abort();
	if (opposite && query_match(opposite, &origin, e) == first)
		abort();
}

static void hold(const struct query *q, const struct query *opposite, const char *text, size_t size)
{
	struct event e;

	event_init(&e, EVENT_process_exec, 5000, 4000);
	event_put_bytes(&e, FIELD_argv, text, size);
	event_put_text(&e, FIELD_proc, "1-a");
	event_put_u64(&e, FIELD_pid, size);
	event_put_bool(&e, FIELD_exe_memfd, true);
	check(q, opposite, &e);
	event_init(&e, EVENT_net_connect, 900, 400);
	event_put_bytes(&e, FIELD_dst_address, text, size);
	event_put_i64(&e, FIELD_result, -2);
	check(q, opposite, &e);
	event_init(&e, EVENT_session_start, 5000, 4000);
	event_put_bytes(&e, FIELD_labels, text, size);
	event_put_bytes(&e, FIELD_policy, text, size);
	check(q, opposite, &e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(query) struct query *q = NULL, *opposite = NULL;
	cleanup(free) char *text = malloc(size + 7), *copy = malloc(size + 1);
	struct query_error error = {0};

	if (!text || !copy)
		abort();
	memcpy(copy, data, size);
	copy[size] = 0;
	if (query_parse(copy, &q, &error)) {
		if (error.position > strlen(copy) || !error.why[0])
			abort();
		return 0;
	}
	memcpy(text, "not (", 5);
	memcpy(text + 5, copy, strlen(copy));
	memcpy(text + 5 + strlen(copy), ")", 2);
	if (query_parse(text, &opposite, &error))
		opposite = NULL; /* empty, or one too many */
	hold(q, opposite, copy, strlen(copy));
	return 0;
}
