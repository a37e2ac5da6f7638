/*
 * OTLP/HTTP in JSON: lines of the projection, joined to one request.
 */
#include "http_sink.h"

#include "../project/otlp.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int otlp_open(struct http_sink *s, struct knob_fault *f)
{
	s->url = http_sink_url(s, "/v1/logs");
	return knob_secret(s->setup.values, "authorization", &s->secret, f);
}

static int otlp_headers(struct http_sink *s, struct curl_slist **headers)
{
	return s->secret ? http_sink_header(headers, "Authorization", s->secret) : 0;
}

static int otlp_frame(void *state, const struct projected *p, struct bytes line,
		      struct json_buffer *out)
{
	size_t around = strlen(OTLP_HEAD) + strlen(OTLP_TAIL);

	(void)state, (void)p;
	if (line.size < around)
		return -EINVAL;
	return json_write_raw(out, (const char *)line.data + strlen(OTLP_HEAD), line.size - around);
}

/* A number of 64 bits is a string in OTLP's JSON; some write a number all the same. */
static uint64_t count_of(const json_t *value)
{
	const char *text = json_string_value(value);
	uint64_t count = 0;

	if (json_is_integer(value))
		return json_integer_value(value) > 0 ? (uint64_t)json_integer_value(value) : 0;
	for (; text && *text >= '0' && *text <= '9' && count < UINT32_MAX; text++)
		count = count * 10 + (uint64_t)(*text - '0');
	return text && !*text ? count : 0;
}

/* Which ones were rejected is not said, and none may be sent again: all are kept aside, and as many
 * are counted. */
static void doubt(struct http_sink *s, uint64_t count, const char *message, struct sink_answer *a)
{
	sink_answer_set(a, ANSWER_DONE, "%" PRIu64 " of %zu rejected: %s", count, s->count,
			message ? message : "no reason given");
	batch_judge(s->batch, s->count, count < s->count ? VERDICT_DOUBTED : VERDICT_REFUSED,
		    a->why);
	s->batch->refused = count;
}

/* By the protocol only 429, 502, 503 and 504 are asked again; nothing that was taken in part is. */
static bool otlp_judge(struct http_sink *s, const struct http_result *result, struct sink_answer *a)
{
	long status = result->status;
	const json_t *partial, *rejected;
	const char *message;
	json_t *reply;
	uint64_t count;

	if (!http_sink_is_good(result, a)) {
		if (status == 500 && !knob_bool(s->setup.values, "retry_500"))
			a->answer = ANSWER_SPLIT;
		return true;
	}
	reply = http_sink_reply(result);
	partial = json_object_get(reply, "partialSuccess");
	rejected = json_object_get(partial, "rejectedLogRecords");
	count = count_of(rejected);
	message = json_string_value(json_object_get(partial, "errorMessage"));
	batch_judge(s->batch, s->count, VERDICT_DELIVERED, NULL);
	sink_answer_set(a, ANSWER_DONE, "%s%s", message ? "the collector says: " : "",
			message ? message : "");
	if (count > 0)
		doubt(s, count, message, a);
	json_decref(reply);
	return true;
}

static const struct http_kind otlp = {
	.content_type = "application/json",
	.head = OTLP_HEAD,
	.separator = ",",
	.tail = OTLP_TAIL,
	.open = otlp_open,
	.headers = otlp_headers,
	.judge = otlp_judge,
};

static int open_otlp(const struct sink_setup *setup, void **ret_state, struct knob_fault *f)
{
	return http_sink_open(setup, &otlp, ret_state, f);
}

const struct sink_type sink_otlp = {
	.name = "otlp",
	.doc = "An OpenTelemetry collector, by OTLP/HTTP in JSON. A batch of which the collector "
	       "rejects some is kept aside as a whole: it says how many and not which, and may not "
	       "be asked again.",
	.format = "otlp",
	.knobs =
		(const struct knob[]){
			HTTP_KNOBS,
			{"authorization", KNOB_SECRET, .doc = "the header: \"Bearer ...\""},
			{"retry_500", KNOB_BOOL, "true",
			 .doc = "send again after 500, which the protocol does not foresee"},
			{0},
		},
	.open = open_otlp,
	.frame = otlp_frame,
	.send = http_sink_send,
	.free = http_sink_free,
};
