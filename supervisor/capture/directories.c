/*
 * A table of places by handle. Parents are kept as handles and not as pointers, so that an entry
 * may be dropped at any time: it is looked up again when it is needed.
 */
#include "directories.h"

#include "../record/cleanup.h"
#include "mapping.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#define BUCKETS 4096 /* a power of two */
#define ENTRIES_MAX 32768
#define PATH_BYTES_MAX (64 * 1024)
#define ANSWER_MS 500 /* for an answer that takes microseconds */

struct entry {
	struct entry *next;
	struct file_id directory, parent;
	size_t size;
	char name[];
};

struct directories {
	struct directories_options options;
	uint64_t session, last_request;
	struct file_id root;
	struct entry *buckets[BUCKETS];
	size_t count, hand; /* hand: bucket from which the next entry is dropped */
	bool is_cut_off;    /* vitrine-names does not answer */
	uint8_t *reply;	    /* NAMES_REPLY_MAX bytes */
	char *path;	    /* PATH_BYTES_MAX bytes: where one is put together */
};

bool file_id_equal(const struct file_id *a, const struct file_id *b)
{
	return a->size == b->size && a->type == b->type && !memcmp(a->bytes, b->bytes, a->size);
}

static size_t bucket_of(const struct file_id *id)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (uint32_t i = 0; i < id->size; i++)
		hash = (hash ^ id->bytes[i]) * 0x100000001b3;
	return (hash ^ hash >> 32) & (BUCKETS - 1);
}

/* ---- asking vitrine-names ---- */

static int send_request(struct directories *d, struct names_request *request, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {request, sizeof(*request)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	request->id = ++d->last_request;
	request->session = d->session;
	if (fd >= 0) {
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		struct cmsghdr *c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	if (sendmsg(d->options.names_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	return 0;
}

/* Answers to questions that were given up come first. */
static int receive_reply(struct directories *d, size_t *ret_size)
{
	struct pollfd p = {.fd = d->options.names_fd, .events = POLLIN};
	struct names_reply head;

	for (;;) {
		int n = poll(&p, 1, ANSWER_MS);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ETIMEDOUT;
		ssize_t size = recv(p.fd, d->reply, NAMES_REPLY_MAX, MSG_DONTWAIT);
		if (size < 0)
			return -errno;
		if ((size_t)size < sizeof(head))
			return -ENOTCONN;
		memcpy(&head, d->reply, sizeof(head));
		if (head.id != d->last_request)
			continue;
		*ret_size = size;
		return head.error;
	}
}

/* One question; a resolver that does not answer is not asked again. */
static int ask(struct directories *d, struct names_request *request, int fd, size_t *ret_size)
{
	if (d->is_cut_off)
		return -ENOTCONN;
	int r = send_request(d, request, fd);
	if (r == 0) {
		r = receive_reply(d, ret_size);
		if (r != -ETIMEDOUT && r != -ENOTCONN && r != -ECONNRESET)
			return r;
	}
	d->is_cut_off = true;
	return -ENOTCONN;
}

/* The next step of the reply in hand; false at its end, or where it is not well-formed. */
static bool next_step(const struct directories *d, size_t size, size_t *cursor,
		      struct file_id *ret_directory, struct bytes *ret_name)
{
	struct names_step step;

	if (size - *cursor < sizeof(step))
		return false;
	memcpy(&step, d->reply + *cursor, sizeof(step));
	*cursor += sizeof(step);
	if (step.handle_size > NAMES_HANDLE_MAX || step.name_size > 255 ||
	    size - *cursor < (size_t)step.handle_size + step.name_size)
		return false;
	ret_directory->type = step.type;
	ret_directory->size = step.handle_size;
	memcpy(ret_directory->bytes, d->reply + *cursor, step.handle_size);
	*ret_name = (struct bytes){d->reply + *cursor + step.handle_size, step.name_size};
	*cursor += (size_t)step.handle_size + step.name_size;
	return true;
}

/* ---- life ---- */

static int open_session(struct directories *d)
{
	struct names_request request = {.kind = NAMES_ADD};
	size_t size, cursor = sizeof(struct names_reply);
	struct bytes name;

	if (getrandom(&d->session, sizeof(d->session), 0) != sizeof(d->session))
		return -errno;
	d->session |= 1;
	d->last_request = d->session;
	int r = ask(d, &request, d->options.root_mount_fd, &size);
	if (r < 0)
		return r;
	return next_step(d, size, &cursor, &d->root, &name) ? 0 : -EBADMSG;
}

int directories_new(const struct directories_options *options, struct directories **ret_directories)
{
	struct directories *d = mapping_new(sizeof(*d));
	if (!d)
		return -ENOMEM;

	d->options = *options;
	d->reply = mapping_new(NAMES_REPLY_MAX);
	d->path = mapping_new(PATH_BYTES_MAX);
	int r = d->reply && d->path ? open_session(d) : -ENOMEM;
	d->options.root_mount_fd = -1;
	if (r < 0) {
		d->is_cut_off = true;
		directories_free(d);
		return r;
	}
	*ret_directories = d;
	return 0;
}

void directories_clear(struct directories *d)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		struct entry *next;

		for (struct entry *e = d->buckets[i]; e; e = next) {
			next = e->next;
			free(e);
		}
		d->buckets[i] = NULL;
	}
	d->count = 0;
}

void directories_free(struct directories *d)
{
	struct names_request request = {.kind = NAMES_REMOVE};
	size_t size;

	if (!d)
		return;
	ask(d, &request, -1, &size);
	directories_clear(d);
	mapping_free(d->reply, NAMES_REPLY_MAX);
	mapping_free(d->path, PATH_BYTES_MAX);
	mapping_free(d, sizeof(*d));
}

/* ---- places ---- */

static struct entry **entry_of(struct directories *d, const struct file_id *directory)
{
	struct entry **at = &d->buckets[bucket_of(directory)];

	while (*at && !file_id_equal(&(*at)->directory, directory))
		at = &(*at)->next;
	return at;
}

static void drop(struct directories *d, struct entry **at)
{
	struct entry *entry = *at;

	*at = entry->next;
	free(entry);
	d->count--;
}

static void make_room(struct directories *d)
{
	while (d->count >= ENTRIES_MAX) {
		struct entry **at = &d->buckets[d->hand++ & (BUCKETS - 1)];

		while (*at)
			drop(d, at);
	}
}

int directories_put(struct directories *d, const struct file_id *directory,
		    const struct file_id *parent, const char *name, size_t size)
{
	struct entry **at = entry_of(d, directory);

	if (*at)
		drop(d, at);
	make_room(d);
	struct entry *entry = malloc(sizeof(*entry) + size);
	if (!entry)
		return -ENOMEM;
	entry->directory = *directory;
	entry->parent = *parent;
	entry->size = size;
	memcpy(entry->name, name, size);
	entry->next = d->buckets[bucket_of(directory)];
	d->buckets[bucket_of(directory)] = entry;
	d->count++;
	return 0;
}

/* Enter the steps of the reply in hand, up to one that moved since. */
static int put_steps(struct directories *d, size_t size)
{
	size_t cursor = sizeof(struct names_reply);
	struct file_id directory, above;
	struct bytes name, name_above;
	struct place place;

	if (!next_step(d, size, &cursor, &directory, &name))
		return -EBADMSG;
	while (next_step(d, size, &cursor, &above, &name_above)) {
		if (d->options.later(d->options.context, &directory, &place))
			return directories_put(d, &directory, &place.parent, place.name,
					       place.size);
		int r = directories_put(d, &directory, &above, name.data, name.size);
		if (r < 0)
			return r;
		directory = above;
		name = name_above;
	}
	return file_id_equal(&directory, &d->root) ? 0 : -EBADMSG;
}

/* Find out where @directory lay at the time of the event in hand. */
static int learn(struct directories *d, const struct file_id *directory)
{
	struct names_request request = {.kind = NAMES_RESOLVE, .handle = *directory};
	struct place place;
	size_t size = 0;

	if (d->options.later(d->options.context, directory, &place))
		return directories_put(d, directory, &place.parent, place.name, place.size);

	int r = ask(d, &request, -1, &size);
	d->options.catch_up(d->options.context);
	if (r == 0)
		return put_steps(d, size);
	/* Gone, or moved out of sight: perhaps an event that came just now says where it was. */
	if (d->options.later(d->options.context, directory, &place))
		return directories_put(d, directory, &place.parent, place.name, place.size);
	return r == -ENOMEM ? r : -ESTALE;
}

/* ---- paths ---- */

/* Names are put in front of each other, from the end of the room for a path. */
static int put_in_front(struct directories *d, size_t *start, const char *name, size_t size)
{
	if (size + 1 > *start)
		return -ENAMETOOLONG;
	*start -= size;
	memcpy(d->path + *start, name, size);
	d->path[--*start] = '/';
	return 0;
}

static int climb(struct directories *d, const struct file_id *directory, size_t *start)
{
	struct file_id at = *directory;

	while (!file_id_equal(&at, &d->root)) {
		struct entry *entry = *entry_of(d, &at);
		int r = 0;

		if (!entry) {
			r = learn(d, &at);
			entry = *entry_of(d, &at);
		}
		if (r == 0 && (!entry || entry->size == 0))
			r = -ESTALE;
		if (r == 0)
			r = put_in_front(d, start, entry->name, entry->size);
		if (r < 0)
			return r;
		at = entry->parent;
	}
	return 0;
}

int directories_path(struct directories *d, const struct file_id *directory, struct bytes name,
		     char **ret_path, size_t *ret_size)
{
	size_t start = PATH_BYTES_MAX;
	int r = 0;

	if (name.size && !(name.size == 1 && *(const char *)name.data == '.'))
		r = put_in_front(d, &start, name.data, name.size);
	if (r == 0)
		r = climb(d, directory, &start);
	if (r < 0)
		return r;
	if (start == PATH_BYTES_MAX)
		d->path[--start] = '/';

	size_t size = PATH_BYTES_MAX - start;
	char *path = malloc(size + 1);
	if (!path)
		return -ENOMEM;
	memcpy(path, d->path + start, size);
	path[size] = '\0';
	*ret_path = path;
	*ret_size = size;
	return 0;
}
