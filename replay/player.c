/*
 * One pass over a journal, for any view.
 */
#include "player.h"

#include "follow.h"
#include "signings.h"

#include "../supervisor/record/cleanup.h"

#include <inttypes.h>
#include <string.h>

struct play {
	const struct player *player;
	struct session *session;
	void *view_state;
	struct origin origin;
	bool begun, ended, damaged;
	struct signings signings;
	uint64_t seq, boot_ns; /* of the last record */
};

/* Checkpoints over records up to @seq. 0, or the error of the view. */
static int tell_checkpoints(struct play *p, uint64_t seq)
{
	struct event e;
	int r = 0;

	while (r == 0 && p->player->checkpoints && signings_next(&p->signings, seq, p->boot_ns, &e))
		r = p->player->view->event(p->view_state, &e, &p->origin,
					   filter_match(p->player->filter, &p->origin, &e));
	return r;
}

static int take_record(struct play *p, const struct event *e)
{
	int r;

	if (!p->begun) {
		p->origin = (struct origin){e->time_ns, e->boot_ns};
		p->begun = true;
	}
	r = tell_checkpoints(p, e->seq - 1);
	if (r < 0)
		return r;
	p->seq = e->seq;
	p->boot_ns = e->boot_ns;
	p->ended |= e->kind == EVENT_session_end;
	return p->player->view->event(p->view_state, e, &p->origin,
				      filter_match(p->player->filter, &p->origin, e));
}

/* Show the damage in its place. True if there is something whole behind it. */
static bool pass_damage(struct play *p)
{
	const struct reader_damage *damage = reader_damage(p->session->reader);

	p->damaged = true;
	fflush(stdout);
	fprintf(stderr,
		"%s: the record is damaged: segment %s, byte %" PRIu64 ", after record %" PRIu64
		": %s\n",
		p->player->called, damage->segment, damage->offset, damage->after_seq, damage->why);
	if (p->player->view->damage)
		p->player->view->damage(p->view_state, damage);
	return reader_skip_damage(p->session->reader);
}

/* All records that are there now. 0, or the error of the view. */
static int drain(struct play *p)
{
	struct event e;

	for (;;) {
		int r;

		switch (reader_next(p->session->reader, &e)) {
		case READER_RECORD:
			r = take_record(p, &e);
			if (r < 0)
				return r;
			break;
		case READER_END:
			return 0;
		case READER_STOPPED:
			if (!pass_damage(p))
				return 0;
			break;
		}
	}
}

/* Read the manifest anew: the session may have ended meanwhile. */
static void refresh_manifest(struct play *p)
{
	struct manifest fresh;

	if (manifest_read(p->session->dir_fd, &fresh) < 0)
		return;
	manifest_free(&p->session->manifest);
	p->session->manifest = fresh;
}

/* The end was told; behind it there may be one checkpoint more. */
static bool is_over(const struct play *p)
{
	return p->damaged || (p->ended && !p->player->checkpoints);
}

/* Go on until the session has ended, or nobody is left who could write its end. */
static int follow(struct play *p)
{
	cleanup(follow) struct follow f = {.fd = -1};
	int r = follow_open(p->session->dir_fd, &f);

	while (r == 0 && !is_over(p)) {
		bool over;

		refresh_manifest(p);
		over = p->session->manifest.state == SESSION_ENDED ||
		       !manifest_is_alive(&p->session->manifest);
		r = drain(p); /* after the look: what was written before it is read */
		if (r == 0)
			r = tell_checkpoints(p, p->seq);
		if (r < 0 || over || fflush(stdout))
			break;
		r = follow_wait(&f);
	}
	return r;
}

static enum view_end how_it_ended(struct play *p)
{
	if (p->ended)
		return VIEW_ENDED;
	refresh_manifest(p);
	if (p->session->manifest.state == SESSION_ENDED)
		return VIEW_TORN;
	return manifest_is_alive(&p->session->manifest) ? VIEW_RUNNING : VIEW_LOST;
}

/* 0, or what went wrong with reading or showing. */
static int play(struct play *p)
{
	enum view_end how;
	int r = drain(p);

	if (r == 0 && p->player->follow)
		r = follow(p);
	/* Once more: the end may have been written between the last record and this look. */
	how = how_it_ended(p);
	if (r == 0 && how != VIEW_ENDED && !p->damaged) {
		r = drain(p);
		how = p->ended ? VIEW_ENDED : how;
	}
	if (r == 0)
		r = tell_checkpoints(p, UINT64_MAX);
	if (r == 0)
		r = p->player->view->end(p->view_state, how);
	if (r == 0 && how == VIEW_TORN && !p->damaged) {
		fprintf(stderr, "%s: session %s has ended, but its record has no end\n",
			p->player->called, p->session->manifest.id);
		p->damaged = true;
	}
	return r;
}

int player_play(const struct player *player, struct session *s)
{
	struct play p = {.player = player, .session = s, .signings = SIGNINGS_NONE};
	struct view_options options = player->options;
	int r;

	options.session = s->manifest.id;
	r = player->view->begin(&options, &p.view_state);
	if (r == 0) {
		r = player->checkpoints ? signings_open(s->dir_fd, &p.signings) : 0;
		if (r == 0)
			r = play(&p);
		player->view->free(p.view_state);
		signings_close(&p.signings);
	}
	if (r < 0)
		fprintf(stderr, "%s: %s\n", player->called, strerror(-r));
	return r < 0 || p.damaged;
}

int player_run(const struct player *player, const char *state, const char *what)
{
	cleanup(session) struct session session = SESSION_NONE;

	if (session_open(state, what, player->called, stderr, &session) < 0)
		return 1;
	return player_play(player, &session);
}
