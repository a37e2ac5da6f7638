/*
 * A file of lines, rotated by size and age.
 *
 * A line is whole or not there: what a full disk or a crash left of one is cut off before the next.
 * A closed file is called PATH.FIRST_LAST, by the ids of its first and last record. All that may
 * block is done aside: a disk that is slow or gone holds up this sink alone.
 */
#include "aside.h"
#include "line_id.h"
#include "rotated.h"
#include "sink.h"

#include "../../supervisor/record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const char *const syncs[] = {"batch", "close", "never", NULL};

struct file {
	struct sink_setup setup;
	const char *path;
	int fd;
	uint64_t size;
	uint64_t born_s;	/* wall clock: when the file was made */
	sd_event_source *timer; /* looks at its age; NULL: the age does not matter */
	char first[LINE_ID_ROOM], last[LINE_ID_ROOM];
	struct rotated *rotated;
	struct aside *aside; /* has all above while it is busy */
	bool is_busy, is_writing;
	bool is_moved;	     /* to be opened anew, once it is not busy */
	struct batch *batch; /* to be written, or being written; NULL: none */
	size_t count;
	struct sink_answer answer; /* of the batch */
	uint64_t look_in_s;	   /* when to look at the age again */
};

static uint64_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec;
}

static uint64_t age_limit_s(const struct file *file)
{
	return (uint64_t)knob_number(file->setup.values, "rotate_age_s");
}

static int on_age(sd_event_source *source, uint64_t usec, void *context);
static void work(void *context);
static void on_worked(void *context);

static void look_again(struct file *file, uint64_t in_s)
{
	sd_event_source_set_time_relative(file->timer, in_s * 1000000);
	sd_event_source_set_enabled(file->timer, SD_EVENT_ONESHOT);
}

/* A configuration that is only checked has no loop, and touches no file. */
static int start(struct file *file)
{
	int r = rotated_new(file->path, knob_text(file->setup.values, "compress"), &file->rotated);

	if (r == 0)
		r = aside_new(file->setup.event, work, on_worked, file, &file->aside);
	if (r < 0 || !age_limit_s(file))
		return r;
	r = sd_event_add_time_relative(file->setup.event, &file->timer, CLOCK_REALTIME, 1000000,
				       1000000, on_age, file);
	return r < 0 ? r : 0;
}

static void free_sink(void *state);

static int open_sink(const struct sink_setup *setup, void **ret_state, struct knob_fault *f)
{
	struct file *file = calloc(1, sizeof(*file));

	(void)f;
	if (!file)
		return -ENOMEM;
	file->setup = *setup;
	file->path = knob_text(setup->values, "path");
	file->fd = -1;
	if (setup->event) {
		int r = start(file);

		if (r < 0) {
			free_sink(file);
			return r;
		}
	}
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

/* When it was made, as far as its file system knows. */
static uint64_t born_s(int fd, const struct stat *st)
{
	struct statx stx;

	if (!st->st_size)
		return now_s();
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &stx) == 0 && stx.stx_mask & STATX_BTIME)
		return (uint64_t)stx.stx_btime.tv_sec;
	return (uint64_t)st->st_mtime;
}

/* @flags: O_CREAT, or 0 where it has to be there. */
static int open_file(struct file *file, int flags)
{
	cleanup(close_fd) int fd =
		open(file->path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOCTTY | flags, 0640);
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
	if (file->size) {
		line_id_first(fd, file->first);
		line_id_last(fd, file->size, file->last);
	}
	file->born_s = born_s(fd, &st);
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
	uint64_t age_s = age_limit_s(file);

	return file->size > 0 &&
	       ((bytes && file->size >= bytes) || (age_s && now_s() >= file->born_s + age_s));
}

static int rotate(struct file *file)
{
	int r;

	if (!is_due(file))
		return 0;
	if (strcmp(knob_text(file->setup.values, "sync"), "never") && fdatasync(file->fd) < 0)
		return -errno;
	r = rotated_add(file->rotated, file->first, file->last);
	if (r == 0)
		close_file(file);
	return r;
}

static void check_age(struct file *file)
{
	uint64_t now = now_s(), due = 0;

	if (file->fd < 0)
		open_file(file, 0);
	if (file->fd >= 0 && rotate(file) == 0 && file->fd >= 0 && file->size)
		due = file->born_s + age_limit_s(file);
	file->look_in_s = due > now ? due - now : age_limit_s(file);
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
	for (size_t i = 0; i < count; i++) {
		const struct batch_item *item = &b->items[i];

		if (!item->seq)
			continue; /* no record of the journal */
		snprintf(file->last, sizeof(file->last), "%s-%" PRIu64, item->session, item->seq);
		if (!file->first[0])
			memcpy(file->first, file->last, sizeof(file->first));
	}
}

static void write_batch(struct file *file)
{
	struct batch *b = file->batch;
	const struct batch_item *last = &b->items[file->count - 1];
	int r = file->fd < 0 ? open_file(file, O_CREAT) : 0;

	file->answer = (struct sink_answer){.answer = ANSWER_DONE};
	if (r == 0)
		r = append(file, (struct bytes){b->body.text, last->offset + last->length});
	if (r < 0) {
		sink_answer_set(&file->answer, ANSWER_RETRY, "%s: %s", file->path, strerror(-r));
		return;
	}
	note_ids(file, b, file->count);
	batch_judge(b, file->count, VERDICT_DELIVERED, NULL);
	r = rotate(file);
	if (r < 0) /* it grows on, and is tried again with the next batch */
		sink_answer_set(&file->answer, ANSWER_DONE, "%s: cannot be rotated: %s", file->path,
				strerror(-r));
}

/* ---- aside and back ---- */

/* In the thread. */
static void work(void *context)
{
	struct file *file = context;

	if (file->is_writing)
		write_batch(file);
	else
		check_age(file);
}

static void begin(struct file *file)
{
	if (file->is_moved)
		close_file(file);
	file->is_moved = false;
	file->is_busy = true;
	file->is_writing = file->batch != NULL;
	aside_start(file->aside);
}

static void on_worked(void *context)
{
	struct file *file = context;
	const struct sink_answer answer = file->answer;

	file->is_busy = false;
	if (!file->is_writing) {
		look_again(file, file->look_in_s);
		if (file->batch)
			begin(file);
		return;
	}
	file->batch = NULL;
	file->setup.answer(file->setup.lane, &answer);
}

/* Old files are closed whether records come or not. */
static int on_age(sd_event_source *source, uint64_t usec, void *context)
{
	struct file *file = context;

	(void)source, (void)usec;
	if (file->is_busy)
		look_again(file, 1);
	else
		begin(file);
	return 0;
}

static void send_lines(void *state, struct batch *b, size_t count)
{
	struct file *file = state;

	file->batch = b;
	file->count = count;
	if (!file->is_busy)
		begin(file);
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
	struct file *file = state;

	file->is_moved = file->is_busy;
	if (!file->is_busy)
		close_file(file);
}

static void free_sink(void *state)
{
	struct file *file = state;

	sd_event_source_disable_unref(file->timer);
	aside_free(file->aside);
	rotated_free(file->rotated);
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
			{"compress", KNOB_CHOICE, "\"gzip\"", .choices = rotated_ways,
			 .doc = "how closed files are"},
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
