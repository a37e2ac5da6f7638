/*
 * Whose a record is says its manifest, which only root can have written: the directory is the
 * recorder's. What was brought in from another host has no owner here.
 */
#include "lend.h"

#include "access.h"
#include "record/checkpoints.h"
#include "record/cleanup.h"
#include "record/front.h"
#include "record/jansson_cleanup.h"
#include "record/turns.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define LOOKS_MOST 500 /* at manifests, for one request: clients wait for each other */
#define FILES_MOST (CONTROL_FDS_MAX - 1)
#define MANIFEST_MOST (1 << 20)

/* ---- whose it is ---- */

static int open_record(const struct host *h, const char *id)
{
	int fd = session_id_is_valid(id) ? openat(h->sessions_fd, id,
						  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
					 : -1;

	return fd;
}

/* The manifest in @dir_fd as JSON, if root wrote it. NULL: it is none. */
static json_t *read_manifest(int dir_fd)
{
	cleanup(close_fd) int fd = openat(
		dir_fd, MANIFEST_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_size > MANIFEST_MOST)
		return NULL;
	return json_loadfd(fd, JSON_REJECT_DUPLICATES, NULL);
}

static bool is_owner(const struct client *c, int dir_fd, const json_t *manifest)
{
	const json_t *uid = json_object_get(manifest, "uid");

	if (faccessat(dir_fd, LEDGER_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return false;
	return c->who.uid == 0 ||
	       (json_is_integer(uid) && json_integer_value(uid) == (json_int_t)c->who.uid);
}

/* The directory of a record of the client's. -EACCES: there is none of that id. */
static int own_record(const struct client *c, const char *id)
{
	cleanup(close_fd) int fd = id ? open_record(c->host, id) : -1;
	cleanup(json) json_t *manifest = fd < 0 ? NULL : read_manifest(fd);

	return manifest && is_owner(c, fd, manifest) ? take_fd(fd) : -EACCES;
}

/* ---- record.list ---- */

/* The @most least names in @dir_fd behind @after that @is_wanted; *ret_names are owned. The number
 * of them, or -errno. */
static int least_names(int dir_fd, const char *after, bool (*is_wanted)(const char *name),
		       size_t most, char (*ret_names)[NAME_MAX + 1])
{
	int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup(closedir) DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	size_t count = 0;

	if (!dir && copy >= 0)
		close(copy);
	while (dir && (entry = readdir(dir))) {
		const char *name = entry->d_name;
		size_t at = count;

		if (strcmp(name, after) <= 0 || !is_wanted(name))
			continue;
		while (at > 0 && strcmp(ret_names[at - 1], name) > 0)
			at--;
		if (at == most)
			continue;
		count += count < most;
		memmove(ret_names[at + 1], ret_names[at], (count - 1 - at) * sizeof(*ret_names));
		snprintf(ret_names[at], sizeof(*ret_names), "%s", name);
	}
	return dir ? (int)count : -EIO;
}

static const char *after_of(const struct control_message *m)
{
	const char *after = json_string_value(json_object_get(m->body, "after"));

	return after && strlen(after) <= NAME_MAX ? after : "";
}

void lend_list(struct client *c, struct control_message *m)
{
	cleanup(free) char(*names)[NAME_MAX + 1] = calloc(LOOKS_MOST, sizeof(*names));
	cleanup(json) json_t *records = json_array();
	int count = names && records ? least_names(c->host->sessions_fd, after_of(m),
						   session_id_is_valid, LOOKS_MOST, names)
				     : -ENOMEM;

	for (int i = 0; i < count; i++) {
		cleanup(close_fd) int fd = open_record(c->host, names[i]);
		json_t *manifest = fd < 0 ? NULL : read_manifest(fd);

		if (manifest && is_owner(c, fd, manifest))
			json_array_append(records, manifest);
		json_decref(manifest);
	}
	if (count < 0)
		client_refuse(c, "failed", strerror(-count));
	else
		client_send(c, json_pack("{s:b, s:O, s:s?}", "ok", 1, "records", records, "next",
					 count == LOOKS_MOST ? names[count - 1] : NULL));
}

/* ---- record.open, record.more ---- */

static bool is_lent(const char *name)
{
	uint32_t number;

	return segment_number(name, &number) || !strcmp(name, CHECKPOINTS_FILE) ||
	       !strcmp(name, FRONT_FILE) || !strcmp(name, TURNS_FILE) ||
	       !strcmp(name, MANIFEST_FILE);
}

/* The file as it is to be lent, of the user @writer, whose the directory is, or root; -1: none. */
static int open_file(int dir_fd, uid_t writer, const char *name)
{
	cleanup(close_fd) int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (st.st_uid != geteuid() && st.st_uid != writer))
		return -1;
	return take_fd(fd);
}

/* Files of @dir_fd behind @after, and whether there are more. */
static void lend(struct client *c, int dir_fd, const char *after)
{
	char names[FILES_MOST][NAME_MAX + 1];
	cleanup(json) json_t *told = json_array();
	int fds[FILES_MOST];
	size_t lent = 0;
	struct stat st;
	int count = fstat(dir_fd, &st) < 0 ? -errno
					   : least_names(dir_fd, after, is_lent, FILES_MOST, names);

	for (int i = 0; told && i < count; i++) {
		int fd = open_file(dir_fd, st.st_uid, names[i]);

		if (fd < 0)
			continue;
		fds[lent++] = fd;
		json_array_append_new(told, json_string(names[i]));
	}
	if (count < 0)
		client_refuse(c, "failed", strerror(-count));
	else
		client_send_fds(c,
				json_pack("{s:b, s:O, s:s?}", "ok", 1, "files", told, "next",
					  count == FILES_MOST ? names[count - 1] : NULL),
				fds, lent);
	while (lent > 0)
		close(fds[--lent]);
}

static void refuse(struct client *c)
{
	client_refuse(c, "forbidden",
		      "you have no such record: who asked for a session may read "
		      "its record, and who may read all records");
}

void lend_open(struct client *c, struct control_message *m)
{
	const char *id = json_string_value(json_object_get(m->body, "session"));
	cleanup(close_fd) int dir_fd = own_record(c, id);
	cleanup(free) char *query = NULL;
	struct fault f = {0};
	size_t size = 0;

	c->reads[0] = 0;
	if (dir_fd < 0) {
		refuse(c);
		return;
	}
	if (control_get_bytes(json_object_get(m->body, "query"), &query, &size) < 0 ||
	    size > ACCESS_QUERY_MOST) {
		client_refuse(c, "bad_request", "query: allowed: 4096 bytes");
		return;
	}
	if (access_note(c, id, (struct bytes){query, size}, &f) < 0) {
		client_refuse(c, f.code ? f.code : "failed", f.text);
		return;
	}
	snprintf(c->reads, sizeof(c->reads), "%s", id);
	lend(c, dir_fd, "");
}

void lend_more(struct client *c, struct control_message *m)
{
	cleanup(close_fd) int dir_fd = c->reads[0] ? own_record(c, c->reads) : -EACCES;

	if (dir_fd < 0)
		refuse(c);
	else
		lend(c, dir_fd, after_of(m));
}
