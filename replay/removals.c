/*
 * Acts stand in the order of their lines of the ledger; a text between two that no line knows was
 * never signed and says nothing.
 */
#include "removals.h"
#include "file_text.h"

#include "../supervisor/record/acts.h"
#include "../supervisor/record/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ACTS_MOST (1u << 30)

void removals_free(struct removals *r)
{
	free(r->text);
	free(r->lines);
	*r = (struct removals){0};
}

/* Go on in the text up to the one that @line commits to; where there is none, stay. */
static bool find_text(struct removals *r, struct bytes text, const struct ledger_line *line,
		      size_t *at, struct bytes *ret_text)
{
	size_t next = *at, passed = 0;
	uint8_t hash[HASH_SIZE];

	while (text_line(text, &next, ret_text)) {
		hash_bytes(*ret_text, hash);
		if (!memcmp(hash, line->detail, HASH_SIZE)) {
			*at = next;
			r->unsigned_count += passed;
			return true;
		}
		passed++;
	}
	return false;
}

int removals_read(int state_fd, const struct book *book, struct removals *ret_removals)
{
	struct removals removals = {.count = book->count};
	struct bytes text = {"", 0}, line;
	size_t size = 0, at = 0;
	int r = file_read(state_fd, ACTS_FILE, ACTS_MOST, &removals.text, &size);

	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0)
		text = (struct bytes){removals.text, size};
	removals.lines = calloc(book->count + 1, sizeof(*removals.lines));
	if (!removals.lines) {
		removals_free(&removals);
		return -ENOMEM;
	}
	for (size_t i = 0; i < book->count; i++) {
		const struct ledger_line *known = &book->lines[i].line;

		if (!ledger_kind_is_act(known->kind))
			continue;
		if (find_text(&removals, text, known, &at, &removals.lines[i]))
			continue;
		removals.lines[i] = (struct bytes){NULL, 0};
		removals.missing++;
	}
	while (text_line(text, &at, &line))
		removals.unsigned_count++;
	*ret_removals = removals;
	return 0;
}

static const char *session_of(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

const struct book_line *removal_of(const struct book *book, const char *id)
{
	for (size_t i = book->count; i--;) {
		const struct ledger_line *line = &book->lines[i].line;

		if (line->kind == LEDGER_REMOVE && !strcmp(session_of(line->name), id))
			return &book->lines[i];
	}
	return NULL;
}

const struct book_line *trim_of(const struct book *book, const char *name,
				const uint8_t act[HASH_SIZE])
{
	for (size_t i = book->count; i--;) {
		const struct ledger_line *line = &book->lines[i].line;

		if (line->kind == LEDGER_TRIM && !strcmp(line->name, name) &&
		    !memcmp(line->detail, act, HASH_SIZE))
			return &book->lines[i];
	}
	return NULL;
}

void removal_time(const struct ledger_line *line, char ret_text[32])
{
	time_t seconds = (time_t)(line->time_ns / 1000000000);
	struct tm tm;

	ret_text[0] = 0;
	if (gmtime_r(&seconds, &tm))
		strftime(ret_text, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

bool removals_judge(const struct removals *r, const struct book *book, const char *name,
		    struct verify_result *result)
{
	const struct book_line *line = removal_of(book, session_of(name));
	char when[32];

	if (!line)
		return false;
	snprintf(result->origin, sizeof(result->origin), "%s", line->line.name);
	if (!r->lines[line - book->lines].data) {
		verify_judge(result, VERIFY_TAMPERED,
			     "the ledger knows that the record was removed, and the act that says "
			     "by whom and why is gone");
		return true;
	}
	removal_time(&line->line, when);
	verify_judge(result, VERIFY_INCOMPLETE,
		     "removed by retention, as recorded: line %" PRIu64 " of the ledger, %s",
		     line->line.index + 1, when);
	return true;
}

void removals_judge_acts(const struct removals *r, struct verify_result *result)
{
	if (r->missing)
		verify_judge(result, VERIFY_TAMPERED,
			     "%zu acts that the ledger knows are gone from " ACTS_FILE
			     " or were changed",
			     r->missing);
	if (r->unsigned_count)
		verify_judge(result, VERIFY_INCOMPLETE,
			     "%zu acts in " ACTS_FILE " were never signed: they count for nothing",
			     r->unsigned_count);
}

int removals_find(int state_fd, const struct trusted_keys *keys, const char *id,
		  struct verify_result *ret_result)
{
	struct verify_result result = {0};
	struct removals removals = {0};
	struct book book = {0};
	int r = book_read(state_fd, LEDGER_FILE, keys, &book);

	if (r == 0)
		r = removals_read(state_fd, &book, &removals);
	if (r == 0 && !removals_judge(&removals, &book, id, &result))
		r = -ENOENT;
	if (r == 0 && book.bad_line)
		verify_judge(&result, VERIFY_TAMPERED, "line %" PRIu64 " of the ledger: %s",
			     book.bad_line, book.why);
	if (r == 0 && book.is_foreign)
		verify_judge(&result, VERIFY_TAMPERED,
			     "the ledger was signed by another key than the one that is trusted");
	if (r == 0 && !removal_of(&book, id)->is_trusted)
		verify_judge(&result, VERIFY_UNKNOWN,
			     "no key was given that vouches for the removal");
	removals_free(&removals);
	book_free(&book);
	if (r == 0)
		*ret_result = result;
	return r;
}
