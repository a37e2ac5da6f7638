/*
 * A file of lines, rotated by size and age.
 *
 * A line is whole or not there: what a full disk or a crash left of one is cut off before the next.
 * A closed file is called PATH.FIRST_LAST, by the ids of its first and last record.
 */
#include "rotated.h"
#include "sink.h"

#include "../../supervisor/record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const char *const syncs[] = {"batch", "close", "never", NULL};

struct file {
	struct sink_setup setup;
	const char *path;
	int fd;
	uint64_t size;
	uint64_t born_s; /* monotonic: when the file was opened or made */
	char first[64], last[64];
	struct rotated rotated;
};

static uint64_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec;
}

static int open_sink(const struct sink_setup *setup, void **ret_state, struct knob_fault *f)
{
	struct file *file = calloc(1, sizeof(*file));

	(void)f;
	if (!file)
		return -ENOMEM;
	file->setup = *setup;
	file->path = knob_text(setup->values, "path");
	file->fd = -1;
	*ret_state = file;
	return 0;
}

/* Cut off what stands behind the last end of line. 0 or -errno. */
static int mend(int fd, uint64_t *size)
{
	char part[4096];
	uint64_t end = *size;

	while (end > 0) {
		size_t length = end < sizeof(part) ? (size_t)end : sizeof(part);
		ssize_t n = pread(fd, part, length, (off_t)(end - length));
		const char *line;

		if (n < (ssize_t)length)
			return n < 0 ? -errno : -EIO;
		line = memrchr(part, '\n', length);
		end -= length;
		if (line) {
			end += (uint64_t)(line - part) + 1;
			break;
		}
	}
	if (end == *size)
		return 0;
	*size = end;
	return ftruncate(fd, (off_t)end) < 0 ? -errno : 0;
}

static int open_file(struct file *file)
{
	cleanup(close_fd) int fd =
		open(file->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0640);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOTSUP;
	file->size = (uint64_t)st.st_size;
	r = mend(fd, &file->size);
	if (r < 0)
		return r;
	file->first[0] = file->last[0] = 0;
	if (file->size)
		rotated_first_id(fd, file->first);
	file->born_s = now_s();
	file->fd = take_fd(fd);
	return 0;
}

static void close_file(struct file *file)
{
	if (file->fd < 0)
		return;
	close(file->fd);
	file->fd = -1;
}

/* True once the file is large or old enough to be closed. */
static bool is_due(const struct file *file)
{
	uint64_t bytes = (uint64_t)knob_number(file->setup.values, "rotate_bytes");
	uint64_t age_s = (uint64_t)knob_number(file->setup.values, "rotate_age_s");

	return file->size > 0 &&
	       ((bytes && file->size >= bytes) || (age_s && now_s() - file->born_s >= age_s));
}

static int rotate(struct file *file)
{
	int r;

	if (!is_due(file))
		return 0;
	if (strcmp(knob_text(file->setup.values, "sync"), "never") && fdatasync(file->fd) < 0)
		return -errno;
	r = rotated_add(&file->rotated, file->path, file->first, file->last,
			knob_bool(file->setup.values, "gzip"));
	if (r == 0)
		close_file(file);
	return r;
}

/* Append all or nothing. */
static int append(struct file *file, struct bytes text)
{
	size_t done = 0;
	int r = 0;

	while (r == 0 && done < text.size) {
		ssize_t n = write(file->fd, (const char *)text.data + done, text.size - done);

		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			r = n == 0 ? -EIO : -errno;
	}
	if (r == 0 && !strcmp(knob_text(file->setup.values, "sync"), "batch") &&
	    fdatasync(file->fd) < 0)
		r = -errno;
	if (r == 0) {
		file->size += text.size;
		return 0;
	}
	/* What cannot even be cut is cut when the file is opened again. */
	if (ftruncate(file->fd, (off_t)file->size) < 0)
		close_file(file);
	return r;
}

static void note_ids(struct file *file, const struct batch *b, size_t count)
{
	const struct batch_item *first = &b->items[0], *last = &b->items[count - 1];

	if (!file->first[0])
		snprintf(file->first, sizeof(file->first), "%s-%llu", first->session,
			 (unsigned long long)first->seq);
	snprintf(file->last, sizeof(file->last), "%s-%llu", last->session,
		 (unsigned long long)last->seq);
}

static void send_lines(void *state, struct batch *b, size_t count)
{
	struct file *file = state;
	const struct batch_item *last = &b->items[count - 1];
	struct sink_answer a = {.answer = ANSWER_DONE};
	int r = file->fd < 0 ? open_file(file) : 0;

	if (r == 0)
		r = append(file, (struct bytes){b->body.text, last->offset + last->length});
	if (r == 0) {
		note_ids(file, b, count);
		batch_judge(b, count, VERDICT_DELIVERED, NULL);
		r = rotate(file);
		if (r < 0) /* it grows on, and is tried again with the next batch */
			sink_answer_set(&a, ANSWER_DONE, "%s: cannot be rotated: %s", file->path,
					strerror(-r));
	} else {
		sink_answer_set(&a, ANSWER_RETRY, "%s: %s", file->path, strerror(-r));
	}
	file->setup.answer(file->setup.lane, &a);
}

static int frame(void *state, const struct projected *p, struct bytes line, struct json_buffer *out)
{
	int r = json_write_raw(out, line.data, line.size);

	(void)state, (void)p;
	return r < 0 ? r : json_write_raw(out, "\n", 1);
}

/* Somebody else rotated the file: go on in a new one. */
static void reopen(void *state)
{
	close_file(state);
}

static void free_sink(void *state)
{
	struct file *file = state;

	rotated_wait(&file->rotated);
	close_file(file);
	free(file);
}

const struct sink_type sink_file = {
	.name = "file",
	.doc = "A file of lines. SIGHUP opens it anew, for who rotates files himself.",
	.format = "jsonl",
	.knobs =
		(const struct knob[]){
			{"path", KNOB_PATH, .is_required = true, .doc = "the file"},
			{"rotate_bytes", KNOB_NUMBER, "104857600", .min = 0, .max = INT64_MAX,
			 .doc = "from this size on it is closed; 0: never"},
			{"rotate_age_s", KNOB_NUMBER, "86400", .min = 0, .max = INT32_MAX,
			 .doc = "from this age on; 0: never"},
			{"gzip", KNOB_BOOL, "true", .doc = "compress closed files"},
			{"sync", KNOB_CHOICE, "\"batch\"", .choices = syncs,
			 .doc = "when the disk has to have what counts as delivered"},
			{0},
		},
	.open = open_sink,
	.frame = frame,
	.send = send_lines,
	.reopen = reopen,
	.free = free_sink,
};
