/*
 * Elasticsearch and OpenSearch: _bulk, create with our own ids, and a verdict for each item.
 */
#include "http_sink.h"

#include "../../supervisor/record/json_put.h"
#include "../../supervisor/record/printable.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int elastic_open(struct http_sink *s, struct knob_fault *f)
{
	s->url = http_sink_url(s, "/_bulk");
	return knob_secret(s->setup.values, "authorization", &s->secret, f);
}

static int elastic_headers(struct http_sink *s, struct curl_slist **headers)
{
	return s->secret ? http_sink_header(headers, "Authorization", s->secret) : 0;
}

static int elastic_frame(void *state, const struct projected *p, struct bytes line,
			 struct json_buffer *out)
{
	const struct http_sink *s = state;
	size_t start = out->length;
	char id[PROJECTED_UID_ROOM];
	size_t length = projected_uid(p, id);

	json_put_literal(out, "{\"create\":{\"_index\":");
	json_put_string(out, bytes_of(knob_text(s->setup.values, "index")));
	json_put_literal(out, ",\"_id\":");
	json_put_string(out, (struct bytes){id, length});
	json_put_literal(out, "}}\n");
	json_put(out, line.data, line.size);
	json_put_literal(out, "\n");
	return json_done(out, start);
}

/* What the answer for one item means. */
static enum verdict judge_item(const json_t *item, char why[200])
{
	const json_t *result = json_object_get(item, "create"), *error;
	json_int_t status = json_integer_value(json_object_get(result, "status"));
	const char *reason, *type;

	if (status >= 200 && status < 300)
		return VERDICT_DELIVERED;
	if (status == 409)
		return VERDICT_DELIVERED; /* it is there already */
	error = json_object_get(result, "error");
	type = json_string_value(json_object_get(error, "type"));
	reason = json_string_value(json_object_get(error, "reason"));
	snprintf(why, 200, "status %" PRId64 ", %s: %s", (int64_t)status, type ? type : "?",
		 reason ? reason : "?");
	if (status == 400 || status == 413 || status == 422)
		return VERDICT_REFUSED;
	return VERDICT_OPEN;
}

/* An index that is missing or closed to us is no fault of the record's. */
static bool is_config_fault(const json_t *item)
{
	json_int_t status =
		json_integer_value(json_object_get(json_object_get(item, "create"), "status"));

	return status == 401 || status == 403 || status == 404;
}

static bool judge_items(struct http_sink *s, const json_t *items, struct sink_answer *a)
{
	a->answer = ANSWER_DONE;
	for (size_t i = 0; i < s->count; i++) {
		struct batch_item *sent = &s->batch->items[i];
		const json_t *item = json_array_get(items, i);

		free(sent->answer);
		sent->answer = NULL;
		sent->verdict = judge_item(item, sent->why);
		if (sent->verdict == VERDICT_REFUSED)
			sent->answer = json_dumps(item, JSON_COMPACT | JSON_ENSURE_ASCII);
		if (sent->verdict == VERDICT_OPEN)
			snprintf(a->why, sizeof(a->why), "%s", sent->why);
		if (is_config_fault(item))
			a->answer = ANSWER_PAUSE;
	}
	return true;
}

static bool elastic_judge(struct http_sink *s, const struct http_result *result,
			  struct sink_answer *a)
{
	json_t *reply;
	const json_t *items;

	if (!http_sink_is_good(result, a))
		return true;
	reply = http_sink_reply(result);
	items = json_object_get(reply, "items");
	if (json_array_size(items) != s->count)
		sink_answer_set(a, ANSWER_RETRY, "the answer is no answer to _bulk");
	else
		judge_items(s, items, a);
	json_decref(reply);
	return true;
}

static const struct http_kind elastic = {
	.content_type = "application/x-ndjson",
	.head = "",
	.separator = "",
	.tail = "",
	.open = elastic_open,
	.headers = elastic_headers,
	.judge = elastic_judge,
};

static int open_elastic(const struct sink_setup *setup, void **ret_state, struct knob_fault *f)
{
	return http_sink_open(setup, &elastic, ret_state, f);
}

const struct sink_type sink_elastic = {
	.name = "elastic",
	.doc = "Elasticsearch or OpenSearch, by _bulk. The _id is that of the record, so that one "
	       "that comes again is found out.",
	.format = "ecs",
	.knobs =
		(const struct knob[]){
			HTTP_KNOBS,
			{"index", KNOB_NAME, "\"vitrine\"",
			 .doc = "index or data stream that the records go to"},
			{"authorization", KNOB_SECRET,
			 .doc = "the header: \"ApiKey ...\" or \"Basic ...\""},
			{0},
		},
	.open = open_elastic,
	.frame = elastic_frame,
	.send = http_sink_send,
	.free = http_sink_free,
};
