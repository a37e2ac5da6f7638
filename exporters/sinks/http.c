/*
 * libcurl's multi interface on sd-event: sockets and one timer.
 */
#include "http.h"
#include "retry_after.h"

#include "../../supervisor/record/cleanup.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#define CONNECT_MS 10000

struct http_engine {
	sd_event *event;
	CURLM *multi;
	sd_event_source *timer;
};

struct http_client {
	struct http_engine *engine;
	CURL *easy;
	struct curl_slist *headers;
	struct http_options options;
	char *body, *reply; /* owned */
	size_t reply_size, reply_room;
	bool is_added; /* to the multi handle */
	http_done *done;
	void *context;
	char error[CURL_ERROR_SIZE];
};

/* ---- the engine ---- */

static void finish(struct http_engine *engine, CURL *easy, CURLcode error)
{
	struct http_client *client;
	struct http_result result = {.error = error};
	struct curl_header *after = NULL;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&client);
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &result.status);
	if (curl_easy_header(easy, "Retry-After", 0, CURLH_HEADER, -1, &after) == CURLHE_OK)
		result.wait_ms = retry_after_ms(after->value, time(NULL));
	result.error_text = client->error[0] ? client->error : curl_easy_strerror(error);
	result.reply = (struct bytes){client->reply ? client->reply : "", client->reply_size};
	/* A connection that is to be kept belongs to the handle as long as it is added. */
	if (client->done && (error || result.status)) {
		curl_multi_remove_handle(engine->multi, easy);
		client->is_added = false;
	}
	http_done *done = client->done;
	client->done = NULL;
	if (done)
		done(client->context, &result);
}

static void reap(struct http_engine *engine)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(engine->multi, &left)))
		if (message->msg == CURLMSG_DONE)
			finish(engine, message->easy_handle, message->data.result);
}

static int on_socket(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct http_engine *engine = context;
	int mask = (events & EPOLLIN ? CURL_CSELECT_IN : 0) |
		   (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
		   (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
	int running;

	(void)source;
	curl_multi_socket_action(engine->multi, fd, mask, &running);
	reap(engine);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *context)
{
	struct http_engine *engine = context;
	int running;

	(void)source, (void)usec;
	curl_multi_socket_action(engine->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	reap(engine);
	return 0;
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *assigned)
{
	struct http_engine *engine = context;
	sd_event_source *source = assigned;
	uint32_t events =
		(what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		sd_event_source_disable_unref(source);
		curl_multi_assign(engine->multi, fd, NULL);
		return 0;
	}
	if (source)
		return sd_event_source_set_io_events(source, events) < 0 ? -1 : 0;
	if (sd_event_add_io(engine->event, &source, fd, events, on_socket, engine) < 0)
		return -1;
	curl_multi_assign(engine->multi, fd, source);
	return 0;
}

static int watch_timer(CURLM *multi, long timeout_ms, void *context)
{
	struct http_engine *engine = context;

	(void)multi;
	if (timeout_ms < 0)
		return sd_event_source_set_enabled(engine->timer, SD_EVENT_OFF);
	sd_event_source_set_time_relative(engine->timer, (uint64_t)timeout_ms * 1000);
	return sd_event_source_set_enabled(engine->timer, SD_EVENT_ONESHOT);
}

int http_engine_new(sd_event *event, struct http_engine **ret_engine)
{
	struct http_engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return -ENOMEM;
	engine->event = event;
	engine->multi = curl_multi_init();
	if (!engine->multi || sd_event_add_time_relative(event, &engine->timer, CLOCK_MONOTONIC, 0,
							 1000, on_timer, engine) < 0) {
		http_engine_free(engine);
		return -ENOMEM;
	}
	sd_event_source_set_enabled(engine->timer, SD_EVENT_OFF);
	curl_multi_setopt(engine->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
	curl_multi_setopt(engine->multi, CURLMOPT_SOCKETDATA, engine);
	curl_multi_setopt(engine->multi, CURLMOPT_TIMERFUNCTION, watch_timer);
	curl_multi_setopt(engine->multi, CURLMOPT_TIMERDATA, engine);
	*ret_engine = engine;
	return 0;
}

void http_engine_free(struct http_engine *engine)
{
	if (!engine)
		return;
	curl_multi_cleanup(engine->multi);
	sd_event_source_disable_unref(engine->timer);
	free(engine);
}

/* ---- clients ---- */

static size_t take_reply(char *data, size_t size, size_t count, void *context)
{
	struct http_client *client = context;
	size_t length = size * count, room = client->reply_room ? client->reply_room : 4096;

	if (client->reply_size >= HTTP_REPLY_MAX)
		return length; /* the rest is of no interest, but has to be read */
	while (room < client->reply_size + length)
		room *= 2;
	if (room > client->reply_room) {
		char *reply = realloc(client->reply, room);

		if (!reply)
			return 0;
		client->reply = reply;
		client->reply_room = room;
	}
	memcpy(client->reply + client->reply_size, data, length);
	client->reply_size += length;
	return length;
}

int http_client_new(struct http_engine *engine, const struct http_options *options,
		    struct http_client **ret_client)
{
	struct http_client *client = calloc(1, sizeof(*client));

	if (!client)
		return -ENOMEM;
	client->engine = engine;
	client->options = *options;
	client->easy = curl_easy_init();
	if (!client->easy) {
		free(client);
		return -ENOMEM;
	}
	CURL *easy = client->easy;
	curl_easy_setopt(easy, CURLOPT_PRIVATE, client);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, client->error);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_reply);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, client);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)options->timeout_ms);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "vitrine-export/" VITRINE_VERSION);
	curl_easy_setopt(easy, CURLOPT_COOKIEFILE,
			 ""); /* behind a balancer, stay with one server */
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	if (options->ca_file)
		curl_easy_setopt(easy, CURLOPT_CAINFO, options->ca_file);
	if (options->cert_file)
		curl_easy_setopt(easy, CURLOPT_SSLCERT, options->cert_file);
	if (options->key_file)
		curl_easy_setopt(easy, CURLOPT_SSLKEY, options->key_file);
	*ret_client = client;
	return 0;
}

static int start(struct http_client *client, http_done *done, void *context)
{
	client->reply_size = 0;
	client->error[0] = 0;
	client->done = done;
	client->context = context;
	if (curl_multi_add_handle(client->engine->multi, client->easy))
		return -ENOMEM;
	client->is_added = true;
	return 0;
}

/* The body as it goes over the wire. */
static int set_body(struct http_client *client, struct bytes body, bool gzip, size_t *ret_size)
{
	z_stream z = {0};
	size_t room = gzip ? 0 : body.size;

	if (gzip) {
		if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY))
			return -ENOMEM;
		room = deflateBound(&z, body.size);
	}
	free(client->body);
	client->body = malloc(room + !room);
	if (!client->body) {
		deflateEnd(&z);
		return -ENOMEM;
	}
	if (!gzip) {
		memcpy(client->body, body.data, body.size);
		*ret_size = body.size;
		return 0;
	}
	z.next_in = (Bytef *)body.data;
	z.avail_in = (uInt)body.size;
	z.next_out = (Bytef *)client->body;
	z.avail_out = (uInt)room;
	deflate(&z, Z_FINISH);
	*ret_size = z.total_out;
	deflateEnd(&z);
	return 0;
}

int http_client_post(struct http_client *client, const char *url, struct curl_slist *headers,
		     struct bytes body, http_done *done, void *context)
{
	bool gzip = client->options.gzip && body.size > 512;
	size_t size;
	int r;

	curl_slist_free_all(client->headers);
	client->headers = headers;
	r = set_body(client, body, gzip, &size);
	if (r < 0)
		return r;
	if (gzip)
		client->headers = curl_slist_append(headers, "Content-Encoding: gzip");
	/* Who waits for "100 Continue" from a receiver that knows it not loses a second. */
	client->headers = curl_slist_append(client->headers, "Expect:");
	curl_easy_setopt(client->easy, CURLOPT_URL, url);
	curl_easy_setopt(client->easy, CURLOPT_POST, 1L);
	curl_easy_setopt(client->easy, CURLOPT_POSTFIELDS, client->body);
	curl_easy_setopt(client->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	curl_easy_setopt(client->easy, CURLOPT_HTTPHEADER, client->headers);
	return start(client, done, context);
}

/* ---- bare connections ---- */

int http_client_connect(struct http_client *client, const char *url, http_done *done, void *context)
{
	http_client_disconnect(client);
	curl_easy_setopt(client->easy, CURLOPT_URL, url);
	curl_easy_setopt(client->easy, CURLOPT_CONNECT_ONLY, 1L);
	/* A connection that is left over may be half dead. */
	curl_easy_setopt(client->easy, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(client->easy, CURLOPT_TIMEOUT_MS, (long)CONNECT_MS);
	return start(client, done, context);
}

static int errno_of(CURLcode error)
{
	return error == CURLE_AGAIN ? -EAGAIN : -EPIPE;
}

ssize_t http_client_send(struct http_client *client, const void *data, size_t size)
{
	size_t sent = 0;
	CURLcode error = curl_easy_send(client->easy, data, size, &sent);

	return error ? errno_of(error) : (ssize_t)sent;
}

int http_client_drain(struct http_client *client)
{
	char reply[512];
	size_t n;
	CURLcode error = curl_easy_recv(client->easy, reply, sizeof(reply), &n);

	if (error == CURLE_AGAIN)
		return 0;
	return error ? errno_of(error) : n == 0 ? -ENODATA : 1;
}

int http_client_fd(struct http_client *client)
{
	curl_socket_t fd = CURL_SOCKET_BAD;

	curl_easy_getinfo(client->easy, CURLINFO_ACTIVESOCKET, &fd);
	return fd == CURL_SOCKET_BAD ? -1 : fd;
}

void http_client_disconnect(struct http_client *client)
{
	if (client->is_added)
		curl_multi_remove_handle(client->engine->multi, client->easy);
	client->is_added = false;
}

void http_client_free(struct http_client *client)
{
	if (!client)
		return;
	http_client_disconnect(client);
	curl_easy_cleanup(client->easy);
	curl_slist_free_all(client->headers);
	free(client->body);
	free(client->reply);
	free(client);
}
