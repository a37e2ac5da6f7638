/* The JSON files of templates. See template_file.h. */
#include "template_file.h"

#include "record/jansson_cleanup.h"

#include <errno.h>
#include <fcntl.h>

int template_file_write(int dir_fd, const char *name, const struct template_info *info)
{
	char made[NAME_MAX + 1];
	cleanup(json) json_t *object = json_pack(
		"{s:s, s:s, s:s*, s:s*, s:I, s:I, s:I, s:I}", "digest", info->sum.digest, "stamp",
		info->sum.stamp, "source", info->source[0] ? info->source : NULL, "added",
		info->added[0] ? info->added : NULL, "entries", (json_int_t)info->sum.entries,
		"bytes", (json_int_t)info->sum.bytes, "left_out", (json_int_t)info->left_out,
		"changed_ns", (json_int_t)info->sum.changed_ns);
	cleanup(free) char *text = object ? json_dumps(object, JSON_INDENT(2)) : NULL;

	if (!text)
		return -EINVAL;
	snprintf(made, sizeof(made), "%.200s.%d.new", name, getpid());
	cleanup(close_fd) int fd =
		openat(dir_fd, made, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	size_t size = strlen(text);
	if (write(fd, text, size) != (ssize_t)size || fsync(fd) < 0 ||
	    renameat(dir_fd, made, dir_fd, name) < 0) {
		int r = errno ? -errno : -EIO;

		unlinkat(dir_fd, made, 0);
		return r;
	}
	return 0;
}

static bool copy_text(const json_t *object, const char *key, char *to, size_t room)
{
	const char *text = json_string_value(json_object_get(object, key));

	to[0] = 0;
	if (text)
		snprintf(to, room, "%s", text);
	return text && strlen(text) < room;
}

static uint64_t number(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

int template_file_read(int dir_fd, const char *name, struct template_info *ret_info)
{
	struct template_info info = {0};
	cleanup(close_fd) int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	cleanup(json) json_t *object = json_loadfd(fd, JSON_REJECT_DUPLICATES, NULL);
	if (!copy_text(object, "digest", info.sum.digest, sizeof(info.sum.digest)) ||
	    !copy_text(object, "stamp", info.sum.stamp, sizeof(info.sum.stamp)))
		return -EBADMSG;
	copy_text(object, "source", info.source, sizeof(info.source));
	copy_text(object, "added", info.added, sizeof(info.added));
	info.sum.entries = number(object, "entries");
	info.sum.bytes = number(object, "bytes");
	info.sum.changed_ns = (int64_t)number(object, "changed_ns");
	info.left_out = number(object, "left_out");
	*ret_info = info;
	return 0;
}
