/*
 * Edits a line.
 */
#include "prompt.h"

#include <string.h>

void prompt_set(struct prompt *p, const char *text)
{
	size_t size = strlen(text);

	p->size = p->at = size < PROMPT_MAX ? size : PROMPT_MAX;
	memcpy(p->text, text, p->size);
	p->text[p->size] = 0;
}

static size_t encode(unsigned int code, char *to)
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xc0 | code >> 6);
		to[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		to[0] = (char)(0xe0 | code >> 12);
		to[1] = (char)(0x80 | (code >> 6 & 0x3f));
		to[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | code >> 18);
	to[1] = (char)(0x80 | (code >> 12 & 0x3f));
	to[2] = (char)(0x80 | (code >> 6 & 0x3f));
	to[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

bool prompt_insert(struct prompt *p, unsigned int code)
{
	char bytes[4];
	size_t size = encode(code, bytes);

	if (p->size + size > PROMPT_MAX)
		return false;
	memmove(p->text + p->at + size, p->text + p->at, p->size - p->at + 1);
	memcpy(p->text + p->at, bytes, size);
	p->size += size;
	p->at += size;
	return true;
}

static bool goes_on(char byte)
{
	return (byte & 0xc0) == 0x80;
}

static size_t one_back(const struct prompt *p)
{
	size_t at = p->at;

	while (at && goes_on(p->text[--at]))
		;
	return at;
}

static void cut(struct prompt *p, size_t from)
{
	memmove(p->text + from, p->text + p->at, p->size - p->at + 1);
	p->size -= p->at - from;
	p->at = from;
}

void prompt_erase(struct prompt *p)
{
	cut(p, one_back(p));
}

void prompt_erase_word(struct prompt *p)
{
	size_t from = p->at;

	while (from && p->text[from - 1] == ' ')
		from--;
	while (from && p->text[from - 1] != ' ')
		from--;
	cut(p, from);
}

void prompt_move(struct prompt *p, int characters)
{
	for (; characters < 0; characters++)
		p->at = one_back(p);
	for (; characters > 0 && p->at < p->size; characters--) {
		p->at++;
		while (p->at < p->size && goes_on(p->text[p->at]))
			p->at++;
	}
}
