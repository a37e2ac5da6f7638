/*
 * Webhooks, signed as Standard Webhooks 1.0 has it: the id is the same for the same records, the
 * time is that of the attempt.
 */
#include "http_sink.h"

#include "../../supervisor/record/base64.h"
#include "../../supervisor/record/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <string.h>
#include <time.h>

#define SECRET_PREFIX "whsec_"
#define SECRET_MIN 24 /* bytes, by the specification */

struct webhook {
	uint8_t key[512];
	size_t key_size;
};

static int webhook_open(struct http_sink *s, struct knob_fault *f)
{
	struct webhook *w = s->own = calloc(1, sizeof(*w));
	const char *text;
	ssize_t size;
	int r;

	if (!w)
		return -ENOMEM;
	s->url = strdup(knob_text(s->setup.values, "url"));
	r = knob_secret(s->setup.values, "secret", &s->secret, f);
	if (r < 0 || !s->secret)
		return r;
	text = s->secret;
	if (!strncmp(text, SECRET_PREFIX, strlen(SECRET_PREFIX)))
		text += strlen(SECRET_PREFIX);
	size = strlen(text) <= BASE64_LENGTH(sizeof(w->key) - 2)
		       ? base64_decode(text, strlen(text), w->key)
		       : -EINVAL;
	if (size < SECRET_MIN)
		return knob_fault_set(f, "secret",
				      "secret: it has to be " SECRET_PREFIX
				      " and the base64 of %d to 510 bytes",
				      SECRET_MIN);
	w->key_size = (size_t)size;
	return 0;
}

static void webhook_free(struct http_sink *s)
{
	struct webhook *w = s->own;

	if (w)
		OPENSSL_cleanse(w, sizeof(*w));
	free(w);
}

/* "v1," and the base64 of HMAC-SHA256(key, id.time.body) */
static int sign(const struct http_sink *s, const char *id, const char *time_text, char ret_text[64])
{
	const struct webhook *w = s->own;
	struct json_buffer message = {0};
	unsigned char digest[32];
	int r = json_write_raw(&message, id, strlen(id));

	if (r == 0)
		r = json_write_raw(&message, ".", 1);
	if (r == 0)
		r = json_write_raw(&message, time_text, strlen(time_text));
	if (r == 0)
		r = json_write_raw(&message, ".", 1);
	if (r == 0)
		r = json_write_raw(&message, s->body.text, s->body.length);
	if (r == 0)
		hash_keyed((struct bytes){w->key, w->key_size},
			   (struct bytes){message.text, message.length}, digest);
	json_buffer_free(&message);
	if (r < 0)
		return r;
	memcpy(ret_text, "v1,", 3);
	base64_encode(digest, sizeof(digest), ret_text + 3);
	ret_text[3 + BASE64_LENGTH(sizeof(digest))] = 0;
	return 0;
}

static int webhook_headers(struct http_sink *s, struct curl_slist **headers)
{
	char id[40] = "msg_", time_text[24], signature[64];
	int r;

	batch_id(s->batch, s->count, id + 4);
	snprintf(time_text, sizeof(time_text), "%" PRId64, (int64_t)time(NULL));
	r = http_sink_header(headers, "webhook-id", id);
	if (r == 0)
		r = http_sink_header(headers, "webhook-timestamp", time_text);
	if (r < 0 || !s->secret)
		return r;
	r = sign(s, id, time_text, signature);
	return r < 0 ? r : http_sink_header(headers, "webhook-signature", signature);
}

static bool webhook_judge(struct http_sink *s, const struct http_result *result,
			  struct sink_answer *a)
{
	if (http_sink_is_good(result, a)) {
		batch_judge(s->batch, s->count, VERDICT_DELIVERED, NULL);
		a->answer = ANSWER_DONE;
	} else if (result->status == 410) {
		a->answer = ANSWER_PAUSE; /* the receiver wants no more */
	}
	return true;
}

static int webhook_frame(void *state, const struct projected *p, struct bytes line,
			 struct json_buffer *out)
{
	(void)state;
	/* A line that is no JSON goes as a string. */
	if (line.size && *(const char *)line.data != '{')
		return json_write_string(out, line);
	(void)p;
	return json_write_raw(out, line.data, line.size);
}

static const struct http_kind webhook = {
	.content_type = "application/json",
	.head = "{\"type\":\"vitrine.records\",\"data\":[",
	.separator = ",",
	.tail = "]}",
	.open = webhook_open,
	.headers = webhook_headers,
	.judge = webhook_judge,
	.free = webhook_free,
};

static int open_webhook(const struct sink_setup *setup, void **ret_state, struct knob_fault *f)
{
	return http_sink_open(setup, &webhook, ret_state, f);
}

const struct sink_type sink_webhook = {
	.name = "webhook",
	.doc = "An HTTP endpoint of one's own: {\"type\": \"vitrine.records\", \"data\": [RECORD, "
	       "...]}, signed as Standard Webhooks has it.",
	.format = "jsonl",
	.knobs =
		(const struct knob[]){
			HTTP_KNOBS,
			{"secret", KNOB_SECRET, .doc = "key of the signature, whsec_..."},
			{0},
		},
	.open = open_webhook,
	.frame = webhook_frame,
	.send = http_sink_send,
	.free = http_sink_free,
};
