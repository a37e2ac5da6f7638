/*
 * ClickHouse, by its HTTP interface: a row a record, with the whole line in it, into a table that
 * is made on demand and keeps one of those that come twice.
 */
#include "http_sink.h"

#include "../../supervisor/record/cleanup.h"
#include "../../supervisor/record/json_put.h"
#include "../../supervisor/record/printable.h"

#include <errno.h>
#include <string.h>

#define UNKNOWN_TABLE "Code: 60."

/* The base URL with @query as its query, and the settings that all of ours have. */
static char *url_of(const struct http_sink *s, const char *query)
{
	char *quoted = curl_easy_escape(NULL, query, 0), *url = NULL;
	const char *base = knob_text(s->setup.values, "url");

	if (!quoted || asprintf(&url,
				"%s%cwait_end_of_query=1&date_time_input_format=best_effort&"
				"query=%s",
				base, strchr(base, '?') ? '&' : '?', quoted) < 0)
		url = NULL;
	curl_free(quoted);
	return url;
}

static int clickhouse_open(struct http_sink *s, struct knob_fault *f)
{
	cleanup(free) char *query = NULL;

	if (asprintf(&query, "INSERT INTO %s FORMAT JSONEachRow",
		     knob_text(s->setup.values, "table")) < 0) {
		query = NULL;
		return -ENOMEM;
	}
	s->url = url_of(s, query);
	return knob_secret(s->setup.values, "password", &s->secret, f);
}

static int clickhouse_headers(struct http_sink *s, struct curl_slist **headers)
{
	int r = http_sink_header(headers, "X-ClickHouse-User", knob_text(s->setup.values, "user"));

	return r < 0 || !s->secret ? r : http_sink_header(headers, "X-ClickHouse-Key", s->secret);
}

static bool clickhouse_prepare(struct http_sink *s, struct json_buffer *body, char **ret_url)
{
	static const char columns[] =
		" (session String, seq UInt64, time DateTime64(9, 'UTC'), "
		"kind LowCardinality(String), record String CODEC(ZSTD(3))) "
		"ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(time) ORDER BY (session, seq)";
	const char *base = knob_text(s->setup.values, "url");
	const char *table = knob_text(s->setup.values, "table");

	json_put_literal(body, "CREATE TABLE IF NOT EXISTS ");
	json_put(body, table, strlen(table));
	json_put_literal(body, columns);
	if (json_done(body, 0) < 0)
		return false;
	*ret_url = strdup(base);
	return true;
}

static int clickhouse_frame(void *state, const struct projected *p, struct bytes line,
			    struct json_buffer *out)
{
	size_t start = out->length;

	(void)state;
	json_put_literal(out, "{\"session\":");
	json_put_string(out, bytes_of(p->session));
	json_put_literal(out, ",\"seq\":");
	json_put_u64(out, p->event->seq);
	json_put_literal(out, ",\"time\":");
	json_put_time(out, p->event->time_ns);
	json_put_literal(out, ",\"kind\":");
	json_put_string(out, bytes_of(kind_table[p->event->kind].name));
	json_put_literal(out, ",\"record\":");
	json_put_string(out, line);
	json_put_literal(out, "}\n");
	return json_done(out, start);
}

static bool clickhouse_judge(struct http_sink *s, const struct http_result *result,
			     struct sink_answer *a)
{
	bool is_unknown = memmem(result->reply.data, result->reply.size, UNKNOWN_TABLE,
				 strlen(UNKNOWN_TABLE)) != NULL;

	/* An error can come behind a 200: the head was sent before the query failed. */
	bool is_good = http_sink_is_good(result, a) &&
		       !memmem(result->reply.data, result->reply.size, "DB::Exception", 13);

	if (is_good) {
		batch_judge(s->batch, s->count, VERDICT_DELIVERED, NULL);
		a->answer = ANSWER_DONE;
		return true;
	}
	if (is_unknown || result->status < 300) {
		s->is_prepared = !is_unknown;
		sink_answer_set(a, ANSWER_RETRY, "%.*s",
				(int)(result->reply.size > 200 ? 200 : result->reply.size),
				(const char *)result->reply.data);
	}
	return true;
}

static const struct http_kind clickhouse = {
	.content_type = "application/x-ndjson",
	.head = "",
	.separator = "",
	.tail = "",
	.open = clickhouse_open,
	.headers = clickhouse_headers,
	.judge = clickhouse_judge,
	.prepare = clickhouse_prepare,
};

static int open_clickhouse(const struct sink_setup *setup, void **ret_state, struct knob_fault *f)
{
	return http_sink_open(setup, &clickhouse, ret_state, f);
}

const struct sink_type sink_clickhouse = {
	.name = "clickhouse",
	.doc = "A ClickHouse server. The table has the columns session, seq, time, kind and "
	       "record, "
	       "the whole line; of rows with equal session and seq it keeps one (SELECT ... "
	       "FINAL).",
	.format = "jsonl",
	.knobs =
		(const struct knob[]){
			HTTP_KNOBS,
			{"table", KNOB_NAME, "\"vitrine\"", .doc = "table, or database.table"},
			{"user", KNOB_TEXT, "\"default\"", .doc = "who inserts"},
			{"password", KNOB_SECRET, .doc = "the user's password"},
			{0},
		},
	.open = open_clickhouse,
	.frame = clickhouse_frame,
	.send = http_sink_send,
	.free = http_sink_free,
};
