/*
 * Sending by HTTP.
 */
#include "http_sink.h"

#include "../../supervisor/record/cleanup.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

int http_sink_open(const struct sink_setup *setup, const struct http_kind *kind, void **ret_state,
		   struct knob_fault *f)
{
	const struct http_options options = {
		.timeout_ms = (uint64_t)knob_number(setup->values, "timeout_s") * 1000,
		.gzip = knob_bool(setup->values, "gzip"),
		.ca_file = knob_text(setup->values, "ca_file"),
		.cert_file = knob_text(setup->values, "cert_file"),
		.key_file = knob_text(setup->values, "key_file"),
	};
	struct http_sink *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->setup = *setup;
	s->kind = kind;
	r = kind->open(s, f);
	if (r == 0 && !s->url)
		r = -ENOMEM;
	/* A configuration that is only checked has no engine. */
	if (r == 0 && setup->http)
		r = http_client_new(setup->http, &options, &s->client);
	if (r < 0) {
		http_sink_free(s);
		return r;
	}
	*ret_state = s;
	return 0;
}

void http_sink_free(void *state)
{
	struct http_sink *s = state;

	if (s->kind->free)
		s->kind->free(s);
	http_client_free(s->client);
	json_buffer_free(&s->body);
	free(s->url);
	if (s->secret)
		explicit_bzero(s->secret, strlen(s->secret));
	free(s->secret);
	free(s);
}

void http_sink_answer(struct http_sink *s, const struct sink_answer *a)
{
	s->batch = NULL;
	s->setup.answer(s->setup.lane, a);
}

void http_sink_done(void *context, const struct http_result *result)
{
	struct http_sink *s = context;
	struct sink_answer a = {0};

	batch_set_answer(s->batch, result->error ? 0 : result->status, result->reply);
	if (result->error) {
		sink_answer_set(&a, ANSWER_RETRY, "%s", result->error_text);
		http_sink_answer(s, &a);
	} else if (s->kind->judge(s, result, &a)) {
		a.wait_ms = result->wait_ms;
		http_sink_answer(s, &a);
	}
}

static int send_batch(struct http_sink *s)
{
	const struct http_kind *kind = s->kind;
	struct curl_slist *headers = NULL;
	int r;

	s->body.length = 0;
	r = batch_join(s->batch, s->count, kind->head, kind->separator, kind->tail, &s->body);
	if (r == 0)
		r = http_sink_header(&headers, "Content-Type", kind->content_type);
	if (r == 0 && kind->headers)
		r = kind->headers(s, &headers);
	if (r < 0) {
		curl_slist_free_all(headers);
		return r;
	}
	return http_client_post(s->client, s->url, headers,
				(struct bytes){s->body.text, s->body.length}, http_sink_done, s);
}

static void on_prepared(void *context, const struct http_result *result)
{
	struct http_sink *s = context;
	struct sink_answer a = {0};

	if (result->error)
		sink_answer_set(&a, ANSWER_RETRY, "%s", result->error_text);
	else if (http_sink_is_good(result, &a))
		s->is_prepared = true;
	if (s->is_prepared && send_batch(s) < 0)
		sink_answer_set(&a, ANSWER_RETRY, "out of memory");
	else if (s->is_prepared)
		return;
	a.answer = a.answer == ANSWER_SPLIT ? ANSWER_PAUSE : a.answer;
	a.wait_ms = result->wait_ms;
	http_sink_answer(s, &a);
}

static int prepare(struct http_sink *s, bool *ret_is_asked)
{
	struct curl_slist *headers = NULL;
	cleanup(free) char *url = NULL;
	int r;

	s->body.length = 0;
	*ret_is_asked = !s->is_prepared && s->kind->prepare && s->kind->prepare(s, &s->body, &url);
	if (!*ret_is_asked)
		return 0;
	r = url ? 0 : -ENOMEM;
	if (r == 0 && s->kind->headers)
		r = s->kind->headers(s, &headers);
	if (r < 0) {
		curl_slist_free_all(headers);
		return r;
	}
	return http_client_post(s->client, url, headers,
				(struct bytes){s->body.text, s->body.length}, on_prepared, s);
}

void http_sink_send(void *state, struct batch *b, size_t count)
{
	struct http_sink *s = state;
	struct sink_answer a = {0};
	bool is_asked;
	int r;

	s->batch = b;
	s->count = count;
	r = prepare(s, &is_asked);
	if (r == 0 && !is_asked)
		r = send_batch(s);
	if (r == 0)
		return;
	sink_answer_set(&a, ANSWER_RETRY, "%s", strerror(-r));
	http_sink_answer(s, &a);
}

bool http_sink_is_good(const struct http_result *result, struct sink_answer *a)
{
	long status = result->status;
	int length = result->reply.size > 200 ? 200 : (int)result->reply.size;
	enum answer answer;

	if (status >= 200 && status < 300)
		return true;
	if (status == 408 || status == 429 || status >= 500 || status < 200)
		answer = ANSWER_RETRY;
	else if (status < 400 || status == 401 || status == 403 || status == 404 || status == 405 ||
		 status == 407)
		answer = ANSWER_PAUSE;
	else
		answer = ANSWER_SPLIT;
	sink_answer_set(a, answer, "HTTP %ld: %.*s", status, length,
			(const char *)result->reply.data);
	return false;
}

int http_sink_header(struct curl_slist **headers, const char *name, const char *value)
{
	cleanup(free) char *line = NULL;
	struct curl_slist *longer;

	if (asprintf(&line, "%s: %s", name, value) < 0) {
		line = NULL;
		return -ENOMEM;
	}
	longer = curl_slist_append(*headers, line);
	if (!longer)
		return -ENOMEM;
	*headers = longer;
	return 0;
}

char *http_sink_url(const struct http_sink *s, const char *path)
{
	const char *base = knob_text(s->setup.values, "url");
	const char *host = strstr(base, "://") + 3;
	size_t length = strlen(base);
	char *url;

	if (host[strcspn(host, "/?")] && strcmp(host + strcspn(host, "/?"), "/"))
		return strdup(base);
	while (length && base[length - 1] == '/')
		length--;
	return asprintf(&url, "%.*s%s", (int)length, base, path) < 0 ? NULL : url;
}

json_t *http_sink_reply(const struct http_result *result)
{
	return json_loadb(result->reply.data, result->reply.size,
			  JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
}
