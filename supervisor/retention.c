/*
 * Nothing goes before it is written down that it went. A record is taken away by one rename, so
 * that nobody sees half of one; what is left of it in <state>/removed can be finished at any time.
 */
#include "retention.h"

#include "record/cleanup.h"
#include "session_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define REMOVED_DIRECTORY "removed"

void retention_plan_free(struct retention_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		manifest_free(&plan->items[i].manifest);
		free(plan->items[i].borders);
	}
	free(plan->items);
	*plan = (struct retention_plan){0};
}

/* ---- the plan ---- */

static int open_directory(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static uint64_t bytes_in(int dir_fd)
{
	int copy = open_directory(dir_fd, ".");
	cleanup(closedir) DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	struct stat st;
	uint64_t bytes = 0;

	while (dir && (entry = readdir(dir))) {
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_blocks * 512;
	}
	return bytes;
}

/* When the session ended, by who can be believed. */
static uint64_t end_of(const struct acts *acts, const struct manifest *m)
{
	uint64_t time_ns = m->ended_ns;

	acts_last_note(acts, m->id, &time_ns);
	return time_ns;
}

static bool is_older(uint64_t time_ns, const struct retention_rule *rule, uint64_t now_ns)
{
	return rule->max_age_ns && now_ns > time_ns && now_ns - time_ns > rule->max_age_ns;
}

static uint64_t going_bytes(const struct retention_item *item)
{
	return !item->goes ? 0 : item->part ? item->part->bytes : item->bytes;
}

static bool has_ended(const struct retention_item *item)
{
	return item->manifest.state == SESSION_ENDED && item->ended_ns;
}

static void judge_age(struct retention_item *item, const struct acts *acts,
		      const struct retention_rule *rule, uint64_t now_ns)
{
	if (acts_is_held(acts, item->manifest.id)) {
		item->reason = "it is held";
		return;
	}
	item->goes = has_ended(item) && is_older(item->ended_ns, rule, now_ns);
	for (size_t i = 0; !item->part && !(item->goes) && i < item->border_count; i++)
		if (is_older(item->borders[i].time_ns, rule, now_ns) &&
		    (i + 1 == item->border_count ||
		     !is_older(item->borders[i + 1].time_ns, rule, now_ns)))
			item->part = &item->borders[i];
	item->goes |= item->part != NULL;
	if (item->goes)
		item->reason = "age";
}

/* What can go by itself: a record that has ended, or a segment of one that has not. */
struct piece {
	uint64_t time_ns;
	struct retention_item *item;
	const struct trim_border *border; /* NULL: all of it */
};

static int by_time(const void *a, const void *b)
{
	const struct piece *one = a, *other = b;

	if (one->time_ns != other->time_ns)
		return one->time_ns < other->time_ns ? -1 : 1;
	return strcmp(one->item->manifest.id, other->item->manifest.id);
}

static int find_pieces(struct retention_plan *plan, struct piece **ret_pieces, size_t *ret_count)
{
	struct piece *pieces;
	size_t most = plan->count, count = 0;

	for (size_t i = 0; i < plan->count; i++)
		most += plan->items[i].border_count;
	pieces = calloc(most + 1, sizeof(*pieces));
	if (!pieces)
		return -ENOMEM;
	for (size_t i = 0; i < plan->count; i++) {
		struct retention_item *item = &plan->items[i];

		if (item->reason && !item->part)
			continue; /* it is held, or goes already */
		if (has_ended(item))
			pieces[count++] = (struct piece){item->ended_ns, item, NULL};
		for (size_t b = 0; !has_ended(item) && b < item->border_count; b++)
			if (!item->part || item->borders[b].last > item->part->last)
				pieces[count++] = (struct piece){item->borders[b].time_ns, item,
								 &item->borders[b]};
	}
	qsort(pieces, count, sizeof(*pieces), by_time);
	*ret_pieces = pieces;
	*ret_count = count;
	return 0;
}

/* The oldest of what may go, until the rest is small enough. */
static int judge_size(struct retention_plan *plan, const struct retention_rule *rule)
{
	cleanup(free) struct piece *pieces = NULL;
	size_t count = 0;
	int r = rule->max_bytes ? find_pieces(plan, &pieces, &count) : 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct retention_item *item = pieces[i].item;

		if (plan->bytes - plan->going_bytes <= rule->max_bytes)
			break;
		plan->going_bytes -= going_bytes(item);
		item->reason = item->goes ? item->reason : "size";
		item->goes = true;
		item->part = pieces[i].border;
		plan->going_bytes += going_bytes(item);
	}
	for (size_t i = 0; i < plan->count; i++) {
		struct retention_item *item = &plan->items[i];

		plan->going += item->goes;
		if (!item->reason)
			item->reason =
				has_ended(item) ? "no limit asks for it" : "it has not ended";
	}
	return r;
}

static int by_end(const void *a, const void *b)
{
	const struct retention_item *one = a, *other = b;

	if (one->ended_ns != other->ended_ns)
		return one->ended_ns < other->ended_ns ? -1 : 1;
	return strcmp(one->manifest.id, other->manifest.id);
}

int retention_plan(int state_fd, const struct acts *acts, const struct retention_rule *rule,
		   uint64_t now_ns, struct retention_plan *ret_plan)
{
	cleanup(close_fd) int sessions_fd = open_directory(state_fd, "sessions");
	struct retention_plan plan = {0};
	struct manifest *list = NULL;
	size_t count = 0, unreadable;
	int r = sessions_fd < 0 ? sessions_fd : store_list(state_fd, &list, &count, &unreadable);

	if (r < 0)
		return r;
	plan.items = calloc(count + 1, sizeof(*plan.items));
	if (!plan.items) {
		store_list_free(list, count);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		struct retention_item *item = &plan.items[plan.count++];
		cleanup(close_fd) int fd = open_directory(sessions_fd, list[i].id);

		item->manifest = list[i];
		item->ended_ns = end_of(acts, &list[i]);
		item->bytes = fd < 0 ? 0 : bytes_in(fd);
		if (fd >= 0)
			trim_borders(fd, &item->borders, &item->border_count);
		plan.bytes += item->bytes;
		judge_age(item, acts, rule, now_ns);
		plan.going_bytes += going_bytes(item);
	}
	free(list);
	qsort(plan.items, plan.count, sizeof(*plan.items), by_end);
	r = judge_size(&plan, rule);
	if (r < 0)
		retention_plan_free(&plan);
	else
		*ret_plan = plan;
	return r;
}

/* ---- the removal ---- */

/* All that is not hashes, keys and signatures. */
static void empty_directory(int dir_fd)
{
	int copy = open_directory(dir_fd, ".");
	cleanup(closedir) DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
		    strcmp(entry->d_name, "checkpoints"))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		fsync(dirfd(dir));
}

/* The directory of what was removed, with the owner and the rights of that of the sessions. */
static int open_removed(int state_fd, int sessions_fd)
{
	struct stat st;
	int fd;

	if (mkdirat(state_fd, REMOVED_DIRECTORY, 0700) < 0)
		return errno == EEXIST ? open_directory(state_fd, REMOVED_DIRECTORY) : -errno;
	fd = open_directory(state_fd, REMOVED_DIRECTORY);
	if (fd >= 0 && (fstat(sessions_fd, &st) < 0 || fchown(fd, st.st_uid, st.st_gid) < 0 ||
			fchmod(fd, st.st_mode & 07777) < 0)) {
		close(fd);
		return -errno;
	}
	return fd;
}

/* From the moment of the rename on it is gone for all who look. */
static int take_away(int state_fd, const char *id)
{
	cleanup(close_fd) int sessions_fd = open_directory(state_fd, "sessions");
	cleanup(close_fd) int removed_fd =
		sessions_fd < 0 ? sessions_fd : open_removed(state_fd, sessions_fd);
	if (removed_fd < 0)
		return removed_fd;
	if (renameat(sessions_fd, id, removed_fd, id) == 0) {
		fsync(sessions_fd);
		fsync(removed_fd);
	} else if (errno != ENOENT) {
		return -errno;
	}
	return 0;
}

void retention_empty(int state_fd, const char *session)
{
	cleanup(close_fd) int removed_fd = open_directory(state_fd, REMOVED_DIRECTORY);
	cleanup(close_fd) int fd =
		removed_fd < 0 ? removed_fd : open_directory(removed_fd, session);

	if (fd >= 0)
		empty_directory(fd);
}

static void put_hash(struct event *e, const uint8_t *hash, char room[2 * HASH_SIZE + 1])
{
	for (size_t i = 0; i < HASH_SIZE; i++)
		snprintf(room + 2 * i, 3, "%02x", hash[i]);
	event_put_text(e, FIELD_hash, room);
}

int retention_remove(struct clerk *clerk, int state_fd, const struct retention_item *item,
		     const struct clerk_client *client)
{
	const struct manifest *m = &item->manifest;
	cleanup(close_fd) int sessions_fd = open_directory(state_fd, "sessions");
	cleanup(close_fd) int lock = -1;
	char hex[2 * HASH_SIZE + 1];
	const uint8_t *note;
	struct event e;
	uint64_t time_ns;
	int r = sessions_fd;

	if (r >= 0 && item->part)
		return trim_record(clerk, sessions_fd, m->id, item->part, item->reason, client);
	if (r >= 0)
		r = session_dir_open(sessions_fd, m->id, &lock);
	if (r < 0)
		return r;
	if (acts_is_held(clerk_acts(clerk), m->id))
		return -EBUSY;
	event_init(&e, EVENT_record_retention, 0, 0);
	if (m->records) {
		event_put_u64(&e, FIELD_first, 1);
		event_put_u64(&e, FIELD_last, m->records);
	}
	event_put_u64(&e, FIELD_count, m->records);
	event_put_text(&e, FIELD_reason, item->reason);
	event_put_u64(&e, FIELD_size, item->bytes);
	note = acts_last_note(clerk_acts(clerk), m->id, &time_ns);
	if (note)
		put_hash(&e, note, hex);
	r = clerk_note(clerk, LEDGER_REMOVE, m->id, &e, client, true);
	return r < 0 ? r : take_away(state_fd, m->id);
}

/* One that was brought in again from a bundle has its own ledger, and is another one. */
static bool is_import(int state_fd, const char *id)
{
	char path[LEDGER_NAME_MAX + 32];

	snprintf(path, sizeof(path), "sessions/%s/" LEDGER_FILE, id);
	return faccessat(state_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The last of its kind about the session: it says all that those before said. */
static bool is_last_of(const struct acts *acts, size_t number)
{
	const struct act *act = acts_get(acts, number);

	for (size_t i = number + 1; i < acts_count(acts); i++)
		if (acts_get(acts, i)->kind == act->kind &&
		    !strcmp(acts_get(acts, i)->session, act->session))
			return false;
	return true;
}

void retention_finish(struct clerk *clerk, int state_fd)
{
	cleanup(close_fd) int sessions_fd = open_directory(state_fd, "sessions");
	const struct acts *acts = clerk_acts(clerk);

	for (size_t i = 0; i < acts_count(acts); i++) {
		const struct act *act = acts_get(acts, i);

		if (!session_id_is_valid(act->session) || is_import(state_fd, act->session))
			continue;
		if (act->kind == LEDGER_REMOVE) {
			take_away(state_fd, act->session);
			retention_empty(state_fd, act->session);
		} else if (act->kind == LEDGER_TRIM && sessions_fd >= 0 && is_last_of(acts, i)) {
			trim_resume(sessions_fd, act);
		}
	}
}
