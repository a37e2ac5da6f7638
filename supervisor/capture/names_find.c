/*
 * Which event is this act's? See names.h for what may be believed.
 */
#include "names_internal.h"

#include <string.h>

/* Mounts of a session that its fanotify group does not watch: no event is of a name below them. */
static const char *const unwatched[] = {"/dev/", "/proc/", "/sys/", "/workspace/"};

static bool is_unwatched(struct bytes path)
{
	for (size_t i = 0; i < sizeof(unwatched) / sizeof(unwatched[0]); i++) {
		size_t length = strlen(unwatched[i]);

		if (path.size >= length && !memcmp(path.data, unwatched[i], length))
			return true;
	}
	return false;
}

static bool is_equal(struct bytes a, const char *b, size_t size)
{
	return b && a.size == size && !memcmp(a.data, b, size);
}

/* Length of @path up to the last slash, which is the directory's. */
static size_t directory_length(const char *path, size_t size)
{
	while (size > 0 && path[size - 1] != '/')
		size--;
	return size;
}

static bool same_leaf(struct bytes a, const char *b, size_t size)
{
	if (!b || !a.data)
		return false;
	size_t in_a = directory_length(a.data, a.size), in_b = directory_length(b, size);

	return a.size - in_a == size - in_b &&
	       !memcmp((const char *)a.data + in_a, b + in_b, size - in_b);
}

static bool same_directory(struct bytes a, const char *b, size_t size)
{
	if (!b || !a.data)
		return false;
	size_t in_a = directory_length(a.data, a.size);

	return in_a == directory_length(b, size) && !memcmp(a.data, b, in_a);
}

/* ---- how well an event fits what the call was given ---- */

static bool is_wholly(const struct name_event *e, const struct names_query *q)
{
	if (q->act == NAMES_RENAME)
		return is_equal(q->path, e->path, e->path_size) &&
		       is_equal(q->target, e->target, e->target_size);
	return is_equal(q->path, e->path, e->path_size) || is_equal(q->path, e->late, e->late_size);
}

/* The same names; the directories may have been given by way of a symbolic link. */
static bool is_by_name(const struct name_event *e, const struct names_query *q)
{
	if (is_unwatched(q->path) || !same_leaf(q->path, e->path, e->path_size))
		return false;
	return q->act != NAMES_RENAME ||
	       (!is_unwatched(q->target) && same_leaf(q->target, e->target, e->target_size));
}

static bool is_beside(const struct name_event *e, const struct names_query *q)
{
	return same_directory(q->path, e->path, e->path_size) &&
	       (q->act != NAMES_RENAME || same_directory(q->target, e->target, e->target_size));
}

/* ---- kinds of events ---- */

static bool is_open_for(const struct name_event *e, enum names_act act)
{
	return e->acts & ~e->taken & 1u << act;
}

/* One kind of act only: then its place is the place of its first act. */
static bool is_pure(const struct name_event *e)
{
	return (e->acts & (e->acts - 1)) == 0;
}

static bool is_moved_back(const struct thread *thread, const struct name_event *event)
{
	for (const struct name_event *e = thread->first; e; e = e->sibling)
		if (e->target && event->path && e->target_size == event->path_size &&
		    !memcmp(e->target, event->path, event->path_size))
			return true;
	return false;
}

/* May a further act have been merged into this event, all whose acts are taken? The same object has
 * to come back to its name first: a file by a link, what was moved by another move. */
static bool is_repeatable(const struct names *n, const struct thread *thread,
			  const struct name_event *e, enum names_act act)
{
	if (!(e->taken & 1u << act) || e->batch + NAMES_MERGEABLE < n->batch)
		return false;
	switch (act) {
	case NAMES_UNLINK:
		return e->acts & 1u << NAMES_CREATE && n->link_batch + NAMES_MERGEABLE >= n->batch;
	case NAMES_RMDIR:
		return false;
	case NAMES_RENAME:
		return is_moved_back(thread, e);
	default:
		return true;
	}
}

static struct name_event *repeated(const struct names *n, const struct thread *thread,
				   const struct names_query *q)
{
	for (struct name_event *e = thread->first; e; e = e->sibling)
		if (is_repeatable(n, thread, e, q->act) && is_wholly(e, q))
			return e;
	return NULL;
}

static bool has_repeatable(const struct names *n, const struct thread *thread,
			   const struct names_query *q)
{
	for (const struct name_event *e = thread->first; e; e = e->sibling)
		if (is_repeatable(n, thread, e, q->act))
			return true;
	return false;
}

/* ---- the choice ---- */

/* Made and changed: other calls than those recorded bring such events too (bind of a unix socket),
 * so their order says little, and the names have to agree. */
static struct name_event *choose_by_name(const struct names *n, const struct thread *thread,
					 const struct names_query *q)
{
	struct name_event *by_name = NULL;
	bool is_any_open = false;

	for (struct name_event *e = thread->first; e; e = e->sibling) {
		if (!is_open_for(e, q->act))
			continue;
		is_any_open = true;
		if (is_wholly(e, q))
			return e;
		if (!by_name && is_by_name(e, q))
			by_name = e;
	}
	if (by_name || is_any_open)
		return by_name;
	return repeated(n, thread, q);
}

/* All of one kind, in order, while a record of this thread is missing: only a name can tell; what
 * lies before it belongs to the missing ones. */
static struct name_event *choose_out_of_step(const struct names *n, struct thread *thread,
					     const struct names_query *q)
{
	struct name_event *chosen = choose_by_name(n, thread, q);

	for (struct name_event *e = thread->first; e && e != chosen; e = e->sibling)
		if (chosen && is_pure(e) && is_open_for(e, q->act))
			e->taken |= 1u << q->act;
	thread->owed = 0;
	return chosen;
}

/* An act's event was read with this batch or the one before; older ones are of acts that are owed,
 * unless the thread was held up in its call and has no newer ones. */
static void leave_behind(const struct names *n, struct thread *thread, enum names_act act)
{
	bool has_newer = false;

	for (struct name_event *e = thread->first; e; e = e->sibling)
		if (is_open_for(e, act) && e->batch + NAMES_MERGEABLE >= n->batch)
			has_newer = true;
	for (struct name_event *e = thread->first; has_newer && e; e = e->sibling)
		if (is_open_for(e, act) && e->batch + NAMES_MERGEABLE < n->batch) {
			e->taken |= 1u << act;
			thread->owed -= thread->owed > 0;
		}
}

/* What was made and removed within one batch was not removed before its making was recorded. */
static bool is_due(const struct name_event *e, enum names_act act)
{
	enum names_act made = act == NAMES_RMDIR ? NAMES_MKDIR : NAMES_CREATE;

	return act == NAMES_RENAME || !is_open_for(e, made);
}

/* The events that one of a thread's removals or moves may be. */
struct choice {
	struct name_event *chosen; /* by what the call was given */
	struct name_event *only;   /* the one that it must be, if count is 1 */
	size_t count;
	size_t passed; /* events before `chosen` that must be of earlier acts */
	bool is_any_open;
};

static struct choice look_in_order(const struct thread *thread, const struct names_query *q)
{
	struct choice choice = {0};
	size_t passed = 0;

	for (struct name_event *e = thread->first; e && passed <= thread->owed; e = e->sibling) {
		if (!is_open_for(e, q->act))
			continue;
		choice.is_any_open = true;
		bool is_whole = is_wholly(e, q);
		if (is_whole || (!choice.chosen && is_by_name(e, q))) {
			choice.chosen = e;
			choice.passed = passed;
		}
		if (is_whole)
			break;
		if (passed == 0 && is_due(e, q->act)) {
			choice.only = e;
			choice.count++;
		}
		passed += is_pure(e);
	}
	return choice;
}

static void settle_passed(struct thread *thread, const struct choice *choice, enum names_act act)
{
	for (struct name_event *e = thread->first; e != choice->chosen; e = e->sibling)
		if (is_pure(e) && is_open_for(e, act))
			e->taken |= 1u << act;
	thread->owed -= choice->passed;
}

/*
 * Removed and moved: each such event is of a recorded call, so the first one that is open is this
 * act's; or one before it that a merge has put out of its place; or, where earlier acts went
 * without their events, one of as many behind it; or the act was merged into one that is taken.
 */
static struct name_event *choose_in_order(const struct names *n, struct thread *thread,
					  const struct names_query *q)
{
	leave_behind(n, thread, q->act);
	struct choice choice = look_in_order(thread, q);

	if (choice.chosen) {
		settle_passed(thread, &choice, q->act);
		return choice.chosen;
	}
	if (!choice.is_any_open)
		return repeated(n, thread, q);
	if (thread->owed == 0 && choice.count == 1 && !has_repeatable(n, thread, q) &&
	    (is_beside(choice.only, q) || !choice.only->path))
		return choice.only;
	thread->owed++;
	return NULL;
}

static bool is_ordered(enum names_act act)
{
	return act == NAMES_UNLINK || act == NAMES_RMDIR || act == NAMES_RENAME;
}

static struct name_event *choose(struct names *n, struct thread *thread,
				 const struct names_query *q)
{
	if (!is_ordered(q->act))
		return choose_by_name(n, thread, q);

	bool is_in_step =
		q->sequence == 1 || (thread->sequence && q->sequence == thread->sequence + 1);
	thread->sequence = q->sequence;
	return is_in_step ? choose_in_order(n, thread, q) : choose_out_of_step(n, thread, q);
}

/* Both names were swapped: the kernel tells it as two moves. */
static void take_way_back(struct thread *thread, const struct name_event *event)
{
	struct bytes path = {event->path, event->path_size};
	struct bytes target = {event->target, event->target_size};

	for (struct name_event *e = thread->first; e; e = e->sibling)
		if (is_open_for(e, NAMES_RENAME) && is_equal(target, e->path, e->path_size) &&
		    is_equal(path, e->target, e->target_size)) {
			e->taken |= 1u << NAMES_RENAME;
			return;
		}
}

/* The path as it was at the time of this act. {NULL, 0}: it cannot be told. */
static struct bytes path_of_act(const struct name_event *e, const struct names_query *q)
{
	if (is_equal(q->path, e->late, e->late_size))
		return (struct bytes){e->late, e->late_size};
	if (e->late && !is_pure(e) && !is_equal(q->path, e->path, e->path_size))
		return (struct bytes){NULL, 0};
	return (struct bytes){e->path, e->path_size};
}

bool names_find(struct names *n, const struct names_query *query, struct names_answer *ret_answer)
{
	struct thread *thread = *names_thread_at(n, query->tid);
	struct name_event *event = thread ? choose(n, thread, query) : NULL;

	if (query->is_link)
		n->link_batch = n->batch;
	if (event)
		event->taken |= 1u << query->act;

	struct bytes path = event ? path_of_act(event, query) : (struct bytes){NULL, 0};
	if (!path.data || (query->act == NAMES_RENAME && !event->target)) {
		n->counts.not_found++;
		return false;
	}
	if (query->exchange)
		take_way_back(thread, event);
	n->counts.found++;
	ret_answer->path = path;
	ret_answer->target = (struct bytes){event->target, event->target_size};
	return true;
}

void names_skip(struct names *n, uint32_t tid, enum names_act act, struct bytes path)
{
	struct thread *thread = *names_thread_at(n, tid);

	for (struct name_event *e = thread ? thread->first : NULL; e; e = e->sibling)
		if (is_open_for(e, act) && is_equal(path, e->path, e->path_size)) {
			e->taken |= 1u << act;
			return;
		}
}
