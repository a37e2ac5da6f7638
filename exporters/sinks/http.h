/*
 * HTTP requests in an sd-event loop, by libcurl: one client for each sink, one request of it at a
 * time, over connections that are kept.
 */
#pragma once

#include "../../supervisor/record/event.h"

#include <curl/curl.h>
#include <jansson.h>
#include <systemd/sd-event.h>

struct http_engine;

int http_engine_new(sd_event *event, struct http_engine **ret_engine);
void http_engine_free(struct http_engine *engine);

#define HTTP_REPLY_MAX (16 * 1024 * 1024)

struct http_result {
	CURLcode error; /* CURLE_OK: there was an answer */
	const char *error_text;
	long status;
	struct bytes reply; /* cut at HTTP_REPLY_MAX */
	uint64_t wait_ms;   /* Retry-After: 0 where there was none, or none that makes sense */
};

typedef void http_done(void *context, const struct http_result *result);

struct http_client;

struct http_options {
	uint64_t timeout_ms;
	bool gzip;
	const char *ca_file, *cert_file, *key_file; /* may be NULL; copied by libcurl */
};

int http_client_new(struct http_engine *engine, const struct http_options *options,
		    struct http_client **ret_client);
void http_client_free(struct http_client *client);

/*
 * POST @body (copied or compressed) to @url with @headers (owned by the client from then on). @done
 * is called later, never within this call. 0 or -ENOMEM.
 */
int http_client_post(struct http_client *client, const char *url, struct curl_slist *headers,
		     struct bytes body, http_done *done, void *context);

/*
 * Connect to @url ("http://host:port" for plain TCP, "https://..." for TLS) and stay connected, to
 * use http_client_send. @done says whether it is; the status is 0 then.
 */
int http_client_connect(struct http_client *client, const char *url, http_done *done,
			void *context);

/* Write to the connection: bytes taken, -EAGAIN, or another -errno when it is gone. */
ssize_t http_client_send(struct http_client *client, const void *data, size_t size);
/* 0 where the peer said nothing; 1 where it did, which is read; -ENODATA where it ended the
 * connection, another -errno where that broke. */
int http_client_drain(struct http_client *client);
int http_client_fd(struct http_client *client);
void http_client_disconnect(struct http_client *client);
