/*
 * Notes as text and back. A note that is read is written again and held against what was there: so
 * only the one form is taken, and nothing can be hidden in another.
 */
#include "note.h"
#include "base64.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY_ID_SIZE 4
#define DASH "\xe2\x80\x94 " /* U+2014 and a blank begin a line of signature */
#define KEY_TYPE 1	     /* Ed25519 in C2SP signed-note */

static void put_base64(FILE *out, const void *data, size_t size)
{
	char text[BASE64_LENGTH(KEY_ID_SIZE + SIGN_SIZE)];

	base64_encode(data, size, text);
	fwrite(text, 1, BASE64_LENGTH(size), out);
}

/* "@name ed25519 <key>" */
static void put_key(FILE *out, const char *name, const uint8_t key[SIGN_PUBLIC_SIZE])
{
	fprintf(out, "%s %s ", name, SIGN_ALGORITHM);
	put_base64(out, key, SIGN_PUBLIC_SIZE);
	fputc('\n', out);
}

static void put_text(FILE *out, const struct note *n)
{
	fprintf(out, "%s\n%" PRIu64 "\n", n->origin, n->size);
	put_base64(out, n->root, HASH_SIZE);
	fprintf(out, "\ntime %" PRIu64 "\nblocks %" PRIu64 " ", n->time_ns, n->blocks);
	put_base64(out, n->last_block, HASH_SIZE);
	fputc('\n', out);
	put_key(out, "key", n->key);
	if (n->has_previous) {
		fputs("previous ", out);
		put_base64(out, n->previous, HASH_SIZE);
		fputc('\n', out);
	}
	if (n->opened[0])
		fprintf(out, "opened %s\n", n->opened);
	if (n->has_next)
		put_key(out, "next", n->next);
	if (n->is_end)
		fputs("end\n", out);
}

/* What tells one key of a name from another (C2SP signed-note): hash of name, type and key. */
static void key_id(const struct note *n, uint8_t ret_id[KEY_ID_SIZE])
{
	char text[LEDGER_NAME_MAX + 2 + SIGN_PUBLIC_SIZE];
	size_t length = strlen(n->origin);
	uint8_t hash[HASH_SIZE];

	memcpy(text, n->origin, length);
	text[length] = '\n';
	text[length + 1] = KEY_TYPE;
	memcpy(text + length + 2, n->key, SIGN_PUBLIC_SIZE);
	hash_bytes((struct bytes){text, length + 2 + SIGN_PUBLIC_SIZE}, hash);
	memcpy(ret_id, hash, KEY_ID_SIZE);
}

static void put_signature(FILE *out, const struct note *n)
{
	uint8_t both[KEY_ID_SIZE + SIGN_SIZE];

	key_id(n, both);
	memcpy(both + KEY_ID_SIZE, n->signature, SIGN_SIZE);
	fprintf(out, "\n" DASH "%s ", n->origin);
	put_base64(out, both, sizeof(both));
	fputs("\n\n", out);
}

/* The text that is signed, or with @is_whole the whole note. Its length or -errno. */
static int render(const struct note *n, bool is_whole, char ret_text[NOTE_MAX])
{
	FILE *out = fmemopen(ret_text, NOTE_MAX, "w");
	long length;

	if (!out)
		return -ENOMEM;
	put_text(out, n);
	if (is_whole)
		put_signature(out, n);
	length = ftell(out);
	if (fclose(out))
		return -EOVERFLOW;
	return length < 0 || length >= NOTE_MAX ? -EOVERFLOW : (int)length;
}

int note_write(struct note *n, const uint8_t seed[SIGN_SEED_SIZE], char ret_text[NOTE_MAX])
{
	int length, r = sign_public(seed, n->key);

	if (r)
		return r;
	length = render(n, false, ret_text);
	if (length < 0)
		return length;
	r = sign_make(seed, (struct bytes){ret_text, (size_t)length}, n->signature);
	return r ? r : render(n, true, ret_text);
}

/* ---- reading ---- */

struct lines {
	const char *at, *end;
};

/* The next line without its newline. False: there is no whole one. */
static bool next_line(struct lines *lines, struct bytes *ret_line)
{
	const char *newline = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));

	if (!newline)
		return false;
	*ret_line = (struct bytes){lines->at, (size_t)(newline - lines->at)};
	lines->at = newline + 1;
	return true;
}

/* If @line begins with @word, what stands behind it. */
static bool skip_word(struct bytes line, const char *word, struct bytes *ret_rest)
{
	size_t length = strlen(word);

	if (line.size < length || memcmp(line.data, word, length) != 0)
		return false;
	*ret_rest = (struct bytes){(const char *)line.data + length, line.size - length};
	return true;
}

static bool get_text(struct bytes text, char *room, size_t size)
{
	if (text.size >= size || memchr(text.data, 0, text.size))
		return false;
	memcpy(room, text.data, text.size);
	room[text.size] = 0;
	return true;
}

static bool get_base64(struct bytes text, void *ret_data, size_t size)
{
	uint8_t room[KEY_ID_SIZE + SIGN_SIZE + 3];

	if (text.size != BASE64_LENGTH(size) ||
	    base64_decode(text.data, text.size, room) != (ssize_t)size)
		return false;
	memcpy(ret_data, room, size);
	return true;
}

/* "<number> <hash>" */
static bool get_blocks(struct bytes text, struct note *n)
{
	const char *blank = memchr(text.data, ' ', text.size);
	size_t length = blank ? (size_t)(blank - (const char *)text.data) : 0;

	return blank && ledger_number((struct bytes){text.data, length}, &n->blocks) &&
	       get_base64((struct bytes){blank + 1, text.size - length - 1}, n->last_block,
			  HASH_SIZE);
}

static bool take_line(struct note *n, struct bytes line)
{
	struct bytes rest;

	if (skip_word(line, "time ", &rest))
		return ledger_number(rest, &n->time_ns);
	if (skip_word(line, "blocks ", &rest))
		return get_blocks(rest, n);
	if (skip_word(line, "key " SIGN_ALGORITHM " ", &rest))
		return get_base64(rest, n->key, SIGN_PUBLIC_SIZE);
	if (skip_word(line, "opened ", &rest))
		return get_text(rest, n->opened, sizeof(n->opened));
	if (skip_word(line, "previous ", &rest))
		return n->has_previous = true, get_base64(rest, n->previous, HASH_SIZE);
	if (skip_word(line, "next " SIGN_ALGORITHM " ", &rest))
		return n->has_next = true, get_base64(rest, n->next, SIGN_PUBLIC_SIZE);
	if (skip_word(line, "end", &rest))
		return n->is_end = true, !rest.size;
	return false;
}

static bool take_signature(struct note *n, struct bytes line)
{
	uint8_t both[KEY_ID_SIZE + SIGN_SIZE];
	const char *blank = memrchr(line.data, ' ', line.size);
	size_t length = blank ? (size_t)(blank + 1 - (const char *)line.data) : 0;

	if (!blank ||
	    !get_base64((struct bytes){blank + 1, line.size - length}, both, sizeof(both)))
		return false;
	memcpy(n->signature, both + KEY_ID_SIZE, SIGN_SIZE);
	return true;
}

/* All lines of a note, in @lines. 0, -ENODATA or -EBADMSG. */
static int take_lines(struct lines *lines, struct note *n)
{
	struct bytes line;

	if (!next_line(lines, &line))
		return -ENODATA;
	if (!get_text(line, n->origin, sizeof(n->origin)))
		return -EBADMSG;
	if (!next_line(lines, &line))
		return -ENODATA;
	if (!ledger_number(line, &n->size))
		return -EBADMSG;
	if (!next_line(lines, &line))
		return -ENODATA;
	if (!get_base64(line, n->root, HASH_SIZE))
		return -EBADMSG;
	for (;;) {
		if (!next_line(lines, &line))
			return -ENODATA;
		if (!line.size)
			break;
		if (!take_line(n, line))
			return -EBADMSG;
	}
	if (!next_line(lines, &line))
		return -ENODATA;
	if (!take_signature(n, line))
		return -EBADMSG;
	return next_line(lines, &line) ? 0 : -ENODATA;
}

int note_read(struct bytes text, struct note *ret_note)
{
	struct lines lines = {text.data, (const char *)text.data + text.size};
	struct note n = {0};
	char again[NOTE_MAX];
	int length, r;

	if (text.size > NOTE_MAX)
		lines.end = lines.at + NOTE_MAX;
	r = take_lines(&lines, &n);
	if (r)
		return r == -ENODATA && text.size > NOTE_MAX ? -EBADMSG : r;
	length = render(&n, true, again);
	if (length < 0 || (const char *)text.data + length != lines.at ||
	    memcmp(again, text.data, (size_t)length) != 0)
		return -EBADMSG;
	*ret_note = n;
	return length;
}

bool note_is_signed(struct bytes text, const struct note *n)
{
	const char *end = memmem(text.data, text.size, "\n\n", 2);

	return end &&
	       sign_check(n->key,
			  (struct bytes){text.data, (size_t)(end + 1 - (const char *)text.data)},
			  n->signature);
}
