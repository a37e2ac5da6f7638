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

#define UNKNOWN_TABLE 60

/* The base URL with @query as its query, and the settings that all of ours have. */
static char *url_of(const struct http_sink *s, const char *query)
{
	char *quoted = curl_easy_escape(NULL, query, 0), *url = NULL;
	const char *base = knob_text(s->setup.values, "url");

	if (!quoted || asprintf(&url, "%s%cwait_end_of_query=1&query=%s", base,
				strchr(base, '?') ? '&' : '?', quoted) < 0)
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
	/* Nothing that servers of ten years do not know. */
	static const char columns[] =
		" (session String, seq UInt64, time_ns UInt64, "
		"time DateTime, "
		"kind String, record String) "
		"ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(time) ORDER BY "
		"(session, seq, if(seq = 0 AND kind != 'checkpoint', time_ns, 0))";
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
	json_put_literal(out, ",\"time_ns\":");
	json_put_u64(out, p->event->time_ns);
	json_put_literal(out, ",\"time\":");
	json_put_u64(out, p->event->time_ns / 1000000000);
	json_put_literal(out, ",\"kind\":");
	json_put_string(out, bytes_of(kind_table[p->event->kind].name));
	json_put_literal(out, ",\"record\":");
	json_put_string(out, line);
	json_put_literal(out, "}\n");
	return json_done(out, start);
}

/* The number of the error that the answer tells of; 0: it tells of none. It can come behind a 200:
 * the head was sent before the query failed. */
static unsigned error_code(struct bytes reply)
{
	static const char word[] = "Code: ";
	const char *at = memmem(reply.data, reply.size, word, sizeof(word) - 1);
	const char *end = (const char *)reply.data + reply.size;
	unsigned code = 0;

	if (!at || !memmem(reply.data, reply.size, "DB::", 4))
		return 0;
	for (at += sizeof(word) - 1; at < end && *at >= '0' && *at <= '9' && code < 100000; at++)
		code = code * 10 + (unsigned)(*at - '0');
	return code;
}

/* What an error means, where the status of HTTP (mostly 500) does not say. */
static enum answer meaning_of(unsigned code, enum answer otherwise)
{
	static const struct {
		unsigned code;
		enum answer answer;
	} meanings[] = {
		{6, ANSWER_SPLIT},	       /* cannot parse a text */
		{26, ANSWER_SPLIT},	       /* nor a quoted one */
		{27, ANSWER_SPLIT},	       /* nor the input */
		{117, ANSWER_SPLIT},	       /* incorrect data */
		{16, ANSWER_PAUSE},	       /* no such column */
		{47, ANSWER_PAUSE},	       /* unknown name */
		{62, ANSWER_PAUSE},	       /* syntax: the name of the table */
		{81, ANSWER_PAUSE},	       /* no such database */
		{115, ANSWER_PAUSE},	       /* unknown setting */
		{164, ANSWER_PAUSE},	       /* read only */
		{192, ANSWER_PAUSE},	       /* unknown user */
		{193, ANSWER_PAUSE},	       /* wrong password */
		{194, ANSWER_PAUSE},	       /* password missing */
		{291, ANSWER_PAUSE},	       /* no access to the database */
		{497, ANSWER_PAUSE},	       /* no access */
		{516, ANSWER_PAUSE},	       /* authentication failed */
		{UNKNOWN_TABLE, ANSWER_RETRY}, /* it is made first */
	};

	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (meanings[i].code == code)
			return meanings[i].answer;
	return otherwise;
}

static bool clickhouse_judge(struct http_sink *s, const struct http_result *result,
			     struct sink_answer *a)
{
	unsigned code = error_code(result->reply);
	bool is_good = http_sink_is_good(result, a);

	if (is_good && !code) {
		batch_judge(s->batch, s->count, VERDICT_DELIVERED, NULL);
		a->answer = ANSWER_DONE;
		return true;
	}
	if (code == UNKNOWN_TABLE)
		s->is_prepared = false;
	if (code)
		sink_answer_set(a, meaning_of(code, is_good ? ANSWER_RETRY : a->answer), "%.*s",
				(int)(result->reply.size > 300 ? 300 : result->reply.size),
				(const char *)result->reply.data);
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
	.doc = "A ClickHouse server. The table, made where it is not there, has the columns "
	       "session, seq, time_ns, time, kind and record, the whole line; of rows of the same "
	       "record it keeps one (SELECT ... FINAL). The newest checkpoint of a session is its "
	       "row of that kind; what was done with its record has the seq 0, too.",
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
