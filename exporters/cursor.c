/*
 * Lines of text, and a checksum of them:
 *
 *   vitrine-cursor 1 SINK
 *   totals DELIVERED QUARANTINED FILTERED
 *   acts LEDGER TEXT
 *   SESSION NEXT_SEQ open|done
 *   ...
 *   crc 0123abcd
 */
#include "cursor.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/crc32c.h"
#include "../supervisor/record/text_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define CURSOR_MAX (64 * 1024 * 1024)
#define CRC_LINE 13 /* "crc 01234567\n" */

void cursor_free(struct cursor *c)
{
	free(c->entries);
	*c = (struct cursor){0};
}

/* Index of the first entry that is not before @session. */
static size_t place_of(const struct cursor *c, const char *session)
{
	size_t low = 0, high = c->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(c->entries[middle].session, session) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct cursor_entry *cursor_find(const struct cursor *c, const char *session)
{
	size_t at = place_of(c, session);

	return at < c->count && !strcmp(c->entries[at].session, session) ? &c->entries[at] : NULL;
}

struct cursor_entry *cursor_need(struct cursor *c, const char *session)
{
	size_t at = place_of(c, session);

	if (at < c->count && !strcmp(c->entries[at].session, session))
		return &c->entries[at];
	if (c->count == c->room) {
		size_t room = c->room ? 2 * c->room : 64;
		struct cursor_entry *entries = reallocarray(c->entries, room, sizeof(*entries));

		if (!entries)
			return NULL;
		c->entries = entries;
		c->room = room;
	}
	memmove(&c->entries[at + 1], &c->entries[at], (c->count - at) * sizeof(*c->entries));
	c->entries[at] = (struct cursor_entry){.next_seq = 1};
	snprintf(c->entries[at].session, sizeof(c->entries[at].session), "%s", session);
	c->count++;
	return &c->entries[at];
}

void cursor_forget(struct cursor *c, const char *session)
{
	struct cursor_entry *entry = cursor_find(c, session);

	if (!entry)
		return;
	memmove(entry, entry + 1,
		(size_t)(c->entries + c->count - entry - 1) * sizeof(*c->entries));
	c->count--;
}

/* ---- reading ---- */

struct input {
	const char *at, *end;
};

static bool take_word(struct input *in, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length))
		return false;
	in->at += length;
	return true;
}

/* Digits without a zero first, up to 20 of them. */
static bool take_u64(struct input *in, uint64_t *ret_number)
{
	const char *from = in->at;
	uint64_t number = 0;

	while (in->at < in->end && *in->at >= '0' && *in->at <= '9') {
		unsigned digit = (unsigned)(*in->at++ - '0');

		if (number > (UINT64_MAX - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*ret_number = number;
	return in->at > from && (*from != '0' || in->at == from + 1);
}

static bool take_entry(struct input *in, struct cursor *c)
{
	char session[SESSION_ID_LENGTH + 1] = "";
	struct cursor_entry *entry;
	uint64_t next_seq;
	bool is_done;

	if (in->end - in->at < SESSION_ID_LENGTH)
		return false;
	memcpy(session, in->at, SESSION_ID_LENGTH);
	in->at += SESSION_ID_LENGTH;
	if (!session_id_is_valid(session) || cursor_find(c, session) || !take_word(in, " ") ||
	    !take_u64(in, &next_seq) || next_seq == 0)
		return false;
	is_done = take_word(in, " done\n");
	if (!is_done && !take_word(in, " open\n"))
		return false;
	entry = cursor_need(c, session);
	if (!entry)
		return false;
	entry->next_seq = next_seq;
	entry->is_done = is_done;
	return true;
}

static bool take_all(struct input *in, const char *sink, struct cursor *c)
{
	struct cursor_totals *t = &c->totals;

	if (!take_word(in, "vitrine-cursor 1 ") || !take_word(in, sink) || !take_word(in, "\n") ||
	    !take_word(in, "totals ") || !take_u64(in, &t->delivered) || !take_word(in, " ") ||
	    !take_u64(in, &t->quarantined) || !take_word(in, " ") || !take_u64(in, &t->filtered) ||
	    !take_word(in, "\n"))
		return false;
	if (take_word(in, "acts ") && (!take_u64(in, &c->acts.ledger) || !take_word(in, " ") ||
				       !take_u64(in, &c->acts.text) || !take_word(in, "\n")))
		return false;
	while (in->at < in->end)
		if (!take_entry(in, c))
			return false;
	return true;
}

int cursor_parse(const char *sink, const char *text, size_t size, struct cursor *ret_cursor)
{
	struct input in = {text, text + size};
	struct cursor c = {0};
	char crc[CRC_LINE + 1];

	if (size < CRC_LINE)
		return -EBADMSG;
	in.end -= CRC_LINE;
	snprintf(crc, sizeof(crc), "crc %08" PRIx32 "\n", crc32c(0, text, size - CRC_LINE));
	if (memcmp(in.end, crc, CRC_LINE) || !take_all(&in, sink, &c)) {
		cursor_free(&c);
		return -EBADMSG;
	}
	*ret_cursor = c;
	return 0;
}

int cursor_read(int dir_fd, const char *sink, struct cursor *ret_cursor)
{
	cleanup(close_fd) int fd = -1;
	cleanup(free) char *text = NULL;
	char name[96];
	struct stat st;
	ssize_t n;

	snprintf(name, sizeof(name), "%s.cursor", sink);
	fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > CURSOR_MAX)
		return -EBADMSG;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	n = read(fd, text, (size_t)st.st_size);
	if (n < 0)
		return -errno;
	return cursor_parse(sink, text, (size_t)n, ret_cursor);
}

/* ---- writing ---- */

static int print(FILE *out, const char *sink, const struct cursor *c)
{
	fprintf(out, "vitrine-cursor 1 %s\ntotals %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sink,
		c->totals.delivered, c->totals.quarantined, c->totals.filtered);
	if (c->acts.ledger)
		fprintf(out, "acts %" PRIu64 " %" PRIu64 "\n", c->acts.ledger, c->acts.text);
	for (size_t i = 0; i < c->count; i++)
		fprintf(out, "%s %" PRIu64 " %s\n", c->entries[i].session, c->entries[i].next_seq,
			c->entries[i].is_done ? "done" : "open");
	return fflush(out) ? -errno : 0;
}

static int write_whole(int fd, const char *text, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

static int replace(int dir_fd, const char *name, const char *text, size_t size)
{
	cleanup(close_fd) int fd = -1;
	char temporary[112];
	int r;

	snprintf(temporary, sizeof(temporary), "%s.new", name);
	fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = write_whole(fd, text, size);
	if (r < 0)
		return r;
	if (fsync(fd) < 0 || renameat(dir_fd, temporary, dir_fd, name) < 0 || fsync(dir_fd) < 0)
		return -errno;
	return 0;
}

int cursor_write(int dir_fd, const char *sink, const struct cursor *c)
{
	struct text_stream s;
	char name[96], crc[CRC_LINE + 1];
	int r = text_stream_begin(&s), ended;

	if (r < 0)
		return r;
	r = print(s.out, sink, c);
	if (r == 0) {
		snprintf(crc, sizeof(crc), "crc %08" PRIx32 "\n", crc32c(0, s.text, s.size));
		fputs(crc, s.out);
	}
	ended = text_stream_end(&s);
	cleanup(free) char *text = s.text;
	if (r < 0 || ended < 0)
		return r < 0 ? r : ended;
	snprintf(name, sizeof(name), "%s.cursor", sink);
	return replace(dir_fd, name, text, s.size);
}
