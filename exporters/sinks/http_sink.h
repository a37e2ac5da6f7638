/*
 * What sinks that POST batches have in common. A kind says how its requests look and what the
 * answers mean.
 */
#pragma once

#include "http.h"
#include "sink.h"

struct http_sink;

struct http_kind {
	const char *content_type;
	const char *head, *separator, *tail; /* around the records of a request */
	/* Set .url and what else the kind needs. 0 or -errno, a fault for -EINVAL. */
	int (*open)(struct http_sink *s, struct knob_fault *f);
	/* Add headers; the body is in s->body. 0 or -ENOMEM. May be NULL. */
	int (*headers)(struct http_sink *s, struct curl_slist **headers);
	/* What the answer means. False: it is not known yet, http_sink_answer comes later. */
	bool (*judge)(struct http_sink *s, const struct http_result *result, struct sink_answer *a);
	/* Something has to be asked before the first batch: write it, or return false. May be NULL.
	 */
	bool (*prepare)(struct http_sink *s, struct json_buffer *body, char **ret_url);
	void (*free)(struct http_sink *s); /* what .open added; may be NULL */
};

struct http_sink {
	struct sink_setup setup;
	const struct http_kind *kind;
	struct http_client *client;
	struct json_buffer body;
	char *url;    /* owned */
	char *secret; /* owned; NULL: there is none */
	struct batch *batch;
	size_t count;	  /* of items that are being sent */
	bool is_prepared; /* what has to be asked before was answered */
	void *own;	  /* of the kind */
};

/* Rows for the table of each kind. */
/* clang-format off */
#define HTTP_KNOBS                                                                              \
	{"url", KNOB_URL, .is_required = true, .doc = "where to"},                              \
	{"timeout_s", KNOB_NUMBER, "30", .min = 1, .max = 3600, .doc = "for one request"},       \
	{"concurrency", KNOB_NUMBER, "1", .min = 1, .max = 32,                                   \
	 .doc = "requests at once; each session is in one of them at a time"},                   \
	{"gzip", KNOB_BOOL, "true", .doc = "compress requests"},                                \
	{"ca_file", KNOB_PATH, .doc = "certificates to trust instead of the system's"},          \
	{"cert_file", KNOB_PATH, .doc = "certificate to show"},                                 \
	{"key_file", KNOB_PATH, .doc = "its private key"}
/* clang-format on */

int http_sink_open(const struct sink_setup *setup, const struct http_kind *kind, void **ret_state,
		   struct knob_fault *f);
void http_sink_send(void *state, struct batch *b, size_t count);
void http_sink_free(void *state);
/* The answer to a batch is there; @context is the sink. */
void http_sink_done(void *context, const struct http_result *result);
void http_sink_answer(struct http_sink *s, const struct sink_answer *a);

/* True for 2xx; else *a is what the status means for those that have no say of their own. */
bool http_sink_is_good(const struct http_result *result, struct sink_answer *a);

/* Append "NAME: VALUE". 0 or -ENOMEM. */
int http_sink_header(struct curl_slist **headers, const char *name, const char *value);

/* URL of the configuration with @path appended where it has none of its own. */
char *http_sink_url(const struct http_sink *s, const char *path);

/* The reply as JSON, NULL where it is none; freed by the caller. */
json_t *http_sink_reply(const struct http_result *result);
