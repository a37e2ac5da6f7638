/*
 * Lines of the ledger as text and back.
 */
#include "ledger.h"
#include "base64.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WORDS 9

const char *const ledger_kind_names[LEDGER_KIND_COUNT] = {
	[LEDGER_START] = "start",     [LEDGER_OPEN] = "open",	  [LEDGER_END] = "end",
	[LEDGER_ROTATE] = "rotate",   [LEDGER_BUNDLE] = "bundle", [LEDGER_HOLD] = "hold",
	[LEDGER_RELEASE] = "release", [LEDGER_REMOVE] = "remove", [LEDGER_ACCESS] = "access",
	[LEDGER_TRIM] = "trim",
};

bool ledger_number(struct bytes text, uint64_t *ret_number)
{
	const char *at = text.data;
	uint64_t number = 0;

	if (!text.size || text.size > 20 || (at[0] == '0' && text.size > 1))
		return false;
	for (size_t i = 0; i < text.size; i++) {
		if (at[i] < '0' || at[i] > '9' || __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(at[i] - '0'), &number))
			return false;
	}
	*ret_number = number;
	return true;
}

/* The text up to the signature, its blank included. */
static int render(const struct ledger_line *line, char *room, size_t size)
{
	char detail[BASE64_LENGTH(HASH_SIZE) + 1] = "", previous[BASE64_LENGTH(HASH_SIZE) + 1] = "";
	char next[BASE64_LENGTH(SIGN_PUBLIC_SIZE) + 1] = "";
	int length;

	base64_encode(line->detail, HASH_SIZE, detail);
	base64_encode(line->previous, HASH_SIZE, previous);
	base64_encode(line->next, SIGN_PUBLIC_SIZE, next);
	length = snprintf(room, size, "%" PRIu64 " %s %s %s %" PRIu64 " %s %s %s ", line->index,
			  ledger_kind_names[line->kind], line->name, detail, line->time_ns,
			  previous, SIGN_ALGORITHM, next);
	return length < 0 || (size_t)length >= size ? -EOVERFLOW : length;
}

int ledger_line_write(struct ledger_line *line, const uint8_t seed[SIGN_SEED_SIZE],
		      char ret_text[LEDGER_LINE_MAX])
{
	int r, length = render(line, ret_text, LEDGER_LINE_MAX);

	if (length < 0)
		return length;
	if ((size_t)length + BASE64_LENGTH(SIGN_SIZE) >= LEDGER_LINE_MAX)
		return -EOVERFLOW;
	r = sign_make(seed, (struct bytes){ret_text, (size_t)length}, line->signature);
	if (r)
		return r;
	base64_encode(line->signature, SIGN_SIZE, ret_text + length);
	length += BASE64_LENGTH(SIGN_SIZE);
	ret_text[length] = 0;
	return length;
}

/* Take @text apart at its blanks. */
static bool split(struct bytes text, struct bytes words[WORDS])
{
	const char *at = text.data, *end = at + text.size;

	for (size_t i = 0; i < WORDS; i++) {
		const char *blank = memchr(at, ' ', (size_t)(end - at));

		if ((i + 1 < WORDS) != (blank != NULL))
			return false;
		words[i] = (struct bytes){at, (size_t)((blank ? blank : end) - at)};
		at = blank ? blank + 1 : end;
	}
	return true;
}

static bool get_bytes(struct bytes word, uint8_t *ret_data, size_t size)
{
	uint8_t room[SIGN_SIZE + 3];

	if (word.size != BASE64_LENGTH(size) ||
	    base64_decode(word.data, word.size, room) != (ssize_t)size)
		return false;
	memcpy(ret_data, room, size);
	return true;
}

static bool get_kind(struct bytes word, enum ledger_kind *ret_kind)
{
	for (size_t kind = 0; kind < LEDGER_KIND_COUNT; kind++) {
		const char *name = ledger_kind_names[kind];

		if (strlen(name) == word.size && !memcmp(name, word.data, word.size)) {
			*ret_kind = kind;
			return true;
		}
	}
	return false;
}

int ledger_line_read(struct bytes text, struct ledger_line *ret_line)
{
	struct bytes words[WORDS];
	struct ledger_line line = {0};

	if (memchr(text.data, 0, text.size) || !split(text, words) ||
	    words[2].size >= sizeof(line.name))
		return -EBADMSG;
	memcpy(line.name, words[2].data, words[2].size);
	if (!ledger_number(words[0], &line.index) || !get_kind(words[1], &line.kind) ||
	    !get_bytes(words[3], line.detail, HASH_SIZE) ||
	    !ledger_number(words[4], &line.time_ns) ||
	    !get_bytes(words[5], line.previous, HASH_SIZE) ||
	    words[6].size != strlen(SIGN_ALGORITHM) ||
	    memcmp(words[6].data, SIGN_ALGORITHM, words[6].size) != 0 ||
	    !get_bytes(words[7], line.next, SIGN_PUBLIC_SIZE) ||
	    !get_bytes(words[8], line.signature, SIGN_SIZE))
		return -EBADMSG;
	*ret_line = line;
	return 0;
}

bool ledger_line_is_signed(struct bytes text, const struct ledger_line *line,
			   const uint8_t public[SIGN_PUBLIC_SIZE])
{
	size_t length = BASE64_LENGTH(SIGN_SIZE);

	return text.size > length &&
	       sign_check(public, (struct bytes){text.data, text.size - length}, line->signature);
}
