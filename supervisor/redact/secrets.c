/*
 * Exact search by the first byte: for each byte of a text, the few secrets that begin with it are
 * compared. A text without any of those bytes costs one look-up a byte.
 */
#include "secrets.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KEY_SIZE 32
#define TAG_BYTES 4
#define NAME_MOST 64
#define NO_SECRET UINT16_MAX
#define SECRETS_MOST 4096

struct secret {
	char name[NAME_MOST + 1];
	char marker[NAME_MOST + 32];
	size_t marker_size;
	const uint8_t *value; /* in the locked memory */
	size_t size;
	uint16_t next; /* of those with the same first byte */
};

/* What must not be seen: one locked mapping. */
struct vault {
	size_t size; /* of the mapping */
	uint8_t key[KEY_SIZE];
	uint8_t values[];
};

struct secrets {
	struct vault *vault;
	uint16_t first[256];
	size_t count, longest;
	struct secret items[];
};

void secrets_free(struct secrets *s)
{
	size_t size;

	if (!s)
		return;
	if (s->vault) {
		size = s->vault->size;
		OPENSSL_cleanse(s->vault, size);
		munmap(s->vault, size);
	}
	free(s);
}

/* NULL, with errno, where the memory cannot be had or locked. */
static struct vault *vault_new(size_t values_size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (sizeof(struct vault) + values_size + page - 1) / page * page;
	struct vault *v =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (v == MAP_FAILED)
		return NULL;
	if (mlock(v, size) || madvise(v, size, MADV_DONTDUMP)) {
		int error = errno;

		munmap(v, size);
		errno = error;
		return NULL;
	}
	v->size = size;
	return v;
}

/* A name goes into the record: only what can do nothing there stays of it. */
static void take_name(struct secret *secret, const char *name)
{
	static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				   "_.-";
	size_t length = strnlen(name, NAME_MOST);

	for (size_t i = 0; i < length; i++)
		secret->name[i] = strchr(good, name[i]) ? name[i] : '_';
}

static void make_marker(const struct secrets *s, struct secret *secret)
{
	uint8_t digest[EVENT_DIGEST_SIZE];
	uint32_t tag = 0;

	secrets_digest(s, (struct bytes){secret->value, secret->size}, digest);
	for (size_t i = 0; i < TAG_BYTES; i++)
		tag = tag << 8 | digest[i];
	secret->marker_size = (size_t)snprintf(secret->marker, sizeof(secret->marker),
					       "[REDACTED:%s:%08x]", secret->name, tag);
}

static void take_secrets(struct secrets *s, const struct redact_secret *list)
{
	uint8_t *at = s->vault->values;

	memset(s->first, 0xff, sizeof(s->first));
	/* From the last, so that of equal secrets the first is found first. */
	for (size_t i = s->count; i--;) {
		struct secret *secret = &s->items[i];

		memcpy(at, list[i].value, list[i].size);
		secret->value = at;
		secret->size = list[i].size;
		secret->next = s->first[*at];
		s->first[*at] = (uint16_t)i;
		at += list[i].size;
		if (secret->size > s->longest)
			s->longest = secret->size;
		take_name(secret, list[i].name);
		make_marker(s, secret);
	}
}

int secrets_new(const uint8_t key[32], const struct redact_secret *list, size_t count,
		struct secrets **ret_secrets)
{
	struct secrets *s;
	size_t size = 0;

	if (count > SECRETS_MOST)
		return -E2BIG;
	for (size_t i = 0; i < count; i++) {
		if (list[i].size < REDACT_SECRET_MIN)
			return -EINVAL;
		size += list[i].size;
	}
	s = calloc(1, sizeof(*s) + count * sizeof(*s->items));
	if (!s)
		return -ENOMEM;
	s->vault = vault_new(size);
	if (!s->vault) {
		int r = -errno;

		free(s);
		return r;
	}
	memcpy(s->vault->key, key, KEY_SIZE);
	s->count = count;
	take_secrets(s, list);
	*ret_secrets = s;
	return 0;
}

size_t secrets_count(const struct secrets *s)
{
	return s->count;
}

size_t secrets_longest(const struct secrets *s)
{
	return s->longest;
}

const char *secrets_name(const struct secrets *s, size_t secret)
{
	return s->items[secret].name;
}

struct bytes secrets_marker(const struct secrets *s, size_t secret)
{
	return (struct bytes){s->items[secret].marker, s->items[secret].marker_size};
}

void secrets_digest(const struct secrets *s, struct bytes data,
		    uint8_t ret_digest[EVENT_DIGEST_SIZE])
{
	HMAC(EVP_sha256(), s->vault->key, KEY_SIZE, data.size ? data.data : "", data.size,
	     ret_digest, NULL);
}

void spans_free(struct spans *spans)
{
	free(spans->items);
	*spans = (struct spans){0};
}

int spans_add(struct spans *spans, struct span span)
{
	struct span *larger;

	if (!spans->items || spans->count == spans->room) {
		size_t room = spans->room ? 2 * spans->room : 16;

		larger = reallocarray(spans->items, room, sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		spans->items = larger;
		spans->room = room;
	}
	spans->items[spans->count++] = span;
	return 0;
}

/* The longest secret that stands at @at of @text; its size, 0 if there is none. */
static size_t match_at(const struct secrets *s, struct bytes text, size_t at, size_t *ret_secret)
{
	const uint8_t *data = (const uint8_t *)text.data + at;
	size_t left = text.size - at, longest = 0;

	for (uint16_t i = s->first[*data]; i != NO_SECRET; i = s->items[i].next) {
		const struct secret *secret = &s->items[i];

		if (secret->size > left || secret->size <= longest ||
		    memcmp(secret->value, data, secret->size) != 0)
			continue;
		longest = secret->size;
		*ret_secret = i;
	}
	return longest;
}

int secrets_find(const struct secrets *s, struct bytes text, struct spans *spans)
{
	const uint8_t *data = text.data;

	for (size_t at = 0; at < text.size; at++) {
		struct span *last = spans->count ? &spans->items[spans->count - 1] : NULL;
		size_t secret, size;
		int r;

		if (s->first[data[at]] == NO_SECRET)
			continue;
		size = match_at(s, text, at, &secret);
		if (!size)
			continue;
		if (last && at < last->end) {
			if (at + size > last->end)
				last->end = at + size;
			continue;
		}
		r = spans_add(spans, (struct span){at, at + size, .secret = secret});
		if (r)
			return r;
	}
	return 0;
}

size_t secrets_begun(const struct secrets *s, struct bytes text, size_t *ret_secret)
{
	const uint8_t *data = text.data;
	size_t at = text.size >= s->longest ? text.size - s->longest + 1 : 0;

	for (; at < text.size; at++) {
		for (uint16_t i = s->first[data[at]]; i != NO_SECRET; i = s->items[i].next) {
			const struct secret *secret = &s->items[i];

			if (secret->size <= text.size - at ||
			    memcmp(secret->value, data + at, text.size - at) != 0)
				continue;
			*ret_secret = i;
			return at;
		}
	}
	return text.size;
}
