/*
 * Writes a journal. All bytes go through one queue, in order; whatever fails leaves the queue and
 * the step that was under way as they are, so that journal_retry goes on at the exact byte.
 */
#include "journal.h"
#include "checkpoints.h"
#include "cleanup.h"
#include "codec.h"
#include "notary.h"
#include "pack.h"
#include "seal.h"
#include "tail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUEUE_FIRST (128u << 10)
#define QUEUE_FULL (1u << 20) /* so much waits for a flush; then it is written without one */
#define QUEUE_KEEP (4u << 20) /* a larger one is given back when it is empty */

/* What has to be done, once the queue is empty, before records may be taken again. */
enum step {
	STEP_NONE,
	STEP_LEAVE, /* the segment has its end: leave it */
	STEP_MAKE,  /* make the next one */
	STEP_WAIT,  /* the journal was closed before: make a segment if there comes a record */
};

struct journal {
	int dir_fd;
	struct journal_options options;
	char session[SEGMENT_SESSION_SIZE + 1];

	int fd;		 /* the segment; -1 between two */
	int before_fd;	 /* the one before, until it is known to be on disk */
	bool dir_synced; /* names of segments are on disk */
	bool is_synced;	 /* and so is what was written to this one */
	uint32_t number;
	uint64_t salt;
	uint64_t segment_size; /* of this one, the queue included */
	uint64_t other_bytes;  /* size of all others */
	uint64_t next_seq;

	struct chain *chain;
	uint64_t block_since_ns; /* when the open block first was in the file; 0: not yet */
	struct packer *packer;
	struct notary *notary;	   /* NULL: it goes unsigned */
	enum checkpoint_kind owed; /* kind of the checkpoint that could not be written */
	bool is_owing;

	uint8_t *queue;
	size_t queue_room, queue_size, queue_done;
	enum step step;
	int error;	  /* of the write that failed; 0: good */
	bool sync_failed; /* for good */
};

/* Room for @size bytes at the end of the queue, or NULL. */
static uint8_t *queue_tail(struct journal *j, size_t size)
{
	size_t room = j->queue_room ? j->queue_room : QUEUE_FIRST;
	uint8_t *larger;

	while (room - j->queue_size < size)
		room *= 2;
	if (room != j->queue_room) {
		larger = realloc(j->queue, room);
		if (!larger)
			return NULL;
		j->queue = larger;
		j->queue_room = room;
	}
	return j->queue + j->queue_size;
}

static void queue_add(struct journal *j, size_t size)
{
	j->queue_size += size;
	j->segment_size += size;
}

/* Queue a frame whose payload stands behind its head at the queue's tail already. */
static struct bytes queue_frame(struct journal *j, enum frame_type type, size_t payload_size)
{
	uint8_t *at = j->queue + j->queue_size;

	frame_head_put(j->salt, type, (struct bytes){at + FRAME_HEAD_SIZE, payload_size}, at);
	queue_add(j, FRAME_HEAD_SIZE + payload_size);
	return (struct bytes){at, FRAME_HEAD_SIZE + payload_size};
}

static int write_queue(struct journal *j)
{
	const struct journal_system *system = j->options.system;

	while (j->queue_done < j->queue_size) {
		ssize_t n = system->write(system->context, j->fd, j->queue + j->queue_done,
					  j->queue_size - j->queue_done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		j->queue_done += (size_t)n;
		j->is_synced = false;
	}
	j->queue_size = j->queue_done = 0;
	if (j->queue_room > QUEUE_KEEP) {
		free(take(j->queue));
		j->queue_room = 0;
	}
	return 0;
}

static int sync_file(struct journal *j, int fd)
{
	if (!j->options.system->sync(j->options.system->context, fd))
		return 0;
	j->error = -errno;
	j->sync_failed = true;
	return j->error;
}

static int sync_before(struct journal *j)
{
	int r;

	if (j->before_fd < 0)
		return 0;
	r = sync_file(j, j->before_fd);
	if (r)
		return r;
	close(j->before_fd);
	j->before_fd = -1;
	return 0;
}

static int sync_all(struct journal *j)
{
	int r = sync_before(j);

	if (!r && j->fd >= 0 && !j->is_synced)
		r = sync_file(j, j->fd);
	if (!r)
		j->is_synced = true;
	if (r || j->dir_synced)
		return r;
	r = sync_file(j, j->dir_fd);
	j->dir_synced = !r;
	return r;
}

static void tell(const struct journal *j, enum journal_deed deed)
{
	if (j->options.system->did)
		j->options.system->did(j->options.system->context, deed);
}

/* Sign what is written, once it is on disk. What fails is owed, and done by the next advance. */
static int sign(struct journal *j, enum checkpoint_kind kind)
{
	const struct journal_system *system = j->options.system;
	uint64_t begun_ns = system->boot_ns(system->context);
	int r;

	j->owed = kind;
	j->is_owing = true;
	r = j->next_seq > 1 ? sync_all(j) : 0;
	if (!r)
		r = notary_sign(j->notary, kind, j->chain, system->time_ns(system->context),
				system->boot_ns(system->context) - begun_ns);
	j->is_owing = r != 0;
	if (r)
		j->error = r;
	else
		tell(j, JOURNAL_SIGNED);
	return r;
}

static int leave_segment(struct journal *j)
{
	int r = j->notary ? sign(j, CHECKPOINT_TURN) : sync_before(j);

	if (r)
		return r;
	j->before_fd = j->fd;
	j->fd = -1;
	j->other_bytes += j->segment_size;
	j->number++;
	j->step = STEP_MAKE;
	return 0;
}

/* The first one may have been made ahead. */
static int open_new_segment(const struct journal *j)
{
	int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
	char name[SEGMENT_NAME_SIZE];

	segment_name(j->number, "", name);
	if (j->number || renameat2(j->dir_fd, SEGMENT_AHEAD, j->dir_fd, name, RENAME_NOREPLACE))
		flags |= O_CREAT | O_EXCL;
	int fd = openat(j->dir_fd, name, flags, 0640);
	return fd < 0 ? -errno : fd;
}

static int make_segment(struct journal *j)
{
	struct segment_head head = {
		.number = j->number,
		.first_seq = j->next_seq,
		.blocks = chain_blocks(j->chain),
	};
	uint8_t *at;
	int r;

	if (j->number > SEGMENT_NUMBER_MAX)
		return -EFBIG;
	r = j->options.system->random(j->options.system->context, &head.salt, sizeof(head.salt));
	if (r)
		return r;
	at = queue_tail(j, SEGMENT_HEADS_SIZE);
	if (!at)
		return -ENOMEM;
	j->fd = open_new_segment(j);
	if (j->fd < 0)
		return j->fd;

	memcpy(head.session, j->session, sizeof(head.session));
	memcpy(head.previous, chain_last(j->chain), HASH_SIZE);
	segment_head_put(&head, at);
	memcpy(at + SEGMENT_HEAD_SIZE, at, SEGMENT_HEAD_SIZE);
	j->salt = head.salt;
	j->segment_size = 0;
	j->dir_synced = false;
	queue_add(j, SEGMENT_HEADS_SIZE);
	j->step = STEP_NONE;
	return 0;
}

/* Get everything done that waits. */
static int advance(struct journal *j)
{
	int r = j->sync_failed ? -EIO : write_queue(j);

	if (!r && j->is_owing && j->owed != CHECKPOINT_TURN)
		r = sign(j, j->owed);
	while (!r && (j->step == STEP_LEAVE || j->step == STEP_MAKE)) {
		r = j->step == STEP_LEAVE ? leave_segment(j) : make_segment(j);
		if (!r)
			r = write_queue(j);
	}
	j->error = r;
	return r;
}

static int seal_block(struct journal *j)
{
	struct seal seal;
	uint8_t *at;

	if (!chain_open_bytes(j->chain))
		return 0;
	at = queue_tail(j, FRAME_HEAD_SIZE + SEAL_SIZE);
	if (!at)
		return -ENOMEM;
	chain_seal(j->chain, &seal);
	seal_put(&seal, at + FRAME_HEAD_SIZE);
	queue_frame(j, FRAME_SEAL, SEAL_SIZE);
	j->block_since_ns = 0;
	tell(j, JOURNAL_SEALED);
	return 0;
}

static int finish_segment(struct journal *j, bool is_closed)
{
	struct finish finish = {.next_seq = j->next_seq, .is_closed = is_closed};
	uint8_t *at;
	int r = seal_block(j);

	if (r)
		return r;
	at = queue_tail(j, FRAME_HEAD_SIZE + FINISH_SIZE);
	if (!at)
		return -ENOMEM;
	finish.blocks = (uint32_t)chain_blocks(j->chain);
	memcpy(finish.last, chain_last(j->chain), HASH_SIZE);
	finish_put(&finish, at + FRAME_HEAD_SIZE);
	queue_frame(j, FRAME_FINISH, FINISH_SIZE);
	return 0;
}

/* Go to the next segment if this one is full. */
static int turn_over(struct journal *j)
{
	int r;

	if (j->segment_size < j->options.segment_bytes)
		return 0;
	r = finish_segment(j, false);
	if (r)
		return r;
	j->step = STEP_LEAVE;
	return advance(j);
}

/* Before a record is taken: nothing may be left undone, and the queue must not grow for ever. */
static int make_way(struct journal *j)
{
	int r;

	if (j->error)
		return j->error;
	if (j->step == STEP_WAIT) {
		j->step = STEP_MAKE;
		return advance(j);
	}
	if (chain_open_bytes(j->chain) >= j->options.block_bytes) {
		r = seal_block(j);
		if (r)
			return r;
	}
	r = turn_over(j);
	if (!r && j->queue_size >= QUEUE_FULL)
		r = advance(j);
	return r;
}

static int append(struct journal *j, const struct event *e, uint64_t *ret_seq)
{
	size_t bound = codec_bound(e), size;
	struct bytes frame;
	uint8_t *at;
	int r;

	if (bound > JOURNAL_RECORD_MAX)
		return -E2BIG;
	r = make_way(j);
	if (r)
		return r;
	at = queue_tail(j, FRAME_HEAD_SIZE + bound);
	if (!at)
		return -ENOMEM;
	size = codec_encode(e, j->next_seq, at + FRAME_HEAD_SIZE);
	frame = queue_frame(j, FRAME_RECORD, size);
	chain_add(j->chain, frame, j->next_seq, e->time_ns);
	if (j->notary)
		notary_add(j->notary,
			   (struct bytes){(const uint8_t *)frame.data + FRAME_HEAD_SIZE, size});
	if (ret_seq)
		*ret_seq = j->next_seq;
	j->next_seq++;
	return 0;
}

int journal_append(struct journal *j, const struct redacted *record, uint64_t *ret_seq)
{
	return append(j, &record->event, ret_seq);
}

int journal_flush(struct journal *j, uint64_t now_ns)
{
	uint64_t bytes;
	int r;

	if (j->error)
		return j->error;
	bytes = chain_open_bytes(j->chain);
	if (bytes && !j->block_since_ns)
		j->block_since_ns = now_ns ? now_ns : 1;
	if (bytes >= j->options.block_bytes ||
	    (bytes && now_ns >= j->block_since_ns + j->options.block_ns)) {
		r = seal_block(j);
		if (r)
			return r;
	}
	r = advance(j);
	if (!r && j->notary && notary_is_due(j->notary, now_ns))
		r = sign(j, CHECKPOINT_PLAIN);
	return r ? r : turn_over(j);
}

int journal_retry(struct journal *j)
{
	return advance(j);
}

int journal_sign(struct journal *j, const struct checkpoints_key *key)
{
	int r = j->error ? j->error : advance(j);

	if (!r)
		r = notary_new(j->dir_fd, key, j->next_seq, &j->notary);
	return r || j->next_seq > 1 ? r : sign(j, CHECKPOINT_PLAIN);
}

int journal_sync(struct journal *j)
{
	int r;

	if (j->error || j->step == STEP_WAIT)
		return j->error;
	r = seal_block(j);
	if (!r)
		r = advance(j);
	return r ? r : sync_all(j);
}

bool journal_tidy(struct journal *j)
{
	return j->options.compress && packer_step(j->packer, j->number);
}

uint64_t journal_next_seq(const struct journal *j)
{
	return j->next_seq;
}

uint64_t journal_bytes(const struct journal *j)
{
	return j->other_bytes + j->segment_size;
}

static int take_options(struct journal *j, const struct journal_options *options)
{
	size_t length = strlen(options->session);

	if (!length || length > SEGMENT_SESSION_SIZE)
		return -EINVAL;
	memcpy(j->session, options->session, length);
	j->options = *options;
	j->options.session = j->session;
	if (!options->segment_bytes)
		j->options.segment_bytes = JOURNAL_SEGMENT_BYTES;
	if (!options->block_bytes)
		j->options.block_bytes = JOURNAL_BLOCK_BYTES;
	if (!options->block_ns)
		j->options.block_ns = JOURNAL_BLOCK_NS;
	if (!options->compress_least)
		j->options.compress_least = JOURNAL_COMPRESS_LEAST;
	if (!options->system)
		j->options.system = &journal_kernel;
	return j->options.block_bytes > JOURNAL_BLOCK_BYTES_MAX ? -EINVAL : 0;
}

/* Go on in the segment of @tail, without what is torn behind it. */
static int enter_segment(struct journal *j, const struct tail *tail)
{
	char name[SEGMENT_NAME_SIZE];

	segment_name(tail->number, "", name);
	j->fd = openat(j->dir_fd, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (j->fd < 0)
		return -errno;
	if (tail->gap && ftruncate(j->fd, (off_t)tail->offset))
		return -errno;
	j->salt = tail->salt;
	j->segment_size = tail->offset;
	return tail_replay(j->dir_fd, tail, j->chain);
}

static int declare_gap(struct journal *j, const char *reason)
{
	const struct journal_system *system = j->options.system;
	struct event e;

	event_init(&e, EVENT_gap, system->time_ns(system->context),
		   system->boot_ns(system->context));
	event_put_text(&e, FIELD_class, "journal");
	event_put_text(&e, FIELD_reason, reason);
	return append(j, &e, NULL);
}

static int go_on(struct journal *j)
{
	struct tail tail;
	int r = tail_find(j->dir_fd, j->session, &tail);

	if (r)
		return r;
	j->number = tail.number;
	j->next_seq = tail.next_seq;
	j->other_bytes = tail.bytes;
	r = chain_new(tail.blocks, tail.last, &j->chain);
	if (r)
		return r;
	if (tail.is_new)
		j->step = tail.number ? STEP_WAIT : STEP_MAKE;
	else
		r = enter_segment(j, &tail);
	if (!r && j->options.key)
		r = notary_new(j->dir_fd, j->options.key, j->next_seq, &j->notary);
	if (!r && tail.gap)
		r = declare_gap(j, tail.gap);
	if (!r)
		r = advance(j);
	j->options.key = NULL; /* borrowed until here */
	return !r && j->notary ? sign(j, CHECKPOINT_PLAIN) : r;
}

static void journal_free(struct journal *j)
{
	packer_free(j->packer);
	chain_free(j->chain);
	notary_free(j->notary);
	if (j->fd >= 0)
		close(j->fd);
	if (j->before_fd >= 0)
		close(j->before_fd);
	if (j->dir_fd >= 0)
		close(j->dir_fd);
	free(j->queue);
	free(j);
}

int journal_open(int dir_fd, const struct journal_options *options, struct journal **ret_journal)
{
	struct journal *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return -ENOMEM;
	j->fd = j->before_fd = -1;
	j->dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	r = j->dir_fd < 0 ? -errno : take_options(j, options);
	if (!r)
		r = packer_new(j->dir_fd, &j->options, &j->packer);
	if (!r)
		r = go_on(j);
	if (r) {
		journal_free(j);
		return r;
	}
	*ret_journal = j;
	return 0;
}

static int close_segment(struct journal *j)
{
	int r = j->error ? advance(j) : 0;

	if (r || j->step == STEP_WAIT)
		return r;
	r = finish_segment(j, true);
	if (!r)
		r = advance(j);
	return r ? r : sync_all(j);
}

static int sign_end(struct journal *j, uint8_t ret_note[HASH_SIZE])
{
	int r = sign(j, CHECKPOINT_END);

	if (!r)
		memcpy(ret_note, notary_last(j->notary), HASH_SIZE);
	return r;
}

int journal_end(struct journal *j, uint8_t ret_note[HASH_SIZE])
{
	int r = close_segment(j);

	memset(ret_note, 0, HASH_SIZE);
	return !r && j->notary ? sign_end(j, ret_note) : r;
}

int journal_settle(struct journal *j)
{
	int r = j->error;

	if (!r && j->notary)
		r = sync_file(j, notary_fd(j->notary));
	while (!r && j->options.compress && packer_step(j->packer, j->number + 1))
		;
	journal_free(j);
	return r;
}

int journal_close_noted(struct journal *j, uint8_t ret_note[HASH_SIZE])
{
	int r, settled;

	memset(ret_note, 0, HASH_SIZE);
	if (!j)
		return 0;
	r = journal_end(j, ret_note);
	settled = journal_settle(j);
	return r ? r : settled;
}

int journal_close(struct journal *j)
{
	uint8_t note[HASH_SIZE];

	return journal_close_noted(j, note);
}
