/*
 * The key file is 52 bytes, written in place so that the old key is gone: "vtrsign\n", the number
 * of the line that the key signs, the seed, CRC-32C. It may lag behind the ledger (a crash, or
 * lines that were not made durable): then it is ratcheted as far as the ledger is. A key that was
 * made anew waits in <state>.sign.next until the line that names it is on disk.
 *
 * The ledger may be read by others, and whoever can open a file can lock it: so what is locked is
 * <state>.lock, which is root's alone.
 */
#include "ledger_write.h"
#include "base64.h"
#include "cleanup.h"
#include "crash.h"
#include "crc32c.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define KEY_FILE_SIZE 52
#define LAG_MAX 1000000 /* lines that a key may lag behind */

static const char magic[8] = {'v', 't', 'r', 's', 'i', 'g', 'n', '\n'};

struct key {
	uint64_t index;
	uint8_t seed[SIGN_SEED_SIZE];
};

struct ledger {
	char key_file[PATH_MAX], next_file[PATH_MAX], public_file[PATH_MAX], lock_file[PATH_MAX];
	int fd, lock_fd;
	bool has_last;
	struct ledger_line last;
	uint8_t last_hash[HASH_SIZE];
	struct key key;
};

static void cleanup_ledger(struct ledger *l)
{
	if (l->fd >= 0)
		close(l->fd);
	if (l->lock_fd >= 0)
		close(l->lock_fd);
	explicit_bzero(&l->key, sizeof(l->key));
}

/* ---- the key file ---- */

static int key_read(const char *file, struct key *ret_key)
{
	uint8_t bytes[KEY_FILE_SIZE + 1];
	cleanup(close_fd) int fd = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	uint32_t crc;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return -EPERM;
	n = read(fd, bytes, sizeof(bytes));
	if (n < 0)
		return -errno;
	memcpy(&crc, bytes + 48, sizeof(crc));
	if (n != KEY_FILE_SIZE || memcmp(bytes, magic, sizeof(magic)) != 0 ||
	    le32toh(crc) != crc32c(0, bytes, 48))
		return -EBADMSG;
	memcpy(&ret_key->index, bytes + 8, 8);
	ret_key->index = le64toh(ret_key->index);
	memcpy(ret_key->seed, bytes + 16, SIGN_SEED_SIZE);
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

/* In place, and on disk. */
static int key_write(const char *file, const struct key *key)
{
	cleanup(close_fd) int fd =
		open(file, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
	uint8_t bytes[KEY_FILE_SIZE];
	uint64_t index = htole64(key->index);
	uint32_t crc;
	ssize_t n;

	if (fd < 0)
		return -errno;
	memcpy(bytes, magic, sizeof(magic));
	memcpy(bytes + 8, &index, sizeof(index));
	memcpy(bytes + 16, key->seed, SIGN_SEED_SIZE);
	crc = htole32(crc32c(0, bytes, 48));
	memcpy(bytes + 48, &crc, sizeof(crc));
	crash_point();
	n = pwrite(fd, bytes, sizeof(bytes), 0);
	crash_point();
	explicit_bzero(bytes, sizeof(bytes));
	if (n != KEY_FILE_SIZE)
		return n < 0 ? -errno : -ENOSPC;
	return fdatasync(fd) ? -errno : 0;
}

/* Tell the public key that nothing before vouches for. */
static int tell_public(const struct ledger *l)
{
	cleanup(close_fd) int fd =
		open(l->public_file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
	char key[BASE64_LENGTH(SIGN_PUBLIC_SIZE) + 1] = "", line[128];
	uint8_t public[SIGN_PUBLIC_SIZE];
	int length, r;

	if (fd < 0)
		return -errno;
	r = sign_public(l->key.seed, public);
	if (r)
		return r;
	base64_encode(public, sizeof(public), key);
	length = snprintf(line, sizeof(line), "%llu %s %s\n", (unsigned long long)l->key.index,
			  SIGN_ALGORITHM, key);
	return write(fd, line, (size_t)length) == length && !fdatasync(fd) ? 0 : -EIO;
}

static bool is_key_of(const struct key *key, const uint8_t public[SIGN_PUBLIC_SIZE])
{
	uint8_t own[SIGN_PUBLIC_SIZE];

	return !sign_public(key->seed, own) && !memcmp(own, public, sizeof(own));
}

/* Bring the key to line @index, which has to be signed by @public (NULL: unknown). */
static int key_advance(struct ledger *l, uint64_t index, const uint8_t *public)
{
	struct key next = {0};
	int r = 0;

	if (!key_read(l->next_file, &next) && public && next.index == index &&
	    is_key_of(&next, public)) {
		l->key = next;
		explicit_bzero(&next, sizeof(next));
		r = key_write(l->key_file, &l->key);
		if (!r && unlink(l->next_file))
			r = -errno;
		return r;
	}
	if (index - l->key.index > LAG_MAX)
		return -EKEYREJECTED;
	for (; l->key.index < index; l->key.index++)
		sign_ratchet(l->key.seed);
	return public && !is_key_of(&l->key, public) ? -EKEYREJECTED : 0;
}

/* ---- the ledger ---- */

/* Cut off a line that a crash left without its end, and read the last whole one. */
static int read_last(struct ledger *l)
{
	char tail[2 * LEDGER_LINE_MAX];
	off_t size = lseek(l->fd, 0, SEEK_END), start;
	const char *end, *begin;
	ssize_t n;
	int r;

	if (size <= 0)
		return size < 0 ? -errno : 0;
	start = size > (off_t)sizeof(tail) ? size - (off_t)sizeof(tail) : 0;
	n = pread(l->fd, tail, (size_t)(size - start), start);
	if (n != size - start)
		return n < 0 ? -errno : -EIO;
	end = memrchr(tail, '\n', (size_t)n);
	if (!end && start)
		return -EBADMSG;
	if (ftruncate(l->fd, end ? start + (end + 1 - tail) : 0))
		return -errno;
	if (!end)
		return 0;
	begin = memrchr(tail, '\n', (size_t)(end - tail));
	begin = begin ? begin + 1 : tail;
	r = ledger_line_read((struct bytes){begin, (size_t)(end - begin)}, &l->last);
	if (r)
		return r;
	hash_bytes((struct bytes){begin, (size_t)(end - begin)}, l->last_hash);
	l->has_last = true;
	return 0;
}

static int name_files(struct ledger *l, const char *state)
{
	size_t length = strlen(state);

	while (length > 1 && state[length - 1] == '/')
		length--;
	if (length + sizeof(".sign.next") > PATH_MAX)
		return -ENAMETOOLONG;
	snprintf(l->key_file, PATH_MAX, "%.*s.sign", (int)length, state);
	snprintf(l->next_file, PATH_MAX, "%.*s.sign.next", (int)length, state);
	snprintf(l->lock_file, PATH_MAX, "%.*s.lock", (int)length, state);
	snprintf(l->public_file, PATH_MAX, "%.*s.pub", (int)length, state);
	return 0;
}

static int ledger_lock(const char *state, int flags, struct ledger *l)
{
	char path[PATH_MAX];
	int r = name_files(l, state);

	if (r)
		return r;
	if (snprintf(path, sizeof(path), "%s/%s", state, LEDGER_FILE) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	l->lock_fd = open(l->lock_file, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | flags, 0600);
	if (l->lock_fd < 0 && (flags || errno != ENOENT)) /* a copy, which nobody writes */
		return -errno;
	if (l->lock_fd >= 0 && flock(l->lock_fd, LOCK_EX))
		return -errno;
	l->fd = open(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | flags, 0644);
	return l->fd < 0 ? -errno : read_last(l);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Append one line under the key that it is the turn of. @next is the key after. */
static int append(struct ledger *l, enum ledger_kind kind, const char *name, const uint8_t *detail,
		  const struct key *next, char ret_text[LEDGER_LINE_MAX])
{
	struct ledger_line line = {.index = l->key.index, .kind = kind, .time_ns = now_ns()};
	int length, r;
	ssize_t n;

	if (strlen(name) >= sizeof(line.name))
		return -EINVAL;
	memcpy(line.name, name, strlen(name));
	if (detail)
		memcpy(line.detail, detail, HASH_SIZE);
	memcpy(line.previous, l->last_hash, HASH_SIZE);
	r = sign_public(next->seed, line.next);
	if (r)
		return r;
	length = ledger_line_write(&line, l->key.seed, ret_text);
	if (length < 0)
		return length;
	hash_bytes((struct bytes){ret_text, (size_t)length}, l->last_hash);
	ret_text[length] = '\n';
	crash_point();
	n = write(l->fd, ret_text, (size_t)length + 1);
	crash_point();
	r = n < 0 ? -errno : n != length + 1 ? -ENOSPC : 0;
	ret_text[length] = 0;
	l->key = *next;
	return r;
}

static int next_key(const struct ledger *l, enum ledger_kind kind, struct key *ret_key)
{
	*ret_key = l->key;
	ret_key->index++;
	if (kind == LEDGER_ROTATE)
		return sign_seed(ret_key->seed);
	sign_ratchet(ret_key->seed);
	return 0;
}

static int add(struct ledger *l, enum ledger_kind kind, const char *name, const uint8_t *detail,
	       char ret_text[LEDGER_LINE_MAX])
{
	struct key next;
	int r = next_key(l, kind, &next);

	if (!r && kind == LEDGER_ROTATE)
		r = key_write(l->next_file, &next);
	if (!r)
		r = append(l, kind, name, detail, &next, ret_text);
	explicit_bzero(&next, sizeof(next));
	return r;
}

/* A host without a key: the first one, or one in place of one that is lost. */
static int start(struct ledger *l)
{
	char text[LEDGER_LINE_MAX];
	uint8_t public[SIGN_PUBLIC_SIZE];
	int r = sign_seed(l->key.seed);

	l->key.index = l->has_last ? l->last.index + 1 : 0;
	if (!r)
		r = sign_public(l->key.seed, public);
	if (!r)
		r = key_write(l->key_file, &l->key);
	if (!r)
		r = tell_public(l);
	return r ? r : add(l, LEDGER_START, "-", public, text);
}

/* The key is at the turn of the next line when this returns 0. */
static int take_key(struct ledger *l)
{
	char text[LEDGER_LINE_MAX];
	uint8_t public[SIGN_PUBLIC_SIZE];
	int r = key_read(l->key_file, &l->key);

	if (r == -ENOENT)
		return start(l);
	if (r)
		return r;
	if (l->has_last)
		return key_advance(l, l->last.index + 1, l->last.next);
	/* The ledger is gone, or was never begun: it begins where the key is. */
	r = sign_public(l->key.seed, public);
	return r ? r : add(l, LEDGER_START, "-", public, text);
}

/* The line that was added is on disk, and the key of the next one in place of all before. */
static int make_durable(struct ledger *l, enum ledger_kind kind)
{
	int r = fdatasync(l->fd) ? -errno : key_write(l->key_file, &l->key);

	if (!r && kind == LEDGER_ROTATE && unlink(l->next_file))
		r = -errno;
	return r;
}

int ledger_add(const char *state, enum ledger_kind kind, const char *name, const uint8_t *detail,
	       bool is_durable, char *ret_text)
{
	cleanup(ledger) struct ledger l = {.fd = -1, .lock_fd = -1};
	char text[LEDGER_LINE_MAX];
	int r = ledger_lock(state, O_CREAT, &l);

	if (!r)
		r = take_key(&l);
	if (!r)
		r = add(&l, kind, name, detail, text);
	if (r)
		return r;
	if (is_durable || kind == LEDGER_ROTATE)
		r = make_durable(&l, kind);
	if (!r && ret_text)
		memcpy(ret_text, text, LEDGER_LINE_MAX);
	return r;
}

/* The key file never goes back: meanwhile somebody may have settled more. */
static int settle_key(const char *state, uint64_t index)
{
	cleanup(ledger) struct ledger l = {.fd = -1, .lock_fd = -1};
	int r = ledger_lock(state, 0, &l);

	if (!r)
		r = key_read(l.key_file, &l.key);
	if (!r && l.key.index < index) {
		for (; l.key.index < index; l.key.index++)
			sign_ratchet(l.key.seed);
		r = key_write(l.key_file, &l.key);
	}
	return r;
}

/* The disk is waited for without the lock. */
int ledger_settle(const char *state)
{
	cleanup(ledger) struct ledger l = {.fd = -1, .lock_fd = -1};
	int r = ledger_lock(state, 0, &l);

	if (r == -ENOENT || (!r && !l.has_last))
		return 0;
	if (!r && l.lock_fd >= 0 && flock(l.lock_fd, LOCK_UN))
		r = -errno;
	crash_point();
	if (!r && fdatasync(l.fd))
		r = -errno;
	return r ? r : settle_key(state, l.last.index + 1);
}

int ledger_sign(const char *state, const char *name, struct bytes text,
		uint8_t ret_signature[SIGN_SIZE], uint64_t *ret_index)
{
	cleanup(ledger) struct ledger l = {.fd = -1, .lock_fd = -1};
	char line[LEDGER_LINE_MAX];
	uint8_t hash[HASH_SIZE];
	uint64_t index;
	int r = ledger_lock(state, O_CREAT, &l);

	if (!r)
		r = take_key(&l);
	if (r)
		return r;
	index = l.key.index;
	hash_bytes(text, hash);
	r = sign_make(l.key.seed, text, ret_signature);
	if (!r)
		r = add(&l, LEDGER_BUNDLE, name, hash, line);
	if (!r)
		r = make_durable(&l, LEDGER_BUNDLE);
	if (!r)
		*ret_index = index;
	return r;
}

int ledger_key(const char *state, uint64_t *ret_index, uint8_t ret_public[SIGN_PUBLIC_SIZE])
{
	cleanup(ledger) struct ledger l = {.fd = -1, .lock_fd = -1};
	int r = ledger_lock(state, 0, &l);

	if (!r)
		r = key_read(l.key_file, &l.key);
	if (!r && l.has_last)
		r = key_advance(&l, l.last.index + 1, l.last.next);
	if (!r)
		r = sign_public(l.key.seed, ret_public);
	if (!r)
		*ret_index = l.key.index;
	return r;
}

void ledger_name(const char *session, char ret_name[LEDGER_NAME_MAX])
{
	char host[65] = "";

	if (gethostname(host, sizeof(host) - 1) || !host[0])
		memcpy(host, "localhost", sizeof("localhost"));
	for (char *at = host; *at; at++) {
		bool is_plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
				(*at >= '0' && *at <= '9') || *at == '.' || *at == '-';

		if (!is_plain)
			*at = '_';
	}
	snprintf(ret_name, LEDGER_NAME_MAX, "%s/%s", host, session);
}
