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

/* By the protocol only 429, 502, 503 and 504 are asked again; nothing that was taken in part is. */
static bool otlp_judge(struct http_sink *s, const struct http_result *result, struct sink_answer *a)
{
	long status = result->status;
	const json_t *partial, *rejected;
	json_t *reply;
	json_int_t count;

	if (!http_sink_is_good(result, a)) {
		if (status == 500 && !knob_bool(s->setup.values, "retry_500"))
			a->answer = ANSWER_SPLIT;
		return true;
	}
	reply = http_sink_reply(result);
	partial = json_object_get(reply, "partialSuccess");
	rejected = json_object_get(partial, "rejectedLogRecords");
	count = json_is_string(rejected) ? strtoll(json_string_value(rejected), NULL, 10)
					 : json_integer_value(rejected);
	batch_judge(s->batch, s->count, VERDICT_DELIVERED, NULL);
	sink_answer_set(a, ANSWER_DONE, "%s", "");
	if (count > 0) {
		const char *message = json_string_value(json_object_get(partial, "errorMessage"));

		/* Which ones is not said, and none may be sent again: all are kept aside. */
		sink_answer_set(a, ANSWER_DONE, "%" PRId64 " of %zu rejected: %s", (int64_t)count,
				s->count, message ? message : "");
		batch_judge(s->batch, s->count, VERDICT_REFUSED, a->why);
	}
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
	       "rejects some is kept as dead letters: it does not say which, and may not be asked "
	       "again.",
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
