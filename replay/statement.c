/*
 * Statements and envelopes.
 */
#include "statement.h"

#include "../supervisor/record/base64.h"
#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/hash.h"
#include "../supervisor/record/jansson_cleanup.h"
#include "../supervisor/record/ledger_write.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#define CHUNK (64u << 10)

/* ---- the statement ---- */

static int hash_file(int dir_fd, const char *name, uint8_t ret_hash[HASH_SIZE])
{
	cleanup(close_fd) int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	cleanup(free) uint8_t *chunk = malloc(CHUNK);
	struct hash h;
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (!chunk)
		return -ENOMEM;
	hash_begin(&h);
	while ((n = read(fd, chunk, CHUNK)) > 0)
		hash_add(&h, chunk, (size_t)n);
	if (n < 0)
		return -errno;
	hash_end(&h, ret_hash);
	return 0;
}

static int hash_member(const struct member *m, char ret_hex[2 * HASH_SIZE + 1])
{
	uint8_t hash[HASH_SIZE] = {0};
	int r = 0;

	if (m->text)
		hash_bytes((struct bytes){m->text, m->size}, hash);
	else
		r = hash_file(m->dir_fd, m->name, hash);
	for (size_t i = 0; !r && i < HASH_SIZE; i++)
		snprintf(ret_hex + 2 * i, 3, "%02x", hash[i]);
	return r;
}

static json_t *base64_json(const void *data, size_t size)
{
	cleanup(free) char *text = malloc(BASE64_LENGTH(size) + 1);

	if (!text)
		return NULL;
	base64_encode(data, size, text);
	return json_stringn(text, BASE64_LENGTH(size));
}

static json_t *predicate(const struct verify_result *r)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:b, s:o, s:o, s:I}", "origin",
			 r->origin, "policy_sha256", r->policy_sha256, "redact_rules_sha256",
			 r->redact_rules_sha256, "tree", "rfc6962-sha256", "records",
			 (json_int_t)r->records, "signed", (json_int_t)r->signed_records, "gaps",
			 (json_int_t)r->gaps, "lost", (json_int_t)r->lost, "ended", r->is_ended,
			 "root", base64_json(r->root, HASH_SIZE), "last_checkpoint_sha256",
			 base64_json(r->last_note, HASH_SIZE), "ledger_line",
			 (json_int_t)r->ledger_index);
}

int statement_make(const struct member *members, size_t count, const struct verify_result *result,
		   char **ret_text)
{
	cleanup(json) json_t *subjects = json_array();
	cleanup(json) json_t *statement = NULL;
	char hex[2 * HASH_SIZE + 1];

	for (size_t i = 0; i < count; i++) {
		int r = hash_member(&members[i], hex);

		if (r)
			return r;
		json_array_append_new(subjects, json_pack("{s:s, s:{s:s}}", "name", members[i].name,
							  "digest", "sha256", hex));
	}
	statement = json_pack("{s:s, s:O, s:s, s:o}", "_type", "https://in-toto.io/Statement/v1",
			      "subject", subjects, "predicateType", "urn:vitrine:session:v1",
			      "predicate", predicate(result));
	*ret_text = statement ? json_dumps(statement, JSON_COMPACT) : NULL;
	return *ret_text ? 0 : -ENOMEM;
}

/* ---- the envelope ---- */

/* What DSSE signs: "DSSEv1", and type and body, each with its length before it. */
static char *authenticated(const char *statement, size_t *ret_size)
{
	char *text = NULL;
	int size = asprintf(&text, "DSSEv1 %zu %s %zu %s", strlen(STATEMENT_TYPE), STATEMENT_TYPE,
			    strlen(statement), statement);

	if (size < 0)
		return NULL;
	*ret_size = (size_t)size;
	return text;
}

/* The one text of an envelope. */
static char *envelope_text(const char *statement, uint64_t index,
			   const uint8_t signature[SIGN_SIZE])
{
	char number[24];

	snprintf(number, sizeof(number), "%" PRIu64, index);
	cleanup(json) json_t *envelope =
		json_pack("{s:s, s:o, s:[{s:s, s:o}]}", "payloadType", STATEMENT_TYPE, "payload",
			  base64_json(statement, strlen(statement)), "signatures", "keyid", number,
			  "sig", base64_json(signature, SIGN_SIZE));

	return envelope ? json_dumps(envelope, JSON_COMPACT) : NULL;
}

int envelope_make(const char *state, const char *name, const char *statement, char **ret_text)
{
	uint8_t signature[SIGN_SIZE];
	size_t size = 0;
	cleanup(free) char *text = authenticated(statement, &size);
	uint64_t index;
	int r = text ? ledger_sign(state, name, (struct bytes){text, size}, signature, &index)
		     : -ENOMEM;

	if (r)
		return r;
	*ret_text = envelope_text(statement, index, signature);
	return *ret_text ? 0 : -ENOMEM;
}

/* The signature and the number of the ledger's line under whose key it was made. */
static bool read_signature(const char *envelope, uint8_t ret_signature[SIGN_SIZE],
			   uint64_t *ret_index)
{
	cleanup(json) json_t *json = json_loads(envelope, JSON_REJECT_DUPLICATES, NULL);
	const json_t *signature = json_array_get(json_object_get(json, "signatures"), 0);
	const char *index = json_string_value(json_object_get(signature, "keyid"));
	const char *text = json_string_value(json_object_get(signature, "sig"));
	uint8_t room[SIGN_SIZE + 3];

	if (!index || !text || strlen(text) != BASE64_LENGTH(SIGN_SIZE) ||
	    base64_decode(text, strlen(text), room) != SIGN_SIZE)
		return false;
	memcpy(ret_signature, room, SIGN_SIZE);
	return ledger_number((struct bytes){index, strlen(index)}, ret_index);
}

void envelope_check(const char *envelope, const char *statement, const struct book *book,
		    const struct trusted_keys *keys, struct verify_result *result)
{
	uint8_t signature[SIGN_SIZE];
	size_t size = 0;
	cleanup(free) char *text = authenticated(statement, &size), *own = NULL;
	const uint8_t *public;
	bool is_trusted = false;
	uint64_t index = 0;

	if (read_signature(envelope, signature, &index))
		own = envelope_text(statement, index, signature);
	if (!own || strcmp(own, envelope) != 0) {
		verify_judge(result, VERIFY_TAMPERED,
			     "the signed statement is not about what is in the bundle");
		return;
	}
	public = book_public(book, keys, index, &is_trusted);
	if (!public || !text || !sign_check(public, (struct bytes){text, size}, signature))
		verify_judge(result, VERIFY_TAMPERED,
			     "the statement was not signed by the host's key %" PRIu64, index);
}
