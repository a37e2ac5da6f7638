/*
 * Splunk's HTTP Event Collector, with and without acknowledgement.
 *
 * A 200 says that a batch was parsed. With `ack` it counts as delivered only once the indexers have
 * it: the id of the answer is asked for until then, and the batch sent again if that takes too
 * long.
 */
#include "hec.h"
#include "http_sink.h"

#include "../../supervisor/record/cleanup.h"
#include "../../supervisor/record/json_put.h"
#include "../../supervisor/record/printable.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/rand.h>
#include <string.h>
#include <time.h>

struct hec {
	char channel[37];
	char *ack_url; /* owned; NULL: no acknowledgement is asked for */
	sd_event_source *timer;
	json_int_t ack_id;
	uint64_t waited_ms;
};

static void make_channel(char channel[37])
{
	unsigned char b[16] = {0};

	RAND_bytes(b, sizeof(b));
	snprintf(channel, 37,
		 "%02x%02x%02x%02x-%02x%02x-4%01x%02x-a%01x%02x-%02x%02x%02x%02x%02x%02x", b[0],
		 b[1], b[2], b[3], b[4], b[5], b[6] & 15, b[7], b[8] & 15, b[9], b[10], b[11],
		 b[12], b[13], b[14], b[15]);
}

static int hec_open(struct http_sink *s, struct knob_fault *f)
{
	struct hec *hec = s->own = calloc(1, sizeof(*hec));
	cleanup(free) char *path = NULL;
	int r;

	if (!hec)
		return -ENOMEM;
	make_channel(hec->channel);
	s->url = http_sink_url(s, "/services/collector/event");
	if (knob_bool(s->setup.values, "ack")) {
		if (asprintf(&path, "/services/collector/ack?channel=%s", hec->channel) < 0)
			path = NULL;
		hec->ack_url = path ? http_sink_url(s, path) : NULL;
		if (!hec->ack_url)
			return -ENOMEM;
		if (s->url && !strcmp(hec->ack_url, knob_text(s->setup.values, "url")))
			return knob_fault_set(f, "url",
					      "url: with ack it has to be without a path");
	}
	r = knob_secret(s->setup.values, "token", &s->secret, f);
	return r;
}

static void hec_free(struct http_sink *s)
{
	struct hec *hec = s->own;

	if (!hec)
		return;
	sd_event_source_disable_unref(hec->timer);
	free(hec->ack_url);
	free(hec);
}

static int hec_headers(struct http_sink *s, struct curl_slist **headers)
{
	const struct hec *hec = s->own;
	cleanup(free) char *authorization = NULL;
	int r;

	if (asprintf(&authorization, "Splunk %s", s->secret) < 0) {
		authorization = NULL;
		return -ENOMEM;
	}
	r = http_sink_header(headers, "Authorization", authorization);
	explicit_bzero(authorization, strlen(authorization));
	return r < 0 ? r : http_sink_header(headers, "X-Splunk-Request-Channel", hec->channel);
}

static void put_member(struct json_buffer *out, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	json_put_literal(out, ",\"");
	json_put(out, name, strlen(name));
	json_put_literal(out, "\":");
	json_put_string(out, bytes_of(text));
}

static int hec_frame(void *state, const struct projected *p, struct bytes line,
		     struct json_buffer *out)
{
	const struct http_sink *s = state;
	size_t start = out->length;
	char time_text[40];
	int length = snprintf(time_text, sizeof(time_text), "{\"time\":%" PRIu64 ".%09" PRIu64,
			      p->event->time_ns / 1000000000, p->event->time_ns % 1000000000);

	json_put(out, time_text, (size_t)length);
	put_member(out, "host", p->facts->host);
	put_member(out, "source", knob_text(s->setup.values, "source"));
	put_member(out, "sourcetype", knob_text(s->setup.values, "sourcetype"));
	put_member(out, "index", knob_text(s->setup.values, "index"));
	json_put_literal(out, ",\"event\":");
	if (line.size && *(const char *)line.data == '{')
		json_put(out, line.data, line.size);
	else
		json_put_string(out, line);
	json_put_literal(out, "}\n");
	return json_done(out, start);
}

/* ---- acknowledgement ---- */

static void settle(struct http_sink *s, enum answer answer, const char *why)
{
	struct sink_answer a;

	sink_answer_set(&a, answer, "%s", why);
	if (answer == ANSWER_DONE)
		batch_judge(s->batch, s->count, VERDICT_DELIVERED, NULL);
	http_sink_answer(s, &a);
}

static void arm(struct http_sink *s)
{
	struct hec *hec = s->own;
	uint64_t poll_ms = (uint64_t)knob_number(s->setup.values, "ack_poll_ms");

	sd_event_source_set_time_relative(hec->timer, poll_ms * 1000);
	sd_event_source_set_enabled(hec->timer, SD_EVENT_ONESHOT);
}

/* An answer is "true" once; "false" is pending or lost. */
void hec_acknowledge(void *context, const struct http_result *result)
{
	struct http_sink *s = context;
	struct hec *hec = s->own;
	char id[24];
	json_t *reply;
	bool is_there;

	snprintf(id, sizeof(id), "%" PRId64, (int64_t)hec->ack_id);
	reply = result->error ? NULL : http_sink_reply(result);
	is_there = json_is_true(json_object_get(json_object_get(reply, "acks"), id));
	json_decref(reply);
	hec->waited_ms += (uint64_t)knob_number(s->setup.values, "ack_poll_ms");
	if (is_there)
		settle(s, ANSWER_DONE, "");
	else if (hec->waited_ms >= (uint64_t)knob_number(s->setup.values, "ack_wait_s") * 1000)
		settle(s, ANSWER_RETRY, "the batch was not acknowledged in time");
	else
		arm(s);
}

static int ask(sd_event_source *source, uint64_t usec, void *context)
{
	struct http_sink *s = context;
	struct hec *hec = s->own;
	struct curl_slist *headers = NULL;
	char question[64];
	int length = snprintf(question, sizeof(question), "{\"acks\":[%" PRId64 "]}",
			      (int64_t)hec->ack_id);

	(void)source, (void)usec;
	if (hec_headers(s, &headers) < 0 ||
	    http_client_post(s->client, hec->ack_url, headers,
			     (struct bytes){question, (size_t)length}, hec_acknowledge, s) < 0)
		settle(s, ANSWER_RETRY, "out of memory");
	return 0;
}

/* False: the answer is awaited. */
static bool await_ack(struct http_sink *s, const json_t *reply, struct sink_answer *a)
{
	struct hec *hec = s->own;
	const json_t *id = json_object_get(reply, "ackId");

	if (!json_is_integer(id)) {
		sink_answer_set(a, ANSWER_PAUSE, "the collector gives no ackId: is it enabled?");
		return true;
	}
	hec->ack_id = json_integer_value(id);
	hec->waited_ms = 0;
	if (!hec->timer && sd_event_add_time_relative(s->setup.event, &hec->timer, CLOCK_MONOTONIC,
						      0, 1000, ask, s) < 0) {
		sink_answer_set(a, ANSWER_RETRY, "out of memory");
		return true;
	}
	arm(s);
	return false;
}

/* ---- answers ---- */

/* What the collector's own code says, where its status alone does not. */
static void judge_code(struct http_sink *s, const json_t *reply, struct sink_answer *a)
{
	const json_t *number = json_object_get(reply, "invalid-event-number");
	json_int_t code = json_integer_value(json_object_get(reply, "code"));
	json_int_t bad = json_integer_value(number);

	if (code == 7 || code == 10 || code == 11 || code == 14 || code == 16) {
		a->answer = ANSWER_PAUSE;
		return;
	}
	if (!json_is_integer(number) || bad < 0 || (size_t)bad >= s->count)
		return;
	/* Those before it were taken by some versions and not by others: all but it go again. */
	s->batch->items[bad].verdict = VERDICT_REFUSED;
	snprintf(s->batch->items[bad].why, sizeof(s->batch->items[bad].why), "%.190s", a->why);
	*a = (struct sink_answer){.answer = ANSWER_DONE};
}

static bool hec_judge(struct http_sink *s, const struct http_result *result, struct sink_answer *a)
{
	const struct hec *hec = s->own;
	json_t *reply = http_sink_reply(result);
	bool is_known = true;

	if (!http_sink_is_good(result, a)) {
		if (result->status == 400)
			judge_code(s, reply, a);
	} else if (hec->ack_url) {
		is_known = await_ack(s, reply, a);
	} else {
		batch_judge(s->batch, s->count, VERDICT_DELIVERED, NULL);
		a->answer = ANSWER_DONE;
	}
	json_decref(reply);
	return is_known;
}

static const struct http_kind hec_kind = {
	.content_type = "application/json",
	.head = "",
	.separator = "",
	.tail = "",
	.open = hec_open,
	.headers = hec_headers,
	.judge = hec_judge,
	.free = hec_free,
};

static int open_hec(const struct sink_setup *setup, void **ret_state, struct knob_fault *f)
{
	return http_sink_open(setup, &hec_kind, ret_state, f);
}

const struct sink_type sink_hec = {
	.name = "hec",
	.doc = "Splunk's HTTP Event Collector.",
	.format = "jsonl",
	.knobs =
		(const struct knob[]){
			HTTP_KNOBS,
			{"token", KNOB_SECRET, .is_required = true, .doc = "the collector's token"},
			{"source", KNOB_TEXT, "\"vitrine\"", .doc = "source of the events"},
			{"sourcetype", KNOB_TEXT, "\"_json\"", .doc = "their source type"},
			{"index", KNOB_NAME, .doc = "index, where it is not the token's own"},
			{"ack", KNOB_BOOL, "false", .doc = "wait until the indexers have a batch"},
			{"ack_poll_ms", KNOB_NUMBER, "2000", .min = 10, .max = 600000,
			 .doc = "how often that is asked"},
			{"ack_wait_s", KNOB_NUMBER, "300", .min = 1, .max = 86400,
			 .doc = "after that the batch is sent again"},
			{0},
		},
	.open = open_hec,
	.frame = hec_frame,
	.send = http_sink_send,
	.free = http_sink_free,
};
