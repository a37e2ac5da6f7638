/*
 * The relay. It is always in one of three states: it wants to read (nothing is buffered), it wants
 * to record (a piece is buffered and not yet recorded), or it wants to write. Interest in the
 * descriptors follows from the state.
 */
#include "relay.h"

#include "../record/cleanup.h"
#include "mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define FINISH_PAUSE_USEC 2000
#define FINISH_BYTES_MAX (1024 * 1024) /* more than any pipe or terminal of a session holds */

enum relay_state { WANTS_READ, WANTS_RECORD, WANTS_WRITE, IS_DONE };

/* One end: a descriptor and what has to be known to use it without blocking. */
struct end {
	int fd;
	bool is_socket;
	bool may_block;
	sd_event_source *source; /* owned; NULL until it has to wait for the first time */
};

struct relay {
	struct relay_options options;
	enum relay_state state;
	struct end from, to;
	sd_event_source *pause; /* between the two looks of a finish */
	uint64_t total;
	size_t size, written; /* of the buffer */
	bool is_finishing;
	bool is_broken; /* finishing because the other end went away */
	unsigned int empty_looks;
	uint64_t finish_left; /* bytes that may still be read when finishing */
	bool is_detached;
	bool is_over; /* nothing more is read: what is put is passed on, then it is done */
	struct {
		uint8_t *data; /* owned */
		size_t size, room, written;
	} put;		 /* by relay_put */
	uint8_t *buffer; /* a mapping; NULL until there is something to read */
	bool is_starved; /* there was no memory for it: relay_resume tries again */
};

static void run(struct relay *r);

/* ---- ends ---- */

static int on_ready(sd_event_source *source, int fd, uint32_t events, void *context)
{
	(void)source;
	(void)fd;
	(void)events;
	run(context);
	return 0;
}

static int on_turn(sd_event_source *source, void *context)
{
	(void)source;
	run(context);
	return 0;
}

static int end_open(struct end *end)
{
	struct stat st;
	int flags = fcntl(end->fd, F_GETFL);

	if (flags < 0 || fstat(end->fd, &st) < 0)
		return -errno;
	end->is_socket = S_ISSOCK(st.st_mode);
	end->may_block = !(flags & O_NONBLOCK) && !S_ISREG(st.st_mode);
	return 0;
}

/* Regular files and /dev/null cannot be waited for: they are always ready. */
static int end_watch(struct relay *r, struct end *end, uint32_t events)
{
	int e = sd_event_add_io(r->options.loop, &end->source, end->fd, events, on_ready, r);

	if (e == -EPERM)
		e = sd_event_add_defer(r->options.loop, &end->source, on_turn, r);
	if (e >= 0)
		e = sd_event_source_set_priority(end->source, r->options.priority);
	if (e >= 0)
		e = sd_event_source_set_enabled(end->source, SD_EVENT_ON);
	return e < 0 ? e : 0;
}

static void end_close(struct end *end)
{
	end->source = sd_event_source_disable_unref(end->source);
	if (end->fd >= 0)
		close(end->fd);
	end->fd = -1;
}

static int end_wait(struct relay *r, struct end *end, bool is_wanted)
{
	if (end->source)
		return sd_event_source_set_enabled(end->source,
						   is_wanted ? SD_EVENT_ON : SD_EVENT_OFF);
	if (!is_wanted || end->fd < 0)
		return 0;
	return end_watch(r, end, end == &r->from ? EPOLLIN : EPOLLOUT);
}

/* True if a call on a descriptor that may block does not block now. */
static bool end_is_ready(const struct end *end, short events)
{
	struct pollfd p = {.fd = end->fd, .events = events};

	return !end->may_block || poll(&p, 1, 0) > 0;
}

/* Nobody holds the other side any more, although not all may be read. */
static bool is_hung_up(const struct end *end)
{
	struct pollfd p = {.fd = end->fd};

	return poll(&p, 1, 0) > 0 && (p.revents & POLLHUP);
}

/* Bytes read, 0 at the end of the stream, -EAGAIN, or -errno. */
static ssize_t end_read(const struct end *end, void *data, size_t size)
{
	if (!end_is_ready(end, POLLIN))
		return -EAGAIN;

	ssize_t n;
	do
		n = end->is_socket ? recv(end->fd, data, size, MSG_DONTWAIT)
				   : read(end->fd, data, size);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EIO)
		return 0; /* a terminal whose other side is closed */
	return n < 0 ? -errno : n;
}

static ssize_t end_write(const struct end *end, const void *data, size_t size)
{
	if (!end_is_ready(end, POLLOUT))
		return -EAGAIN;
	if (end->may_block && !end->is_socket && size > PIPE_BUF)
		size = PIPE_BUF;

	ssize_t n;
	do
		n = end->is_socket ? send(end->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL)
				   : write(end->fd, data, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* ---- states ---- */

static int on_pause_over(sd_event_source *source, uint64_t usec, void *context)
{
	(void)source;
	(void)usec;
	run(context);
	return 0;
}

/*
 * Nothing is there although the command is over. Once more a little later, in case something was
 * on its way; then whoever still holds the stream is left to itself.
 */
static bool will_look_again(struct relay *r)
{
	if (++r->empty_looks > 1)
		return false;
	r->pause = sd_event_source_disable_unref(r->pause);
	return sd_event_add_time_relative(r->options.loop, &r->pause, CLOCK_MONOTONIC,
					  FINISH_PAUSE_USEC, 0, on_pause_over, r) >= 0;
}

static void begin_finish(struct relay *r)
{
	int there = 0;

	if (r->is_finishing)
		return;
	r->is_finishing = true;
	r->finish_left = FINISH_BYTES_MAX;
	if (ioctl(r->from.fd, FIONREAD, &there) == 0 && there > FINISH_BYTES_MAX)
		r->finish_left = there;
}

/* The end of the stream; what was held back for a change comes now. */
static bool end_stream(struct relay *r)
{
	r->is_over = true;
	if (r->options.change && r->options.change(r->options.context, NULL, r->total) < 0)
		r->put.size = r->put.written = 0; /* cut off, rather than passed on unchanged */
	r->state = r->put.size > r->put.written ? WANTS_WRITE : IS_DONE;
	return true;
}

static bool has_buffer(struct relay *r)
{
	if (!r->buffer)
		r->buffer = mapping_new(RELAY_BUFFER);
	r->is_starved = !r->buffer;
	return r->buffer;
}

/* These three return true if the state has changed. */
static bool do_read(struct relay *r)
{
	size_t size = RELAY_BUFFER;

	if (!has_buffer(r))
		return false;

	if (r->is_finishing && r->finish_left < size)
		size = r->finish_left;
	ssize_t n = size > 0 ? end_read(&r->from, r->buffer, size) : -EAGAIN;

	if (n > 0) {
		r->size = n;
		r->written = 0;
		r->empty_looks = 0;
		if (r->is_finishing)
			r->finish_left -= n;
		r->state = WANTS_RECORD;
		return true;
	}
	if (n == -EAGAIN && (!r->is_finishing || (size > 0 && will_look_again(r))))
		return false;
	r->is_detached = n == -EAGAIN && !r->is_broken && !is_hung_up(&r->from);
	return end_stream(r);
}

static bool do_record(struct relay *r)
{
	struct bytes piece = {r->buffer, r->size};

	if (r->options.record(r->options.context, piece, r->total) < 0)
		return false;
	if (r->options.change && r->options.change(r->options.context, &piece, r->total) < 0)
		return false;
	r->total += r->size;
	r->state = WANTS_WRITE;
	return true;
}

/* Write what is left of @data. False: not all of it can be written now. */
static bool write_out(struct relay *r, const uint8_t *data, size_t size, size_t *written)
{
	while (r->to.fd >= 0 && *written < size) {
		ssize_t n = end_write(&r->to, data + *written, size - *written);

		if (n == -EAGAIN)
			return false;
		if (n >= 0) {
			*written += n;
			continue;
		}
		end_close(&r->to);
		r->is_broken = !r->is_finishing;
		begin_finish(r);
	}
	*written = size;
	return true;
}

static bool do_write(struct relay *r)
{
	bool is_all = r->options.change ? write_out(r, r->put.data, r->put.size, &r->put.written)
					: write_out(r, r->buffer, r->size, &r->written);

	if (!is_all)
		return false;
	r->put.size = r->put.written = 0;
	r->state = r->is_over ? IS_DONE : WANTS_READ;
	return true;
}

int relay_put(struct relay *r, struct bytes data)
{
	if (r->put.written == r->put.size)
		r->put.size = r->put.written = 0;
	if (r->put.size + data.size > r->put.room) {
		size_t room = 2 * r->put.room + data.size;
		uint8_t *larger = realloc(r->put.data, room);

		if (!larger)
			return -ENOMEM;
		r->put.data = larger;
		r->put.room = room;
	}
	if (data.size)
		memcpy(r->put.data + r->put.size, data.data, data.size);
	r->put.size += data.size;
	return 0;
}

/* The last act of a relay: nothing may touch it behind this. */
static void be_done(struct relay *r)
{
	end_close(&r->from);
	end_close(&r->to);
	r->pause = sd_event_source_disable_unref(r->pause);
	r->options.done(r->options.context);
}

/* One turn: at most one piece is read, so that no stream keeps the others waiting. */
static void run(struct relay *r)
{
	bool goes_on = r->state != IS_DONE, has_read = false;

	if (!goes_on)
		return;
	while (goes_on && r->state != IS_DONE) {
		if (r->state == WANTS_READ) {
			goes_on = !has_read && do_read(r);
			has_read = true;
		} else if (r->state == WANTS_RECORD) {
			goes_on = do_record(r);
		} else {
			goes_on = do_write(r);
		}
	}

	if (r->state == IS_DONE) {
		be_done(r);
		return;
	}
	/* Without memory to wait with, the next relay_resume finds out. */
	(void)end_wait(r, &r->from, r->state == WANTS_READ);
	(void)end_wait(r, &r->to, r->state == WANTS_WRITE);
}

/* ---- its life ---- */

int relay_new(const struct relay_options *options, struct relay **ret_relay)
{
	struct relay *r = calloc(1, sizeof(*r));
	if (!r) {
		close(options->from);
		if (options->to >= 0)
			close(options->to);
		return -ENOMEM;
	}

	r->options = *options;
	r->from.fd = options->from;
	r->to.fd = options->to;
	int e = end_open(&r->from);
	if (e == 0 && options->to >= 0)
		e = end_open(&r->to);
	if (e == 0)
		e = end_wait(r, &r->from, true);
	if (e < 0) {
		relay_free(r);
		return e;
	}
	*ret_relay = r;
	return 0;
}

void relay_free(struct relay *r)
{
	if (!r)
		return;
	end_close(&r->from);
	end_close(&r->to);
	sd_event_source_disable_unref(r->pause);
	free(r->put.data);
	mapping_free(r->buffer, RELAY_BUFFER); /* nothing of what it carried stays with us */
	free(r);
}

void relay_resume(struct relay *r)
{
	if (r->state == WANTS_READ && r->put.size > r->put.written)
		r->state = WANTS_WRITE;
	if (r->state == WANTS_RECORD || r->state == WANTS_WRITE || r->is_starved)
		run(r);
}

void relay_finish(struct relay *r)
{
	if (r->state == IS_DONE || r->is_finishing)
		return;
	begin_finish(r);
	run(r);
}

void relay_stop(struct relay *r)
{
	if (r->state == IS_DONE)
		return;
	r->state = IS_DONE;
	be_done(r);
}

void relay_discard(struct relay *r)
{
	end_close(&r->to);
	if (r->state == WANTS_WRITE)
		run(r);
}

bool relay_is_done(const struct relay *r)
{
	return r->state == IS_DONE;
}

bool relay_is_detached(const struct relay *r)
{
	return r->is_detached;
}

uint64_t relay_total(const struct relay *r)
{
	return r->total;
}
