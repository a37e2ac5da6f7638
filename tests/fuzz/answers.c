/*
 * Fuzz: what receivers answer. The first line is the kind of sink, the status and a Retry-After;
 * what follows is the body, and behind a NUL what the collector of HEC says when it is asked for an
 * acknowledgement. Whatever it is, the batch gets one answer, and it never goes round in a circle
 * without waiting.
 */
#include "../../exporters/export_config.h"
#include "../../exporters/sinks/hec.h"
#include "../../exporters/sinks/http_sink.h"
#include "../../exporters/sinks/retry_after.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char config_text[] =
	"{\"sinks\": ["
	"{\"name\": \"a\", \"type\": \"elastic\", \"url\": \"http://h\"},"
	"{\"name\": \"b\", \"type\": \"hec\", \"url\": \"http://h\", \"token\": {\"env\": "
	"\"PATH\"}},"
	"{\"name\": \"c\", \"type\": \"hec\", \"url\": \"http://h\", \"token\": {\"env\": "
	"\"PATH\"}, "
	"\"ack\": true, \"ack_wait_s\": 1},"
	"{\"name\": \"d\", \"type\": \"otlp\", \"url\": \"http://h\"},"
	"{\"name\": \"e\", \"type\": \"clickhouse\", \"url\": \"http://h\"},"
	"{\"name\": \"f\", \"type\": \"webhook\", \"url\": \"http://h\"}]}";

#define ITEMS 5

struct world {
	struct export_config config;
	sd_event *event;
	struct sink_answer answer;
	unsigned answers;
};

static void on_answer(void *context, const struct sink_answer *a)
{
	struct world *w = context;

	w->answer = *a;
	w->answers++;
}

static struct world *world(void)
{
	static struct world w;
	struct knob_fault f;

	if (!w.event &&
	    (export_config_parse("c", config_text, strlen(config_text), false, &w.config, &f) < 0 ||
	     sd_event_new(&w.event) < 0))
		abort();
	w.answers = 0;
	return &w;
}

static void check(const struct world *w, const struct batch *b)
{
	size_t judged = 0;

	if (w->answers != 1 || w->answer.answer > ANSWER_PAUSE ||
	    strlen(w->answer.why) >= sizeof(w->answer.why))
		__builtin_trap();
	for (size_t i = 0; i < ITEMS; i++) {
		judged += b->items[i].verdict != VERDICT_OPEN;
		if (b->items[i].verdict > VERDICT_DOUBTED ||
		    strnlen(b->items[i].why, sizeof(b->items[i].why)) == sizeof(b->items[i].why))
			__builtin_trap();
	}
	/* Sent again at once, and nothing was settled: that would not end. */
	if (w->answer.answer == ANSWER_DONE && !judged && !w->answer.why[0])
		__builtin_trap();
}

static void answer(const struct sink_config *c, const struct http_result *result, struct bytes ack)
{
	struct world *w = world();
	const struct sink_setup setup = {.name = c->name,
					 .values = c->values,
					 .event = w->event,
					 .key = &w->config.key,
					 .answer = on_answer,
					 .lane = w};
	struct http_result acknowledged = {.status = 200, .reply = ack};
	struct batch b = {0};
	struct knob_fault f;
	void *state;

	if (c->type->open(&setup, &state, &f) < 0)
		abort();
	struct http_sink *s = state;
	for (size_t i = 0; i < ITEMS; i++) {
		json_write_raw(&b.body, "{}\n", 3);
		batch_add(&b, 3 * i, "0123456789ab", i + 1, 1);
	}
	s->batch = &b;
	s->count = ITEMS;
	http_sink_done(s, result);
	/* Without an acknowledgement a second is waited for, in steps of two. */
	if (!w->answers)
		hec_acknowledge(s, &acknowledged);
	check(w, &b);
	batch_free(&b);
	c->type->free(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct export_config *config = &world()->config;
	const uint8_t *line_end = memchr(data, '\n', size), *nul;
	struct http_result result = {.status = 200};
	struct bytes ack = {"", 0};
	char line[512];
	size_t length, kind;

	if (!line_end || (size_t)(line_end - data) >= sizeof(line) || line_end - data < 5)
		return 0;
	length = (size_t)(line_end - data);
	memcpy(line, data, length);
	line[length] = 0;
	kind = (size_t)line[0] % config->sink_count;
	result.status = (line[1] - '0') * 100 + (line[2] - '0') * 10 + (line[3] - '0');
	result.wait_ms = retry_after_ms(line + 4, 1000000000);
	if (result.wait_ms > RETRY_AFTER_MAX_S * 1000)
		__builtin_trap();
	size -= length + 1;
	nul = memchr(line_end + 1, 0, size);
	if (nul) {
		ack = (struct bytes){nul + 1, size - (size_t)(nul - line_end)};
		size = (size_t)(nul - line_end - 1);
	}
	result.reply = (struct bytes){line_end + 1, size};
	answer(&config->sinks[kind], &result, ack);
	return 0;
}
