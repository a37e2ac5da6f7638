/*
 * Reads a ledger from its beginning: each line has the number after the one before, names its hash,
 * and was signed by the key that it named.
 */
#include "book.h"

#include "../supervisor/record/base64.h"
#include "../supervisor/record/cleanup.h"
#include "file_text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define LEDGER_MOST (256u << 20)
#define KEYS_MOST (1u << 20)

/* ---- keys ---- */

static int add_key(struct trusted_keys *keys, struct bytes line)
{
	static const char algorithm[] = " " SIGN_ALGORITHM " ";
	const char *at = memmem(line.data, line.size, algorithm, sizeof(algorithm) - 1);
	size_t number = at ? (size_t)(at - (const char *)line.data) : 0;
	size_t behind = number + sizeof(algorithm) - 1;
	struct trusted_key key, *larger;
	uint8_t room[SIGN_PUBLIC_SIZE + 3];

	if (!at || !ledger_number((struct bytes){line.data, number}, &key.index) ||
	    line.size - behind != BASE64_LENGTH(SIGN_PUBLIC_SIZE) ||
	    base64_decode((const char *)line.data + behind, line.size - behind, room) !=
		    SIGN_PUBLIC_SIZE)
		return -EBADMSG;
	memcpy(key.public, room, sizeof(key.public));
	larger = reallocarray(keys->list, keys->count + 1, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	keys->list = larger;
	keys->list[keys->count++] = key;
	return 0;
}

int trusted_keys_read(struct trusted_keys *keys, const char *file)
{
	cleanup(free) char *text = NULL;
	struct bytes line;
	size_t size, at = 0;
	int r = file_read(AT_FDCWD, file, KEYS_MOST, &text, &size);

	while (!r && text_line((struct bytes){text, size}, &at, &line))
		r = add_key(keys, line);
	return !r && !at ? -EBADMSG : r;
}

void trusted_keys_free(struct trusted_keys *keys)
{
	free(keys->list);
	*keys = (struct trusted_keys){0};
}

static bool is_trusted_key(const struct trusted_keys *keys, const uint8_t public[SIGN_PUBLIC_SIZE])
{
	for (size_t i = 0; i < keys->count; i++)
		if (!memcmp(keys->list[i].public, public, SIGN_PUBLIC_SIZE))
			return true;
	return false;
}

/* Who signed line @index is another one than the key of that number which is trusted. */
static bool is_foreign_key(const struct trusted_keys *keys, uint64_t index,
			   const uint8_t public[SIGN_PUBLIC_SIZE])
{
	bool is_foreign = false;

	for (size_t i = 0; i < keys->count; i++) {
		if (keys->list[i].index != index)
			continue;
		if (!memcmp(keys->list[i].public, public, SIGN_PUBLIC_SIZE))
			return false;
		is_foreign = true;
	}
	return is_foreign;
}

/* ---- lines ---- */

/* What is wrong with @l, which stands behind those in @book; NULL if nothing is. */
static const char *check_line(const struct book *book, struct bytes text, struct book_line *l,
			      const struct trusted_keys *keys)
{
	const struct book_line *before = book->count ? &book->lines[book->count - 1] : NULL;
	bool is_start = l->line.kind == LEDGER_START;

	if (!before && !is_start)
		return "its beginning is missing";
	if (before && l->line.index != before->line.index + 1)
		return "lines are missing before it";
	if (before && memcmp(l->line.previous, book->last, HASH_SIZE) != 0)
		return "it does not name the line before it";
	memcpy(l->public, is_start ? l->line.detail : before->line.next, SIGN_PUBLIC_SIZE);
	if (!ledger_line_is_signed(text, &l->line, l->public))
		return "its signature is wrong";
	l->is_trusted =
		(before && !is_start && before->is_trusted) || is_trusted_key(keys, l->public);
	return NULL;
}

static int add_line(struct book *book, size_t *room, const struct book_line *line)
{
	struct book_line *larger;

	if (book->count == *room) {
		*room = *room ? 2 * *room : 64;
		larger = reallocarray(book->lines, *room, sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		book->lines = larger;
	}
	book->lines[book->count++] = *line;
	return 0;
}

int book_parse(struct bytes text, const struct trusted_keys *keys, struct book *ret_book)
{
	struct book book = {0};
	struct bytes one;
	size_t at = 0, room = 0;
	int r = 0;

	while (!r && !book.why && text_line(text, &at, &one)) {
		struct book_line line = {0};

		book.why = ledger_line_read(one, &line.line) ? "it is not one"
							     : check_line(&book, one, &line, keys);
		if (book.why) {
			book.bad_line = book.count + 1;
		} else {
			book.is_foreign |= is_foreign_key(keys, line.line.index, line.public);
			r = add_line(&book, &room, &line);
		}
		hash_bytes(one, book.last);
	}
	if (r) {
		book_free(&book);
		return r;
	}
	book.is_torn = !book.why && at < text.size;
	*ret_book = book;
	return 0;
}

int book_read(int dir_fd, const char *name, const struct trusted_keys *keys, struct book *ret_book)
{
	cleanup(free) char *text = NULL;
	size_t size;
	int r = file_read(dir_fd, name, LEDGER_MOST, &text, &size);

	return r ? r : book_parse((struct bytes){text, size}, keys, ret_book);
}

void book_free(struct book *book)
{
	free(book->lines);
	*book = (struct book){0};
}

const uint8_t *book_public(const struct book *book, const struct trusted_keys *keys, uint64_t index,
			   bool *ret_trusted)
{
	uint64_t first = book->count ? book->lines[0].line.index : 0;

	if (book->count && index >= first && index - first <= book->count) {
		uint64_t at = index - first;

		/* The key of the line that is not there yet is told by the one before. */
		*ret_trusted = at < book->count ? book->lines[at].is_trusted
						: book->lines[at - 1].is_trusted;
		return at < book->count ? book->lines[at].public : book->lines[at - 1].line.next;
	}
	for (size_t i = 0; i < keys->count; i++)
		if (keys->list[i].index == index) {
			*ret_trusted = true;
			return keys->list[i].public;
		}
	return NULL;
}

const struct book_line *book_find(const struct book *book, enum ledger_kind kind, const char *name)
{
	for (size_t i = book->count; i > 0; i--)
		if (book->lines[i - 1].line.kind == kind &&
		    !strcmp(book->lines[i - 1].line.name, name))
			return &book->lines[i - 1];
	return NULL;
}
