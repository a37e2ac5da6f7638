/*
 * Appends lines; one that a crash cut in two is ended before the next.
 */
#include "dead.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/json_put.h"
#include "../supervisor/record/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static void put_letter(struct json_buffer *out, const char *sink, const struct batch *b,
		       const struct batch_item *item, uint64_t now_ns)
{
	json_put_literal(out, "{\"sink\":");
	json_put_string(out, bytes_of(sink));
	json_put_literal(out, ",\"session\":");
	json_put_string(out, bytes_of(item->session));
	json_put_literal(out, ",\"seq\":");
	json_put_u64(out, item->seq);
	json_put_literal(out, ",\"time\":");
	json_put_time(out, now_ns);
	json_put_literal(out, ",\"reason\":");
	json_put_string(out, bytes_of(item->why));
	if (item->verdict == VERDICT_DOUBTED)
		json_put_literal(out, ",\"certain\":false");
	if (b->status) {
		json_put_literal(out, ",\"status\":");
		json_put_u64(out, (uint64_t)b->status);
		json_put_literal(out, ",\"answer\":");
		json_put_string(out, item->answer
					     ? bytes_of(item->answer)
					     : (struct bytes){b->answer.text, b->answer.length});
	}
	json_put_literal(out, ",\"sent\":");
	json_put_string(out, (struct bytes){b->body.text + item->offset, item->length});
	json_put_literal(out, "}\n");
}

static bool ends_torn(int fd)
{
	struct stat st;
	char last;

	return fstat(fd, &st) == 0 && st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) == 1 &&
	       last != '\n';
}

static int append(int fd, struct bytes text)
{
	const char *at = text.data;

	if (ends_torn(fd) && write(fd, "\n", 1) < 0)
		return -errno;
	while (text.size > 0) {
		ssize_t n = write(fd, at, text.size);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			at += n;
			text.size -= (size_t)n;
		}
	}
	return fdatasync(fd) < 0 ? -errno : 0;
}

int dead_write(int dir_fd, const char *sink, const struct batch *b, uint64_t now_ns,
	       size_t *ret_count)
{
	struct json_buffer lines = {0};
	size_t count = 0;
	char name[96];
	int r;

	for (size_t i = 0; i < b->count; i++) {
		enum verdict verdict = b->items[i].verdict;

		if (verdict != VERDICT_REFUSED && verdict != VERDICT_DOUBTED)
			continue;
		put_letter(&lines, sink, b, &b->items[i], now_ns);
		count++;
	}
	r = json_done(&lines, 0);
	if (r == 0 && lines.length) {
		cleanup(close_fd) int fd = -1;

		snprintf(name, sizeof(name), "%s.dead.jsonl", sink);
		fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
			    0600);
		r = fd < 0 ? -errno : append(fd, (struct bytes){lines.text, lines.length});
	}
	json_buffer_free(&lines);
	if (r == 0)
		*ret_count = count;
	return r;
}
