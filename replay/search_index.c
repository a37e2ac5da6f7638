/*
 * Two tables: sessions with the look of their journals, and stretches. A row of a stretch has a
 * checksum, and they follow one another without a hole, because SQLite itself does not see a
 * flipped bit.
 */
#include "search_index.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/crc32c.h"
#include "../supervisor/record/journal_format.h"
#include "../supervisor/record/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#define VERSION 1
#define BUSY_MS 1000
#define SHORT_STRETCH (GRAMS_RECORDS / 4) /* a shorter last one is made anew, with what comes */

struct search_index {
	sqlite3 *db; /* NULL: broken */
	char path[PATH_MAX];
	bool is_writable, is_writing;
	struct seen *look; /* of the journal that search_index_find saw; owned */
	size_t look_count;
	sqlite3_stmt *find, *last, *walk, *add;
};

static const char schema[] =
	"PRAGMA application_id=1449751147;"
	"CREATE TABLE IF NOT EXISTS sessions(key INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL,"
	" look BLOB NOT NULL, next_seq INTEGER NOT NULL, damages INTEGER NOT NULL,"
	" origin_time INTEGER NOT NULL, origin_boot INTEGER NOT NULL);"
	"CREATE TABLE IF NOT EXISTS stretches(session INTEGER NOT NULL, first INTEGER NOT NULL,"
	" last INTEGER NOT NULL, records INTEGER NOT NULL, since INTEGER NOT NULL,"
	" until INTEGER NOT NULL, grams BLOB NOT NULL, crc INTEGER NOT NULL);"
	"CREATE UNIQUE INDEX IF NOT EXISTS by_place ON stretches(session, first);";

/* ---- life ---- */

static void close_db(struct search_index *x)
{
	sqlite3_stmt **const statements[] = {&x->find, &x->last, &x->walk, &x->add};

	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		sqlite3_finalize(*statements[i]);
		*statements[i] = NULL;
	}
	sqlite3_close(x->db);
	x->db = NULL;
	x->is_writing = false;
}

static void remove_files(const struct search_index *x)
{
	char journal[PATH_MAX + 16];

	snprintf(journal, sizeof(journal), "%s-journal", x->path);
	unlink(x->path);
	unlink(journal);
}

/* True if it is the file that is wrong, and not the place, the room or the moment. */
static bool is_broken(int r)
{
	switch (r) {
	case SQLITE_OK:
	case SQLITE_PERM:
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_NOMEM:
	case SQLITE_READONLY:
	case SQLITE_IOERR:
	case SQLITE_FULL:
	case SQLITE_CANTOPEN:
		return false;
	default:
		return true;
	}
}

/* It is done without; and where @r says that it cannot be trusted, it goes. */
static int give_up(struct search_index *x, int r)
{
	bool goes = x->is_writable && is_broken(r);

	close_db(x);
	if (goes)
		remove_files(x);
	return -EBADMSG;
}

static int version_of(sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	int version = -1;

	if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW)
		version = sqlite3_column_int(s, 0);
	sqlite3_finalize(s); /* leaves the error of the step, if it had one */
	return version;
}

static bool run(struct search_index *x, const char *text)
{
	return sqlite3_exec(x->db, text, NULL, NULL, NULL) == SQLITE_OK;
}

static bool prepare(struct search_index *x)
{
	const struct {
		sqlite3_stmt **to;
		const char *text;
	} statements[] = {
		{&x->find, "SELECT key, look, next_seq, damages, origin_time, origin_boot FROM "
			   "sessions WHERE id=?1"},
		{&x->last, "SELECT first, records FROM stretches WHERE session=?1 ORDER BY first "
			   "DESC LIMIT 1"},
		{&x->walk, "SELECT first, last, records, since, until, grams, crc FROM stretches "
			   "WHERE session=?1 AND first<?2 ORDER BY first"},
		{&x->add, "INSERT INTO stretches VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"},
	};

	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
		if (sqlite3_prepare_v2(x->db, statements[i].text, -1, statements[i].to, NULL) !=
		    SQLITE_OK)
			return false;
	return true;
}

static bool make_schema(struct search_index *x)
{
	char version[64];

	snprintf(version, sizeof(version), "PRAGMA user_version=%d;COMMIT", VERSION);
	return run(x, "BEGIN IMMEDIATE") && run(x, schema) && run(x, version);
}

static int set_up(struct search_index *x)
{
	sqlite3_busy_timeout(x->db, BUSY_MS);
	sqlite3_limit(x->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_db_config(x->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(x->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (!run(x, "PRAGMA cache_size=-8192; PRAGMA synchronous=NORMAL"))
		return sqlite3_errcode(x->db);
	x->is_writable = !sqlite3_db_readonly(x->db, "main");
	int version = version_of(x->db);
	if (version == 0 && x->is_writable && make_schema(x))
		version = VERSION;
	if (version <= 0)
		return sqlite3_errcode(x->db) == SQLITE_OK ? SQLITE_NOTADB : sqlite3_errcode(x->db);
	if (version != VERSION)
		return SQLITE_NOTADB;
	return prepare(x) ? SQLITE_OK : sqlite3_errcode(x->db);
}

/* Its rows are hashes of what is in records: for the eyes of who owns these. */
static int open_db(struct search_index *x, int flags)
{
	mode_t mask = umask(0077);
	int r = sqlite3_open_v2(x->path, &x->db, flags | SQLITE_OPEN_NOFOLLOW, NULL);

	if (r == SQLITE_OK)
		r = set_up(x);
	umask(mask);
	if (r != SQLITE_OK)
		close_db(x);
	return r;
}

int search_index_open(const char *state, bool anew, struct search_index **ret_index)
{
	const int write = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	struct search_index *x = calloc(1, sizeof(*x));
	char real[PATH_MAX];

	if (!x)
		return -ENOMEM;
	if (!realpath(state, real) || snprintf(x->path, sizeof(x->path), "%s/" SEARCH_INDEX_NAME,
					       real) >= (int)sizeof(x->path)) {
		free(x);
		return -ENOENT;
	}
	if (anew)
		remove_files(x);
	int r = open_db(x, write);
	if (is_broken(r)) {
		remove_files(x);
		r = open_db(x, write);
	}
	if (r != SQLITE_OK)
		r = open_db(x, SQLITE_OPEN_READONLY);
	if (r != SQLITE_OK) {
		free(x);
		return -EACCES;
	}
	*ret_index = x;
	return 0;
}

void search_index_close(struct search_index *x)
{
	if (!x)
		return;
	search_index_cancel(x);
	close_db(x);
	free(x->look);
	free(x);
}

/* ---- how a journal looks ---- */

struct seen {
	uint64_t number, inode, size, changed_ns;
};

/* Its segments, in order; malloc'ed. 0 or -ENOMEM. */
static int look_at(int dir_fd, struct seen **ret_list, size_t *ret_count)
{
	struct seen *list = NULL, *larger;
	uint32_t number;
	size_t count = 0;

	for (int64_t at = -1; segment_after(dir_fd, at, &number) == 0; at = number) {
		char name[SEGMENT_NAME_SIZE];
		struct stat st;

		segment_name(number, "", name);
		if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			break;
		larger = reallocarray(list, count + 1, sizeof(*list));
		if (!larger) {
			free(list);
			return -ENOMEM;
		}
		list = larger;
		list[count++] = (struct seen){number, st.st_ino, (uint64_t)st.st_size,
					      (uint64_t)st.st_mtim.tv_sec * 1000000000 +
						      (uint64_t)st.st_mtim.tv_nsec};
	}
	*ret_list = list;
	*ret_count = count;
	return 0;
}

static bool is_same(const struct search_index *x, const void *look, size_t size)
{
	return size == x->look_count * sizeof(*x->look) &&
	       (!size || memcmp(look, x->look, size) == 0);
}

/* True if all that @look says is so still, but for the last segment, which may have grown. */
static bool has_grown(const struct search_index *x, const void *look, size_t size)
{
	size_t before = size / sizeof(struct seen);
	struct seen last;

	if (!before || before > x->look_count || size % sizeof(struct seen))
		return false;
	memcpy(&last, (const char *)look + (before - 1) * sizeof(last), sizeof(last));
	const struct seen *now = &x->look[before - 1];
	return memcmp(look, x->look, (before - 1) * sizeof(last)) == 0 &&
	       last.number == now->number && last.inode == now->inode && last.size <= now->size;
}

/* ---- reading ---- */

static uint64_t number_of(sqlite3_stmt *s, int column)
{
	return (uint64_t)sqlite3_column_int64(s, column);
}

/* What a row of a stretch is held against. */
static uint32_t sum_of(const struct stretch *span)
{
	const uint64_t head[] = {span->first_seq, span->last_seq, span->records, span->from_ns,
				 span->to_ns};

	return crc32c(crc32c(0, head, sizeof(head)), &span->grams, sizeof(span->grams));
}

static void read_session(struct search_index *x, struct indexed *i)
{
	const void *look = sqlite3_column_blob(x->find, 1);
	size_t size = (size_t)sqlite3_column_bytes(x->find, 1);
	bool same = is_same(x, look, size);

	i->key = sqlite3_column_int64(x->find, 0);
	if (!same && !has_grown(x, look, size))
		return;
	i->is_whole = same;
	i->next_seq = number_of(x->find, 2);
	i->damages = number_of(x->find, 3);
	i->origin_time_ns = number_of(x->find, 4);
	i->origin_boot_ns = number_of(x->find, 5);
}

/* A short last stretch is made anew with what comes behind it. */
static int shorten(struct search_index *x, struct indexed *i)
{
	sqlite3_bind_int64(x->last, 1, i->key);
	int r = sqlite3_step(x->last);
	if (r == SQLITE_ROW && number_of(x->last, 1) < SHORT_STRETCH)
		i->next_seq = number_of(x->last, 0);
	sqlite3_reset(x->last);
	return r == SQLITE_ROW || r == SQLITE_DONE ? SQLITE_OK : r;
}

int search_index_find(struct search_index *x, const char *id, int dir_fd,
		      struct indexed *ret_indexed)
{
	struct indexed i = {.next_seq = 1};

	if (!x->db)
		return -EBADMSG;
	free(take(x->look));
	if (look_at(dir_fd, &x->look, &x->look_count) < 0)
		return -ENOMEM;
	sqlite3_bind_text(x->find, 1, id, -1, SQLITE_TRANSIENT);
	int r = sqlite3_step(x->find);
	if (r == SQLITE_ROW)
		read_session(x, &i);
	sqlite3_reset(x->find);
	if (r == SQLITE_ROW || r == SQLITE_DONE)
		r = i.next_seq > 1 && !i.is_whole ? shorten(x, &i) : SQLITE_OK;
	if (r != SQLITE_OK)
		return give_up(x, r);
	*ret_indexed = i;
	return 0;
}

/* False: it is not what was written. */
static bool read_stretch(sqlite3_stmt *s, struct stretch *span)
{
	const void *grams = sqlite3_column_blob(s, 5);

	if (!grams || (size_t)sqlite3_column_bytes(s, 5) != sizeof(span->grams))
		return false;
	*span = (struct stretch){
		.first_seq = number_of(s, 0),
		.last_seq = number_of(s, 1),
		.from_ns = number_of(s, 3),
		.to_ns = number_of(s, 4),
		.records = number_of(s, 2),
	};
	memcpy(&span->grams, grams, sizeof(span->grams));
	return number_of(s, 6) == sum_of(span);
}

/* Stretches follow one another: one that is missing would hide what is in it. */
int search_index_walk(struct search_index *x, const struct indexed *indexed,
		      search_index_take *taker, void *context)
{
	struct stretch span;
	uint64_t next = 1;
	int r = 0, at = SQLITE_DONE;

	sqlite3_bind_int64(x->walk, 1, indexed->key);
	sqlite3_bind_int64(x->walk, 2, (sqlite3_int64)indexed->next_seq);
	while (r == 0 && (at = sqlite3_step(x->walk)) == SQLITE_ROW) {
		if (!read_stretch(x->walk, &span) || span.first_seq != next) {
			at = SQLITE_CORRUPT;
			break;
		}
		next = span.last_seq + 1;
		r = taker(context, &span);
	}
	sqlite3_reset(x->walk);
	if (r)
		return r;
	if (at == SQLITE_DONE && next == indexed->next_seq)
		return 0;
	return give_up(x, at == SQLITE_DONE ? SQLITE_CORRUPT : at);
}

/* ---- writing ---- */

/* Run a statement with up to four numbers. */
static bool change(struct search_index *x, const char *text, const int64_t *numbers, int count)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(x->db, text, -1, &s, NULL) != SQLITE_OK)
		return false;
	for (int i = 0; i < count; i++)
		sqlite3_bind_int64(s, i + 1, numbers[i]);
	int r = sqlite3_step(s);
	sqlite3_finalize(s);
	return r == SQLITE_DONE;
}

void search_index_cancel(struct search_index *x)
{
	if (x->is_writing)
		run(x, "ROLLBACK");
	x->is_writing = false;
}

static bool add_session(struct search_index *x, const char *id, int64_t *ret_key)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(x->db,
			       "INSERT INTO sessions(id, look, next_seq, damages, origin_time, "
			       "origin_boot) VALUES(?1, x'', 1, 0, 0, 0)",
			       -1, &s, NULL) != SQLITE_OK)
		return false;
	sqlite3_bind_text(s, 1, id, -1, SQLITE_TRANSIENT);
	int r = sqlite3_step(s);
	sqlite3_finalize(s);
	*ret_key = sqlite3_last_insert_rowid(x->db);
	return r == SQLITE_DONE;
}

void search_index_begin(struct search_index *x, const char *id, struct indexed *indexed)
{
	if (!x->db || !x->is_writable || !run(x, "BEGIN IMMEDIATE"))
		return;
	x->is_writing = true;
	const int64_t from[] = {indexed->key, (int64_t)indexed->next_seq};
	if (indexed->key
		    ? !change(x, "DELETE FROM stretches WHERE session=?1 AND first>=?2", from, 2)
		    : !add_session(x, id, &indexed->key))
		search_index_cancel(x);
}

void search_index_add(struct search_index *x, const struct indexed *indexed,
		      const struct stretch *span)
{
	if (!x->is_writing)
		return;
	const uint64_t numbers[] = {(uint64_t)indexed->key, span->first_seq, span->last_seq,
				    span->records,	    span->from_ns,   span->to_ns};

	for (int i = 0; i < 6; i++)
		sqlite3_bind_int64(x->add, i + 1, (sqlite3_int64)numbers[i]);
	sqlite3_bind_blob(x->add, 7, &span->grams, sizeof(span->grams), SQLITE_STATIC);
	sqlite3_bind_int64(x->add, 8, sum_of(span));
	int r = sqlite3_step(x->add);
	sqlite3_reset(x->add);
	sqlite3_clear_bindings(x->add);
	if (r != SQLITE_DONE)
		search_index_cancel(x);
}

static bool put_session(struct search_index *x, const struct indexed *i)
{
	sqlite3_stmt *s = NULL;
	const uint64_t numbers[] = {(uint64_t)i->key, i->next_seq, i->damages, i->origin_time_ns,
				    i->origin_boot_ns};

	if (sqlite3_prepare_v2(x->db,
			       "UPDATE sessions SET next_seq=?2, damages=?3, origin_time=?4, "
			       "origin_boot=?5, look=?6 WHERE key=?1",
			       -1, &s, NULL) != SQLITE_OK)
		return false;
	for (int n = 0; n < 5; n++)
		sqlite3_bind_int64(s, n + 1, (sqlite3_int64)numbers[n]);
	sqlite3_bind_blob(s, 6, x->look_count ? (const void *)x->look : "",
			  (int)(x->look_count * sizeof(*x->look)), SQLITE_STATIC);
	int r = sqlite3_step(s);
	sqlite3_finalize(s);
	return r == SQLITE_DONE;
}

void search_index_commit(struct search_index *x, const struct indexed *indexed)
{
	if (!x->is_writing)
		return;
	if (put_session(x, indexed) && run(x, "COMMIT"))
		x->is_writing = false;
	else
		search_index_cancel(x);
}

/* ---- sessions that are gone ---- */

static bool is_listed(const struct manifest *list, size_t count, const char *id)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(list[i].id, id))
			return true;
	return false;
}

/* The key of one that is gone; 0: there is none. */
static int64_t find_gone(struct search_index *x, const struct manifest *list, size_t count)
{
	sqlite3_stmt *s = NULL;
	int64_t key = 0;

	if (sqlite3_prepare_v2(x->db, "SELECT key, id FROM sessions", -1, &s, NULL) != SQLITE_OK)
		return 0;
	while (!key && sqlite3_step(s) == SQLITE_ROW) {
		const char *id = (const char *)sqlite3_column_text(s, 1);

		if (!id || !is_listed(list, count, id))
			key = sqlite3_column_int64(s, 0);
	}
	sqlite3_finalize(s);
	return key;
}

void search_index_prune(struct search_index *x, const struct manifest *list, size_t count)
{
	int64_t key;

	while (x->db && x->is_writable && (key = find_gone(x, list, count)))
		if (!change(x, "DELETE FROM stretches WHERE session=?1", &key, 1) ||
		    !change(x, "DELETE FROM sessions WHERE key=?1", &key, 1))
			return;
}
