/*
 * Posts: a sink of the configuration, its lane, and the lane that it replaces.
 */
#include "roster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct post {
	const struct sink_config *sink; /* NULL: the configuration has it no more */
	struct lane *lane;		/* owned; NULL: not open yet */
	struct lane *old;		/* owned; it leaves, and .lane waits for that */
	uint64_t leave_by_ms;		/* for .old */
};

struct roster {
	struct lane_setup setup;
	const struct export_config *config;
	struct hide_key key;
	struct post *posts; /* owned */
	size_t count;
};

int roster_new(const struct lane_setup *setup, struct roster **ret_roster)
{
	struct roster *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->setup = *setup;
	*ret_roster = r;
	return 0;
}

void roster_free(struct roster *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++) {
		lane_free(r->posts[i].lane);
		lane_free(r->posts[i].old);
	}
	free(r->posts);
	explicit_bzero(&r->key, sizeof(r->key));
	free(r);
}

static void say(const struct roster *r, const char *sink, const char *text)
{
	r->setup.say(r->setup.context, sink, text);
}

/* ---- a new configuration ---- */

static struct post *find_post(const struct roster *r, const char *name)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct post *p = &r->posts[i];
		const struct lane *lane = p->lane ? p->lane : p->old;

		if (lane && !strcmp(lane_sink(lane)->name, name))
			return &r->posts[i];
	}
	return NULL;
}

/* Take from the old post of the same name what can stay. */
static struct post take_post(struct roster *r, const struct sink_config *sink, bool same_key,
			     uint64_t leave_by_ms)
{
	struct post *before = find_post(r, sink->name);
	struct post p = {.sink = sink};

	if (!before)
		return p;
	p = *before;
	p.sink = sink;
	*before = (struct post){0};
	if (p.lane && !(same_key && sink_config_equals(lane_sink(p.lane), sink))) {
		p.old = p.lane;
		p.lane = NULL;
		p.leave_by_ms = leave_by_ms;
	}
	return p;
}

int roster_apply(struct roster *r, const struct export_config *config, uint64_t now_ms)
{
	struct post *posts = calloc(config->sink_count + r->count, sizeof(*posts));
	bool same_key = !memcmp(&r->key, &config->key, sizeof(r->key));
	size_t count = 0;

	if (!posts)
		return -ENOMEM;
	for (size_t i = 0; i < config->sink_count; i++)
		posts[count++] =
			take_post(r, &config->sinks[i], same_key, now_ms + config->drain_ms);
	for (size_t i = 0; i < r->count; i++) {
		struct post *left = &r->posts[i];

		if (!left->lane && !left->old)
			continue;
		posts[count] = *left;
		posts[count].sink = NULL;
		if (left->lane)
			posts[count].leave_by_ms = now_ms + config->drain_ms;
		posts[count].old = left->lane ? left->lane : left->old;
		posts[count++].lane = NULL;
	}
	free(r->posts);
	r->posts = posts;
	r->count = count;
	r->config = config;
	r->key = config->key;
	return 0;
}

/* ---- turns ---- */

static int open_post(struct roster *r, struct post *p, struct knob_fault *f)
{
	struct lane_setup setup = r->setup;
	int result;

	setup.config = r->config;
	setup.sink = p->sink;
	result = lane_new(&setup, &p->lane, f);
	if (result == 0)
		lane_scan(p->lane);
	return result;
}

int roster_open(struct roster *r, struct knob_fault *f)
{
	int result = 0;

	for (size_t i = 0; i < r->count; i++) {
		struct post *p = &r->posts[i];
		int one = p->sink && !p->lane && !p->old ? open_post(r, p, f) : 0;

		if (one < 0 && !f->text[0])
			knob_fault_set(f, "", "%s: %s", p->sink->name, strerror(-one));
		result = result < 0 ? result : one;
	}
	return result;
}

/* True once the old lane is gone. */
static bool leave(struct roster *r, struct post *p, uint64_t now_ms)
{
	const char *name = lane_sink(p->old)->name;
	bool is_drained = lane_drain(p->old);

	if (!is_drained && now_ms < p->leave_by_ms)
		return false;
	if (!is_drained)
		say(r, name, "drain_s is over: what is on its way comes again");
	if (lane_save(p->old) < 0)
		say(r, name, "cannot write the cursor: what was delivered last comes again");
	say(r, name, p->sink ? "changed" : "removed");
	lane_free(p->old);
	p->old = NULL;
	return true;
}

void roster_turn(struct roster *r, bool scans, uint64_t now_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->count; i++) {
		struct post *p = &r->posts[i];

		if (p->old) {
			lane_turn(p->old);
			leave(r, p, now_ms);
		}
		if (p->lane && scans)
			lane_scan(p->lane);
		if (p->lane)
			lane_turn(p->lane);
		if (p->sink || p->old)
			r->posts[kept++] = *p;
	}
	r->count = kept;
}

bool roster_drain(struct roster *r)
{
	bool all = true;

	for (size_t i = 0; i < r->count; i++) {
		const struct post *p = &r->posts[i];

		if (p->lane)
			all &= lane_drain(p->lane);
		if (p->old)
			all &= lane_drain(p->old);
	}
	return all;
}

void roster_reopen(struct roster *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->posts[i].lane)
			lane_reopen(r->posts[i].lane);
}

void roster_measure(struct roster *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->posts[i].lane)
			lane_measure(r->posts[i].lane);
}

static void save(struct roster *r, struct lane *l)
{
	if (l && lane_save(l) < 0)
		say(r, lane_sink(l)->name, "cannot write the cursor");
}

void roster_save(struct roster *r)
{
	for (size_t i = 0; i < r->count; i++) {
		save(r, r->posts[i].lane);
		save(r, r->posts[i].old);
	}
}

size_t roster_status(const struct roster *r, struct lane_status *list, size_t room)
{
	size_t count = 0;

	for (size_t i = 0; i < r->count && count < room; i++) {
		const struct post *p = &r->posts[i];

		if (p->lane || p->old)
			list[count++] = lane_status(p->lane ? p->lane : p->old);
	}
	return count;
}
