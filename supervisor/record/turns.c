/*
 * Written a line at a time; what a crash tore is passed over.
 */
#include "turns.h"

#include "base64.h"
#include "cleanup.h"
#include "ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_MOST (2 * JOURNAL_RECORD_MAX)

/* ---- writing ---- */

static void put_base64(char **at, const void *data, size_t size)
{
	base64_encode(data, size, *at);
	*at += BASE64_LENGTH(size);
	if (!size)
		*(*at)++ = '-';
}

char *turns_first_line(struct bytes payload)
{
	char *line = malloc(sizeof("first ") + BASE64_LENGTH(payload.size) + 1), *at = line;

	if (!line)
		return NULL;
	at = stpcpy(at, "first ");
	put_base64(&at, payload.data, payload.size);
	*at = 0;
	return line;
}

char *turns_line(const struct merkle_state *state)
{
	size_t peaks = state->peak_count * HASH_SIZE, way = state->way_count * HASH_SIZE;
	size_t room = 40 + BASE64_LENGTH(peaks) + BASE64_LENGTH(way);
	char *line = malloc(room), *at = line;

	if (!line)
		return NULL;
	at += snprintf(at, room, "turn %" PRIu64 " ", state->size);
	put_base64(&at, state->peaks, peaks);
	*at++ = ' ';
	put_base64(&at, state->way, way);
	*at = 0;
	return line;
}

static int put_lines(FILE *out, bool is_new, const struct merkle_state *state, struct bytes first)
{
	cleanup(free) char *border = turns_line(state), *begin = turns_first_line(first);

	if (!border || !begin)
		return -ENOMEM;
	if (is_new)
		fprintf(out, "%s\n%s\n", begin, border);
	else
		fprintf(out, "\n%s\n", border); /* the line before may have been torn */
	return 0;
}

int turns_add(int dir_fd, const struct merkle *tree, struct bytes first)
{
	int fd = openat(dir_fd, TURNS_FILE, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
			0640);
	cleanup(fclose) FILE *out = fd < 0 ? NULL : fdopen(fd, "a");
	struct merkle_state state;
	struct stat st;
	int r;

	if (!out || fstat(fd, &st) < 0)
		return -errno;
	merkle_save(tree, &state);
	r = put_lines(out, st.st_size == 0, &state, first);
	return r < 0 ? r : fflush(out) ? -errno : 0;
}

/* ---- reading ---- */

struct lines {
	FILE *in;
	char *text;
	size_t room;
};

static void cleanup_lines(struct lines *l)
{
	if (l->in)
		fclose(l->in);
	free(l->text);
}

static int open_lines(int dir_fd, struct lines *l)
{
	int fd = openat(dir_fd, TURNS_FILE,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	l->in = fdopen(fd, "r");
	if (!l->in) {
		close(fd);
		return -errno;
	}
	return fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ? -EBADMSG : 0;
}

/* The next line that begins with @word: what stands behind that. False: there is none. */
static bool next_line(struct lines *l, const char *word, char **ret_rest)
{
	size_t length = strlen(word);
	ssize_t n;

	while ((n = getline(&l->text, &l->room, l->in)) > 0 && n <= (ssize_t)LINE_MOST) {
		if (l->text[n - 1] != '\n' || strncmp(l->text, word, length) != 0)
			continue;
		l->text[n - 1] = 0;
		*ret_rest = l->text + length;
		return true;
	}
	return false;
}

/* Up to 64 hashes. False: it is something else. */
static bool get_hashes(const char *text, size_t length, uint8_t (*ret_hashes)[HASH_SIZE],
		       size_t *ret_count)
{
	uint8_t room[(64 * HASH_SIZE + 2) / 3 * 3];
	ssize_t size;

	*ret_count = 0;
	if (length == 1 && *text == '-')
		return true;
	if (length > BASE64_LENGTH(64 * HASH_SIZE))
		return false;
	size = base64_decode(text, length, room);
	if (size <= 0 || size % HASH_SIZE || size > 64 * HASH_SIZE)
		return false;
	memcpy(ret_hashes, room, (size_t)size);
	*ret_count = (size_t)size / HASH_SIZE;
	return true;
}

/* "SIZE PEAKS WAY" */
static bool get_state(const char *text, struct merkle_state *ret_state)
{
	const char *peaks = strchr(text, ' '), *way = peaks ? strchr(peaks + 1, ' ') : NULL;

	*ret_state = (struct merkle_state){0};
	return way &&
	       ledger_number((struct bytes){text, (size_t)(peaks - text)}, &ret_state->size) &&
	       get_hashes(peaks + 1, (size_t)(way - peaks - 1), ret_state->peaks,
			  &ret_state->peak_count) &&
	       get_hashes(way + 1, strlen(way + 1), ret_state->way, &ret_state->way_count);
}

int turns_find(int dir_fd, uint64_t size, struct merkle_state *ret_state)
{
	cleanup(lines) struct lines l = {0};
	struct merkle_state state;
	char *rest;
	int r = open_lines(dir_fd, &l);

	if (r < 0)
		return r;
	while (next_line(&l, "turn ", &rest)) {
		if (!get_state(rest, &state) || state.size != size)
			continue;
		*ret_state = state;
		return 0;
	}
	return -ENOENT;
}

int turns_first(int dir_fd, uint8_t **ret_payload, size_t *ret_size)
{
	cleanup(lines) struct lines l = {0};
	cleanup(free) uint8_t *payload = NULL;
	ssize_t size;
	char *rest;
	int r = open_lines(dir_fd, &l);

	if (r < 0)
		return r;
	if (!next_line(&l, "first ", &rest))
		return -ENOENT;
	payload = malloc(strlen(rest) / 4 * 3 + 3);
	if (!payload)
		return -ENOMEM;
	size = base64_decode(rest, strlen(rest), payload);
	if (size < 0)
		return -EBADMSG;
	*ret_payload = take(payload);
	*ret_size = (size_t)size;
	return 0;
}
