/*
 * Length and digest instead of data.
 */
#include "hide.h"

#include "../../supervisor/record/cleanup.h"
#include "../../supervisor/record/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <string.h>

#define OWN_KEY "digest.key"
#define OWN_KEY_SIZE 32

static int read_key(int fd, struct hide_key *ret_key)
{
	uint8_t bytes[HIDE_KEY_MAX + 1];
	ssize_t n;

	n = read(fd, bytes, sizeof(bytes));
	if (n < 0)
		return -errno;
	if (n == 0 || n > HIDE_KEY_MAX)
		return -EINVAL;

	memcpy(ret_key->bytes, bytes, (size_t)n);
	ret_key->size = (size_t)n;
	OPENSSL_cleanse(bytes, sizeof(bytes));
	return 0;
}

int hide_key_read(const char *path, struct hide_key *ret_key)
{
	cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return fd < 0 ? -errno : read_key(fd, ret_key);
}

/* Whole and on disk before it has its name. */
static int make_key(int dir_fd)
{
	cleanup(close_fd) int fd =
		openat(dir_fd, OWN_KEY ".new",
		       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	uint8_t bytes[OWN_KEY_SIZE];
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (RAND_priv_bytes(bytes, sizeof(bytes)) != 1)
		return -EIO;
	n = write(fd, bytes, sizeof(bytes));
	OPENSSL_cleanse(bytes, sizeof(bytes));
	if (n != sizeof(bytes))
		return n < 0 ? -errno : -ENOSPC;
	if (fsync(fd) < 0 || renameat(dir_fd, OWN_KEY ".new", dir_fd, OWN_KEY) < 0 ||
	    fsync(dir_fd) < 0)
		return -errno;
	return 0;
}

int hide_key_own(int dir_fd, struct hide_key *ret_key)
{
	for (int tries = 0; tries < 2; tries++) {
		cleanup(close_fd) int fd =
			openat(dir_fd, OWN_KEY, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		int r = fd < 0 ? -errno : read_key(fd, ret_key);

		if (r != -ENOENT)
			return r;
		r = make_key(dir_fd);
		if (r < 0)
			return r;
	}
	return -ENOENT;
}

void hide_data(struct event *e, const struct hide_key *key)
{
	const struct event_value *value = event_get(e, FIELD_data);
	uint8_t digest[EVENT_DIGEST_SIZE];
	struct event_cut cut;
	struct bytes data;
	bool was_cut;

	if ((e->kind != EVENT_output && e->kind != EVENT_input) || !value)
		return;
	data = value->bytes;
	was_cut = value->is_cut;
	cut = value->cut;
	event_put_bytes(e, FIELD_data, "", 0);
	if (was_cut) {
		/* The recorder's own digest is of the whole value, which is more than is here. */
		event_mark_cut(e, FIELD_data, cut.full_length, cut.has_digest ? cut.digest : NULL);
		return;
	}
	if (key->size)
		hash_keyed((struct bytes){key->bytes, key->size}, data, digest);
	event_mark_cut(e, FIELD_data, data.size, key->size ? digest : NULL);
}
