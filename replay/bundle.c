/*
 * Packs and unpacks sessions.
 */
#include "bundle.h"

#include "../supervisor/record/checkpoints.h"
#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/front.h"
#include "../supervisor/record/reader.h"
#include "../supervisor/record/segment.h"
#include "../supervisor/record/store.h"
#include "../supervisor/record/turns.h"
#include "file_text.h"
#include "tar.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define CHUNK (256u << 10)
#define TEXT_MOST (256u << 20)
#define KEYS_FILE "keys.pub"

struct members {
	struct member *list;
	size_t count;
};

static void cleanup_members(struct members *m)
{
	free(m->list);
}

static int add(struct members *m, const char *name, int dir_fd, const char *text, size_t size)
{
	struct member *larger = reallocarray(m->list, m->count + 1, sizeof(*larger));

	if (!larger)
		return -ENOMEM;
	m->list = larger;
	larger[m->count] = (struct member){.dir_fd = dir_fd, .text = text, .size = size};
	snprintf(larger[m->count++].name, sizeof(larger->name), "%s", name);
	return 0;
}

/* The files of the session, in their one order. */
static int add_files(struct members *m, int dir_fd)
{
	static const char *const first[] = {MANIFEST_FILE, CHECKPOINTS_FILE, FRONT_FILE,
					    TURNS_FILE};
	char name[SEGMENT_NAME_SIZE];
	uint32_t number;
	int r = 0;

	for (size_t i = 0; !r && i < sizeof(first) / sizeof(first[0]); i++)
		if (!faccessat(dir_fd, first[i], F_OK, AT_SYMLINK_NOFOLLOW))
			r = add(m, first[i], dir_fd, NULL, 0);
	for (int64_t at = -1; !r && !segment_after(dir_fd, at, &number); at = number) {
		segment_name(number, "", name);
		r = add(m, name, dir_fd, NULL, 0);
	}
	return r;
}

int bundle_policy(int dir_fd, char **ret_text, size_t *ret_size)
{
	struct reader *reader;
	struct bytes policy = {0};
	struct event e;
	int r = reader_open(dir_fd, &reader);

	if (r)
		return r;
	if (reader_next(reader, &e) == READER_RECORD)
		policy = event_bytes(&e, FIELD_policy);
	r = policy.data ? 0 : -ENOENT;
	if (!r) {
		*ret_text = strndup(policy.data, policy.size);
		*ret_size = policy.size;
		r = *ret_text ? 0 : -ENOMEM;
	}
	reader_free(reader);
	return r;
}

/* ---- packing ---- */

static int copy(int fd, uint64_t size, FILE *out)
{
	cleanup(free) char *chunk = malloc(CHUNK);

	if (!chunk)
		return -ENOMEM;
	while (size) {
		ssize_t n = read(fd, chunk, size < CHUNK ? size : CHUNK);

		if (n <= 0)
			return n ? -errno : -EIO;
		if (fwrite(chunk, 1, (size_t)n, out) != (size_t)n)
			return -EIO;
		size -= (uint64_t)n;
	}
	return 0;
}

static int put_file(const struct member *m, FILE *out)
{
	cleanup(close_fd) int fd = openat(m->dir_fd, m->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	r = tar_head(out, m->name, (uint64_t)st.st_size);
	if (!r)
		r = copy(fd, (uint64_t)st.st_size, out);
	return r ? r : tar_fill(out, (uint64_t)st.st_size);
}

static int put_text(const char *name, const char *text, size_t size, FILE *out)
{
	int r = tar_head(out, name, size);

	if (!r && fwrite(text, 1, size, out) != size)
		r = -EIO;
	return r ? r : tar_fill(out, size);
}

/* How much of the ledger leads to the end of the session, and to what retention removed of it;
 * without an end, all of it. */
static size_t ledger_length(struct bytes ledger, const char *origin)
{
	struct ledger_line line;
	struct bytes one;
	size_t at = 0, length = 0;
	bool has_end = false;

	while (text_line(ledger, &at, &one)) {
		if (ledger_line_read(one, &line) || strcmp(line.name, origin) != 0)
			continue;
		has_end |= line.kind == LEDGER_END;
		if (line.kind == LEDGER_END || line.kind == LEDGER_TRIM)
			length = at;
	}
	return has_end ? length : ledger.size;
}

static int read_ledger(const struct bundle_options *o, char **ret_text, size_t *ret_size)
{
	int r = file_read(o->dir_fd, LEDGER_FILE, TEXT_MOST, ret_text, ret_size);

	return r == -ENOENT ? file_read(o->state_fd, LEDGER_FILE, TEXT_MOST, ret_text, ret_size)
			    : r;
}

static int read_public(const struct bundle_options *o, char **ret_text, size_t *ret_size)
{
	char path[PATH_MAX];
	size_t length = strlen(o->state);
	int r = file_read(o->dir_fd, KEYS_FILE, TEXT_MOST, ret_text, ret_size);

	while (length > 1 && o->state[length - 1] == '/')
		length--;
	if (r != -ENOENT ||
	    snprintf(path, sizeof(path), "%.*s.pub", (int)length, o->state) >= (int)sizeof(path))
		return r;
	return file_read(AT_FDCWD, path, TEXT_MOST, ret_text, ret_size);
}

static int put_all(const struct members *m, FILE *out)
{
	int r = 0;

	for (size_t i = 0; !r && i < m->count; i++)
		r = m->list[i].text
			    ? put_text(m->list[i].name, m->list[i].text, m->list[i].size, out)
			    : put_file(&m->list[i], out);
	return r;
}

/* The ledger goes in as far as it is needed: with a signature, that is the line of it. */
static int put_ledger(const struct bundle_options *o, FILE *out)
{
	cleanup(free) char *text = NULL;
	size_t size;
	int r = read_ledger(o, &text, &size);

	if (r)
		return r == -ENOENT ? 0 : r;
	if (!o->is_signed)
		size = ledger_length((struct bytes){text, size}, o->result->origin);
	return put_text(LEDGER_FILE, text, size, out);
}

static int put_envelope(const struct bundle_options *o, const char *statement, FILE *out)
{
	cleanup(free) char *envelope = NULL;
	int r = envelope_make(o->state, o->result->origin, statement, &envelope);

	return r ? r : put_text(ENVELOPE_FILE, envelope, strlen(envelope), out);
}

int bundle_make(const struct bundle_options *o, FILE *out)
{
	cleanup(members) struct members members = {0};
	cleanup(free) char *public = NULL, *statement = NULL;
	size_t size = 0;
	int r = add_files(&members, o->dir_fd), key = read_public(o, &public, &size);

	if (!r && !key)
		r = add(&members, KEYS_FILE, -1, public, size);
	if (!r && o->policy.data)
		r = add(&members, POLICY_FILE, -1, o->policy.data, o->policy.size);
	if (!r && o->report.data)
		r = add(&members, REPORT_FILE, -1, o->report.data, o->report.size);
	if (!r)
		r = statement_make(members.list, members.count, o->result, &statement);
	if (!r)
		r = put_text(STATEMENT_FILE, statement, strlen(statement), out);
	if (!r && o->is_signed)
		r = put_envelope(o, statement, out);
	if (!r)
		r = put_ledger(o, out);
	if (!r)
		r = put_all(&members, out);
	if (!r)
		r = tar_end(out);
	return !r && fflush(out) ? -errno : r;
}

/* ---- unpacking ---- */

static bool is_member(const char *name)
{
	static const char *const names[] = {
		STATEMENT_FILE, ENVELOPE_FILE, LEDGER_FILE, MANIFEST_FILE, CHECKPOINTS_FILE,
		KEYS_FILE,	POLICY_FILE,   REPORT_FILE, FRONT_FILE,	   TURNS_FILE};
	uint32_t number;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return strlen(name) == strlen("000000.vtj") && segment_number(name, &number);
}

static int unpack_file(FILE *in, int dir_fd, const char *name, uint64_t size)
{
	cleanup(close_fd) int fd =
		openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	cleanup(free) char *chunk = malloc(CHUNK);

	if (fd < 0)
		return errno == EEXIST ? -EBADMSG : -errno;
	if (!chunk)
		return -ENOMEM;
	for (uint64_t left = size; left;) {
		size_t n = fread(chunk, 1, left < CHUNK ? left : CHUNK, in);

		if (!n)
			return ferror(in) ? -EIO : -EBADMSG;
		if (write(fd, chunk, n) != (ssize_t)n)
			return errno ? -errno : -ENOSPC;
		left -= n;
	}
	return tar_skip_fill(in, size);
}

int bundle_unpack(FILE *in, int dir_fd)
{
	char name[TAR_NAME_MAX + 1];
	uint64_t size;
	int r;

	while ((r = tar_next(in, name, &size)) > 0) {
		if (!is_member(name))
			return -EBADMSG;
		r = unpack_file(in, dir_fd, name, size);
		if (r)
			return r;
	}
	return r;
}

/* The members behind the session's own files, as far as they are there. */
static int add_there(struct members *m, int dir_fd)
{
	static const char *const names[] = {KEYS_FILE, POLICY_FILE, REPORT_FILE};
	int r = 0;

	for (size_t i = 0; !r && i < sizeof(names) / sizeof(names[0]); i++)
		if (!faccessat(dir_fd, names[i], F_OK, AT_SYMLINK_NOFOLLOW))
			r = add(m, names[i], dir_fd, NULL, 0);
	return r;
}

/* The policy's text is that of the record, which was signed. */
static int check_policy(int dir_fd, struct verify_result *result)
{
	cleanup(free) char *told = NULL, *own = NULL;
	size_t told_size = 0, own_size = 0;
	int r = file_read(dir_fd, POLICY_FILE, TEXT_MOST, &told, &told_size);

	if (r)
		return r == -ENOENT ? 0 : r;
	r = bundle_policy(dir_fd, &own, &own_size);
	if (r && r != -ENOENT)
		return r;
	if (r || told_size != own_size || memcmp(told, own, own_size) != 0)
		verify_judge(result, VERIFY_TAMPERED,
			     "the policy in the bundle is not the one of the record");
	return 0;
}

int bundle_check(int dir_fd, const struct book *book, const struct trusted_keys *keys,
		 struct verify_result *result)
{
	cleanup(members) struct members members = {0};
	cleanup(free) char *statement = NULL, *told = NULL, *envelope = NULL;
	size_t size = 0;
	int r = add_files(&members, dir_fd);

	if (!r)
		r = add_there(&members, dir_fd);
	if (!r)
		r = check_policy(dir_fd, result);
	if (!r)
		r = statement_make(members.list, members.count, result, &statement);
	if (r)
		return r;
	if (file_read(dir_fd, STATEMENT_FILE, TEXT_MOST, &told, &size) ||
	    size != strlen(statement) || memcmp(told, statement, size) != 0)
		verify_judge(result, VERIFY_TAMPERED,
			     "the statement is not about what is in the bundle");
	r = file_read(dir_fd, ENVELOPE_FILE, TEXT_MOST, &envelope, &size);
	if (!r)
		envelope_check(envelope, statement, book, keys, result);
	return r == -ENOENT ? 0 : r;
}

/* ---- a place of one's own ---- */

int scratch_make(char *ret_path, size_t size)
{
	const char *dir = getenv("TMPDIR");

	if (snprintf(ret_path, size, "%s/vitrine-XXXXXX", dir && *dir ? dir : "/tmp") >= (int)size)
		return *ret_path = 0, -ENAMETOOLONG;
	if (!mkdtemp(ret_path))
		return *ret_path = 0, -errno;
	return 0;
}

void scratch_remove(const char *path)
{
	int fd = *path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		unlinkat(fd, entry->d_name, 0);
	closedir(dir);
	rmdir(path);
}
