/*
 * Proofs of single records, checked. All of a proof comes from somebody else.
 */
#include "proof.h"

#include "elsewhere.h"

#include "../supervisor/record/base64.h"
#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/codec.h"
#include "../supervisor/record/jansson_cleanup.h"
#include "../supervisor/record/json.h"
#include "../supervisor/record/merkle.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct check {
	const json_t *proof;
	const struct trusted_keys *keys;
	struct verify_result *result;
	uint8_t *record; /* owned */
	size_t record_size;
	struct note note; /* whose root the path leads to */
};

static void cleanup_check(struct check *c)
{
	free(c->record);
}

static bool bad(struct check *c, const char *why)
{
	verify_judge(c->result, VERIFY_TAMPERED, "%s", why);
	return false;
}

static struct bytes text_of(const json_t *string)
{
	return (struct bytes){json_string_value(string), json_string_length(string)};
}

/* ---- keys ---- */

/* The ledger leads from a trusted key to the line that vouches for the first key. */
static bool check_opened(struct check *c, const struct note *note)
{
	struct bytes ledger = text_of(json_object_get(c->proof, "ledger"));
	struct bytes opened = {note->opened, strlen(note->opened)};
	const uint8_t *public;
	struct ledger_line line;
	struct book book = {0};
	bool is_trusted = false, is_good;

	if (!ledger.data || book_parse(ledger, c->keys, &book))
		return bad(c, "it has no ledger");
	public = ledger_line_read(opened, &line)
			 ? NULL
			 : book_public(&book, c->keys, line.index, &is_trusted);
	is_good = !book.why && !book.is_torn && public && line.kind == LEDGER_OPEN &&
		  ledger_line_is_signed(opened, &line, public) &&
		  !strcmp(line.name, note->origin) &&
		  !memcmp(line.detail, note->key, sizeof(note->key));
	if (is_good && book.is_foreign && c->keys->is_given)
		verify_judge(c->result, VERIFY_TAMPERED,
			     "it was signed by another key than the one that is trusted");
	else if (is_good && !is_trusted)
		verify_judge(c->result, VERIFY_UNKNOWN, "no key was given that vouches for it");
	book_free(&book);
	return is_good || bad(c, "its ledger does not vouch for its key");
}

/* Each note is signed by the key that the one before handed on. */
static bool check_notes(struct check *c)
{
	const json_t *notes = json_object_get(c->proof, "checkpoints");
	size_t count = json_array_size(notes);
	uint8_t key[SIGN_PUBLIC_SIZE];

	if (!count)
		return bad(c, "it has no checkpoint");
	for (size_t i = 0; i < count; i++) {
		struct bytes text = text_of(json_array_get(notes, i));

		if (!text.data || note_read(text, &c->note) != (int)text.size)
			return bad(c, "a checkpoint of it is none");
		if (!i && !check_opened(c, &c->note))
			return false;
		if (i && strcmp(c->note.origin, c->result->origin) != 0)
			return bad(c, "its checkpoints are of several sessions");
		if (i && memcmp(c->note.key, key, sizeof(key)) != 0)
			return bad(c, "a checkpoint was signed by a key whose turn it was not");
		if (!note_is_signed(text, &c->note))
			return bad(c, "the signature of a checkpoint is wrong");
		memcpy(c->result->origin, c->note.origin, sizeof(c->result->origin));
		memcpy(key, c->note.has_next ? c->note.next : c->note.key, sizeof(key));
	}
	return true;
}

/* ---- the record ---- */

static int decode(const json_t *string, uint8_t **ret_data, size_t *ret_size)
{
	struct bytes text = text_of(string);
	uint8_t *data = text.data ? malloc(text.size + 1) : NULL;
	ssize_t size = data ? base64_decode(text.data, text.size, data) : -EINVAL;

	if (size < 0) {
		free(data);
		return -EINVAL;
	}
	*ret_data = data;
	*ret_size = (size_t)size;
	return 0;
}

static size_t read_path(const json_t *path, uint8_t ret_path[MERKLE_PATH_MAX][HASH_SIZE])
{
	size_t count = json_array_size(path);

	if (count > MERKLE_PATH_MAX)
		return SIZE_MAX;
	for (size_t i = 0; i < count; i++) {
		uint8_t *hash;
		size_t size;

		if (decode(json_array_get(path, i), &hash, &size))
			return SIZE_MAX;
		if (size == HASH_SIZE)
			memcpy(ret_path[i], hash, HASH_SIZE);
		free(hash);
		if (size != HASH_SIZE)
			return SIZE_MAX;
	}
	return count;
}

static bool check_path(struct check *c, uint64_t seq)
{
	uint8_t path[MERKLE_PATH_MAX][HASH_SIZE], leaf[HASH_SIZE];
	size_t length = read_path(json_object_get(c->proof, "path"), path);

	merkle_leaf((struct bytes){c->record, c->record_size}, leaf);
	return (length != SIZE_MAX &&
		merkle_check(leaf, seq - 1, c->note.size, (const uint8_t(*)[HASH_SIZE])path, length,
			     c->note.root)) ||
	       bad(c, "the record is not in the tree that was signed");
}

/* What the record says is what it is said to say. */
static bool check_event(struct check *c, const struct event *e, const json_t *event)
{
	const char *slash = strrchr(c->note.origin, '/');
	const json_t *told = json_object_get(c->proof, "event");
	struct json_buffer line = {0};
	cleanup(json) json_t *own = NULL;

	if (!json_write_event(&line, slash ? slash + 1 : "", e))
		own = json_loadb(line.text, line.length, 0, NULL);
	json_buffer_free(&line);
	if (!own || !json_equal(own, told))
		return bad(c, "the record does not say what the proof says it does");
	return !event || elsewhere_matches(event, slash ? slash + 1 : "", e) ||
	       bad(c, "the proof is of another event, or the event was changed");
}

int proof_check(const json_t *proof, const json_t *event, const struct trusted_keys *keys,
		struct verify_result *ret_result)
{
	struct verify_result result = {0};
	cleanup(check) struct check c = {.proof = proof, .keys = keys, .result = &result};
	json_int_t seq = json_integer_value(json_object_get(proof, "seq"));
	struct event e;
	const char *why;

	if (strcmp(json_string_value(json_object_get(proof, "proof")) ?: "", PROOF_VERSION) != 0)
		verify_judge(&result, VERIFY_UNKNOWN,
			     "it is no proof of a kind that is known here");
	else if (seq < 1 || decode(json_object_get(proof, "record"), &c.record, &c.record_size))
		bad(&c, "it has no record");
	else if (check_notes(&c) && check_path(&c, (uint64_t)seq)) {
		if (codec_decode((struct bytes){c.record, c.record_size}, &e, &why) ||
		    e.seq != (uint64_t)seq)
			bad(&c, "the record has another number");
		else
			check_event(&c, &e, event);
	}
	result.records = (uint64_t)(seq > 0 ? seq : 0);
	*ret_result = result;
	return 0;
}
