/*
 * The status file, and how far each sink is.
 */
#include "status.h"
#include "pending.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/json_put.h"
#include "../supervisor/record/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>

/* ---- writing ---- */

static json_t *status_of(const struct lane_status *s)
{
	json_t *o = json_pack(
		"{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "name", s->name,
		"type", s->type, "state", s->state, "why", s->why, "delivered",
		(json_int_t)s->totals.delivered, "quarantined", (json_int_t)s->totals.quarantined,
		"filtered", (json_int_t)s->totals.filtered, "retries", (json_int_t)s->retries,
		"bytes", (json_int_t)s->bytes, "batches", (json_int_t)s->batches, "cursor_resets",
		(json_int_t)s->resets, "in_batch", (json_int_t)s->in_batch);

	if (o && s->delivered_ns)
		json_object_set_new(o, "delivered_ns", json_integer((json_int_t)s->delivered_ns));
	if (o && s->oldest_ns)
		json_object_set_new(o, "oldest_ns", json_integer((json_int_t)s->oldest_ns));
	return o;
}

int status_write(int dir_fd, const struct lane_status *list, size_t count)
{
	cleanup(free) char *text = NULL;
	cleanup(close_fd) int fd = -1;
	json_t *all = json_array();
	size_t size;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(all, status_of(&list[i]));
	text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	fd = openat(dir_fd, "status.json.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	if (!text)
		return -ENOMEM;
	size = strlen(text);
	if (write(fd, text, size) != (ssize_t)size)
		return -ENOSPC;
	return renameat(dir_fd, "status.json.new", dir_fd, "status.json") < 0 ? -errno : 0;
}

/* ---- what is pending ---- */

/* Records that the sink has not settled, over all sessions. */
static int count_pending(const char *state, const struct cursor *c, uint64_t *ret_pending)
{
	char path[4200];
	cleanup(closedir) DIR *dir = NULL;
	struct dirent *entry;

	snprintf(path, sizeof(path), "%s/sessions", state);
	dir = opendir(path);
	if (!dir)
		return -errno;
	*ret_pending = 0;
	while ((entry = readdir(dir))) {
		const struct cursor_entry *known = cursor_find(c, entry->d_name);
		cleanup(close_fd) int fd = -1;

		if (!session_id_is_valid(entry->d_name) || (known && known->is_done))
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			*ret_pending += pending_count(fd, known ? known->next_seq : 1);
	}
	return 0;
}

/* ---- showing ---- */

static json_t *find_live(const json_t *live, const char *name)
{
	json_t *item;
	size_t i;

	json_array_foreach (live, i, item) {
		const char *other = json_string_value(json_object_get(item, "name"));

		if (other && !strcmp(other, name))
			return json_incref(item);
	}
	return json_pack("{s:s, s:s}", "name", name, "state", "unknown");
}

/* The row of a sink: what the exporter said last, and what the files say now. */
static json_t *row_of(int dir_fd, const struct export_config *config,
		      const struct sink_config *sink, const json_t *live)
{
	json_t *row = find_live(live, sink->name);
	struct cursor c = {0};
	uint64_t pending = 0;
	int r = cursor_read(dir_fd, sink->name, &c);
	const char *cursor = r == 0 ? "good" : r == -ENOENT ? "none" : "unreadable";

	json_object_set_new(row, "type", json_string(sink->type->name));
	json_object_set_new(row, "cursor", json_string(cursor));
	if (count_pending(config->state, &c, &pending) == 0)
		json_object_set_new(row, "pending", json_integer((json_int_t)pending));
	json_object_set_new(row, "delivered", json_integer((json_int_t)c.totals.delivered));
	json_object_set_new(row, "quarantined", json_integer((json_int_t)c.totals.quarantined));
	json_object_set_new(row, "filtered", json_integer((json_int_t)c.totals.filtered));
	cursor_free(&c);
	return row;
}

static bool is_running(int dir_fd)
{
	cleanup(close_fd) int fd = openat(dir_fd, "lock", O_RDONLY | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
}

static void print_row(const json_t *row)
{
	const char *why = json_string_value(json_object_get(row, "why"));
	struct printable printable = printable_for(stdout, 200);

	printf("%-20s %-10s %-8s %12" PRId64 " %12" PRId64 " %11" PRId64 " %9" PRId64 "  ",
	       json_string_value(json_object_get(row, "name")),
	       json_string_value(json_object_get(row, "type")),
	       json_string_value(json_object_get(row, "state")),
	       (int64_t)json_integer_value(json_object_get(row, "delivered")),
	       (int64_t)json_integer_value(json_object_get(row, "pending")),
	       (int64_t)json_integer_value(json_object_get(row, "quarantined")),
	       (int64_t)json_integer_value(json_object_get(row, "filtered")));
	printable_text(stdout, &printable, bytes_of(why ? why : ""));
	putchar('\n');
}

static int print_all(const json_t *rows, bool running, bool json)
{
	cleanup(free) char *text = NULL;

	if (json) {
		json_t *all = json_pack("{s:b, s:O}", "running", running, "sinks", rows);

		text = json_dumps(all, JSON_COMPACT | JSON_ENSURE_ASCII);
		json_decref(all);
		puts(text ? text : "");
		return fflush(stdout) || !text;
	}
	if (!running)
		puts("vitrine-export does not run; this is how far it was.");
	printf("%-20s %-10s %-8s %12s %12s %11s %9s  %s\n", "SINK", "TYPE", "STATE", "DELIVERED",
	       "PENDING", "QUARANTINED", "FILTERED", "WHY");
	for (size_t i = 0; i < json_array_size(rows); i++)
		print_row(json_array_get(rows, i));
	return fflush(stdout) != 0;
}

static json_t *read_live(int dir_fd)
{
	cleanup(close_fd) int fd = openat(dir_fd, "status.json", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? NULL : json_loadfd(fd, 0, NULL);
}

int status_show(const struct export_config *config, bool json)
{
	cleanup(close_fd) int dir_fd = open(config->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	json_t *live, *rows;
	int status;

	if (dir_fd < 0) {
		fprintf(stderr, "vitrine-export: cannot open %s: %s\n", config->directory,
			strerror(errno));
		return 1;
	}
	live = read_live(dir_fd);
	rows = json_array();
	for (size_t i = 0; i < config->sink_count; i++)
		json_array_append_new(rows, row_of(dir_fd, config, &config->sinks[i], live));
	status = print_all(rows, is_running(dir_fd), json);
	json_decref(rows);
	json_decref(live);
	return status;
}
