/*
 * Everything is read once: each record of each session for what it counts, and once more by the
 * verifier.
 */
#include "compliance.h"
#include "removals.h"
#include "session.h"
#include "state_check.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct counting {
	struct compliance_facts *facts;
	struct manifest *list; /* by id */
	size_t count;
};

static bool is_text(const struct event *e, enum event_field field, const char *text)
{
	struct bytes bytes = event_bytes(e, field);

	return bytes.size == strlen(text) && !memcmp(bytes.data, text, bytes.size);
}

/* ---- records ---- */

static void count_start(struct compliance_facts *f, const struct event *e)
{
	f->with_user += event_get(e, FIELD_user_uid) != NULL;
	f->with_policy += event_get(e, FIELD_policy_sha256) != NULL;
	f->with_rules += event_get(e, FIELD_redact_rules_sha256) != NULL;
	f->with_sensors += event_get(e, FIELD_sensors) != NULL;
	f->strict += is_text(e, FIELD_on_loss, "freeze") || is_text(e, FIELD_on_loss, "kill");
}

static void count_step(struct compliance_facts *f, const struct event *e)
{
	const struct event_value *value = event_get(e, FIELD_step_ns);
	int64_t step = value ? value->i64 : 0;
	uint64_t size = step < 0 ? -(uint64_t)step : (uint64_t)step;

	f->steps++;
	if (size > f->largest_step_ns)
		f->largest_step_ns = size;
}

static void count_record(struct compliance_facts *f, const struct event *e)
{
	f->records++;
	if (e->kind < EVENT_KIND_COUNT)
		f->kinds[e->kind]++;
	switch (e->kind) {
	case EVENT_session_start:
		count_start(f, e);
		break;
	case EVENT_session_end:
		f->ended++;
		f->journal_limits += is_text(e, FIELD_limit, "journal");
		break;
	case EVENT_gap:
		f->gaps++;
		f->lost += event_u64(e, FIELD_count, 0);
		break;
	case EVENT_clock:
		count_step(f, e);
		break;
	case EVENT_redact_summary:
		f->redacted += event_u64(e, FIELD_count, 0);
		break;
	default:
		break;
	}
}

static void count_session(struct compliance_facts *f, int sessions_fd, const struct manifest *m)
{
	cleanup(close_fd) int fd =
		openat(sessions_fd, m->id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct reader *reader = NULL;
	enum reader_state state;
	struct event e;
	struct stat st;

	f->sessions++;
	if (fd >= 0 && fstat(fd, &st) == 0) {
		f->others_read |= (st.st_mode & 05) != 0;
		f->others_write |= (st.st_mode & 022) != 0;
	}
	if (!f->oldest_ns || m->started_ns < f->oldest_ns)
		f->oldest_ns = m->started_ns;
	if (fd < 0 || reader_open(fd, &reader) < 0) {
		f->unreadable++;
		return;
	}
	do {
		state = reader_next(reader, &e);
		if (state == READER_RECORD)
			count_record(f, &e);
	} while (state == READER_RECORD || (state == READER_STOPPED && reader_skip_damage(reader)));
	reader_free(reader);
}

/* ---- the host ---- */

static uint64_t kept_for(const struct book *book, const struct ledger_line *removal)
{
	const struct book_line *end = book_find(book, LEDGER_END, removal->name);

	if (!end || removal->time_ns < end->line.time_ns)
		return 0;
	return removal->time_ns - end->line.time_ns;
}

static void count_ledger(struct compliance_facts *f, const struct book *book)
{
	for (size_t i = 0; i < book->count; i++) {
		const struct ledger_line *line = &book->lines[i].line;
		uint64_t kept_ns;

		if (line->kind == LEDGER_HOLD || line->kind == LEDGER_RELEASE)
			f->held += line->kind == LEDGER_HOLD ? 1 : f->held ? UINT64_MAX : 0;
		if (line->time_ns < f->since_ns)
			continue;
		f->accesses += line->kind == LEDGER_ACCESS;
		f->bundles += line->kind == LEDGER_BUNDLE;
		if (line->kind != LEDGER_REMOVE)
			continue;
		f->removals++;
		kept_ns = kept_for(book, line);
		if (kept_ns < f->shortest_ns)
			f->shortest_ns = kept_ns;
	}
}

static void look_at_rights(struct compliance_facts *f, int sessions_fd, const char *state)
{
	char path[PATH_MAX];
	size_t length = strlen(state);
	struct stat st;

	if (fstat(sessions_fd, &st) == 0) {
		/* To pass through is not to read. */
		f->others_read |= (st.st_mode & 04) != 0;
		f->others_write |= (st.st_mode & 022) != 0;
	}
	while (length > 1 && state[length - 1] == '/')
		length--;
	if (snprintf(path, sizeof(path), "%.*s.sign", (int)length, state) < (int)sizeof(path) &&
	    lstat(path, &st) == 0)
		f->key_is_private = S_ISREG(st.st_mode) && !(st.st_mode & 077) && st.st_uid == 0;
}

/* ---- verdicts ---- */

static int by_id(const void *a, const void *b)
{
	const struct manifest *one = a, *other = b;

	return strcmp(one->id, other->id);
}

static void take_verdict(void *context, const char *session, const struct verify_result *r)
{
	struct counting *c = context;
	struct manifest key = {0};

	if (r->removed) {
		c->facts->removals++;
		if (r->removed_kept_ns < c->facts->shortest_ns)
			c->facts->shortest_ns = r->removed_kept_ns;
	}
	snprintf(key.id, sizeof(key.id), "%s", session);
	if (c->count && bsearch(&key, c->list, c->count, sizeof(key), by_id))
		c->facts->verdicts[r->verdict]++;
	else if (r->verdict == VERIFY_TAMPERED)
		c->facts->missing++;
}

/* Leave those out that began before. */
static size_t only_since(struct manifest *list, size_t count, uint64_t since_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (list[i].started_ns < since_ns)
			manifest_free(&list[i]);
		else
			list[kept++] = list[i];
	}
	return kept;
}

int compliance_read(int state_fd, const char *state, const struct trusted_keys *keys,
		    uint64_t since_ns, uint64_t now_ns, struct compliance_facts *ret_facts)
{
	struct compliance_facts f = {
		.since_ns = since_ns, .now_ns = now_ns, .shortest_ns = UINT64_MAX};
	struct counting counting = {.facts = &f};
	size_t unreadable = 0;
	enum verdict worst;
	struct book book = {0};
	cleanup(close_fd) int sessions_fd =
		openat(state_fd, "sessions", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r = sessions_fd < 0
			? -errno
			: store_list(state_fd, &counting.list, &counting.count, &unreadable);

	if (r < 0)
		return r;
	counting.count = only_since(counting.list, counting.count, since_ns);
	f.unreadable = unreadable;
	if (counting.count)
		qsort(counting.list, counting.count, sizeof(*counting.list), by_id);
	for (size_t i = 0; i < counting.count; i++)
		count_session(&f, sessions_fd, &counting.list[i]);
	r = state_check(state_fd, state, keys, now_ns, take_verdict, &counting, &worst, &f.ledger);
	if (r == 0)
		r = book_read(state_fd, LEDGER_FILE, keys, &book);
	if (r == 0)
		count_ledger(&f, &book);
	if (r == -ENOENT)
		r = 0;
	look_at_rights(&f, sessions_fd, state);
	book_free(&book);
	store_list_free(counting.list, counting.count);
	if (r == 0)
		*ret_facts = f;
	return r;
}
