/*
 * Streams between a client and a command. See streams.h.
 */
#include "streams.h"

#include "passed.h"
#include "record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define PIPE_BYTES (1024 * 1024)

static const char *const stream_names[] = {"standard input", "standard output", "standard error"};

static void close_all(int fds[3])
{
	for (size_t i = 0; i < 3; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

void streams_close_session(struct streams *s)
{
	close_all(s->session);
}

void streams_close(struct streams *s)
{
	const int passed[] = {s->from[0], s->to[1], s->to[2]};

	passed_close(passed, sizeof(passed) / sizeof(passed[0]));
	s->from[0] = s->to[1] = s->to[2] = -1;
	close_all(s->session);
	close_all(s->from);
	close_all(s->to);
}

static void cleanup_streams(struct streams *s)
{
	streams_close(s);
}

/* A pipe whose end for the recorder does not block, and which the command's user may open. */
static int open_pipe(uid_t owner, bool session_reads, int *ret_session, int *ret_recorder)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	cleanup(close_fd) int session = ends[session_reads ? 0 : 1];
	cleanup(close_fd) int recorder = ends[session_reads ? 1 : 0];

	if (fchown(session, owner, owner) < 0)
		return -errno;
	if (fcntl(recorder, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	fcntl(recorder, F_SETPIPE_SZ, PIPE_BYTES); /* only for speed */

	*ret_session = take_fd(session);
	*ret_recorder = take_fd(recorder);
	return 0;
}

void streams_close_pipes(struct streams_pipes *p)
{
	close_all(p->session);
	close_all(p->recorder);
}

int streams_make_pipes(uid_t owner, struct streams_pipes *ret_pipes)
{
	struct streams_pipes p = STREAMS_PIPES_NONE;
	int r = 0;

	p.owner = owner;
	for (size_t i = 0; r == 0 && i < 3; i++)
		r = open_pipe(owner, i == 0, &p.session[i], &p.recorder[i]);
	if (r < 0)
		streams_close_pipes(&p);
	else
		*ret_pipes = p;
	return r;
}

static int take_pipe(const struct streams_options *o, size_t i, int *ret_session, int *ret_recorder)
{
	struct streams_pipes *p = o->pipes;

	if (!p || p->owner != o->owner || p->session[i] < 0)
		return open_pipe(o->owner, i == 0, ret_session, ret_recorder);
	*ret_session = take_fd(p->session[i]);
	*ret_recorder = take_fd(p->recorder[i]);
	return 0;
}

static int open_stream(const struct streams_options *o, size_t i, struct streams *s)
{
	int *ours = i == 0 ? &s->from[0] : &s->to[i];
	int *pipe_end = i == 0 ? &s->to[0] : &s->from[i];

	if (o->tty && i == 2)
		return 0;
	int r = passed_description(o->client[i], i == 0 ? O_RDONLY : O_WRONLY, o->root, ours);
	if (r < 0)
		return r;
	return o->tty ? 0 : take_pipe(o, i, &s->session[i], pipe_end);
}

int streams_open(const struct streams_options *options, struct streams *ret_streams,
		 struct fault *ret_fault)
{
	cleanup(streams) struct streams s = STREAMS_NONE;

	for (size_t i = 0; i < 3; i++) {
		int r = open_stream(options, i, &s);
		if (r < 0)
			return fault_set(ret_fault, r, "bad_stream", "%s cannot be used: %s",
					 stream_names[i], passed_error(r));
	}

	*ret_streams = s;
	s = (struct streams)STREAMS_NONE;
	return 0;
}
