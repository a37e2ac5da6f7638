/*
 * Lines of JSON, each appended by one write.
 */
#include "notes.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/json.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "units.h"

#define LINE_MAX_BYTES 65536

char *notes_path(const char *state, const char *what, const char *id, const char *file)
{
	size_t length = strlen(what);
	char *path = NULL;
	int n;

	if (file)
		return strdup(file);
	while (length > 1 && what[length - 1] == '/')
		length--;
	n = session_is_path(what) ? asprintf(&path, "%.*s.notes", (int)length, what)
				  : asprintf(&path, "%s/notes/%s.jsonl", state, id);
	return n < 0 ? NULL : path;
}

void notes_close(struct notes *notes)
{
	for (size_t i = 0; i < notes->count; i++) {
		free(notes->list[i].author);
		free(notes->list[i].text);
	}
	free(notes->list);
	free(notes->path);
	*notes = (struct notes){0};
}

/* ---- reading ---- */

static int keep(struct notes *notes, const struct remark *note)
{
	struct remark *larger = reallocarray(notes->list, notes->count + 1, sizeof(*larger));

	if (!larger)
		return -ENOMEM;
	notes->list = larger;
	larger[notes->count++] = *note;
	return 0;
}

static void withdraw(struct notes *notes, uint64_t number)
{
	for (size_t i = 0; i < notes->count; i++)
		if (notes->list[i].number == number)
			notes->list[i].is_withdrawn = true;
}

/* 0, -EBADMSG or -ENOMEM. */
static int take_line(struct notes *notes, const char *line, size_t length, uint64_t number)
{
	json_t *o = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
	json_t *withdraws = json_object_get(o, "withdraws"), *seq = json_object_get(o, "seq");
	const char *author = json_string_value(json_object_get(o, "author"));
	const char *text = json_string_value(json_object_get(o, "note"));
	struct remark note = {.number = number};
	int r = -EBADMSG;

	if (json_is_integer(withdraws)) {
		withdraw(notes, (uint64_t)json_integer_value(withdraws));
		r = 0;
	} else if (author && json_is_integer(seq) && json_integer_value(seq) > 0) {
		note.seq = (uint64_t)json_integer_value(seq);
		note.uid = (uint64_t)json_integer_value(json_object_get(o, "uid"));
		note.time_ns = (uint64_t)json_integer_value(json_object_get(o, "time_ns"));
		note.author = strdup(author);
		note.text = text ? strdup(text) : NULL;
		r = note.author && (!text || note.text) ? keep(notes, &note) : -ENOMEM;
		if (r) {
			free(note.author);
			free(note.text);
		}
	}
	json_decref(o);
	return r;
}

int notes_open(const char *path, struct notes *ret_notes)
{
	cleanup(notes) struct notes notes = {.path = strdup(path)};
	cleanup(fclose) FILE *in = fopen(path, "re");
	cleanup(free) char *line = NULL;
	size_t room = 0;
	uint64_t number = 0;
	ssize_t n;
	int r = notes.path ? 0 : -ENOMEM;

	if (!in && errno != ENOENT && errno != ENOTDIR)
		return -errno;
	while (!r && in && (n = getline(&line, &room, in)) > 0) {
		r = take_line(&notes, line, (size_t)n, ++number);
		notes.bad_lines += r == -EBADMSG;
		r = r == -EBADMSG ? 0 : r;
	}
	if (r)
		return r;
	*ret_notes = notes;
	notes = (struct notes){0};
	return 0;
}

const struct remark *notes_about(const struct notes *notes, uint64_t seq, bool marks)
{
	for (size_t i = 0; i < notes->count; i++) {
		const struct remark *note = &notes->list[i];

		if (note->seq == seq && !note->is_withdrawn && (!marks || !note->text))
			return note;
	}
	return NULL;
}

/* ---- writing ---- */

static int append(const char *path, const char *text, size_t length)
{
	cleanup(close_fd) int fd = -1;
	cleanup(free) char *directory = strdup(path);
	char *slash = directory ? strrchr(directory, '/') : NULL;

	if (!directory)
		return -ENOMEM;
	if (slash && slash > directory) {
		*slash = 0;
		if (mkdir(directory, 0700) && errno != EEXIST)
			return -errno;
	}
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (write(fd, text, length) != (ssize_t)length)
		return errno ? -errno : -EIO;
	return fdatasync(fd) ? -errno : 0;
}

static json_t *begin(const char *session)
{
	struct passwd *user = getpwuid(getuid());
	char uid[24], shown[40];
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(shown, sizeof(shown), "%Y-%m-%dT%H:%M:%SZ", &tm);
	snprintf(uid, sizeof(uid), "%u", getuid());
	return json_pack("{s:s, s:I, s:s, s:s, s:I}", "time", shown, "time_ns",
			 (json_int_t)now.tv_sec * (json_int_t)NS_PER_S + now.tv_nsec, "session",
			 session, "author", user ? user->pw_name : uid, "uid",
			 (json_int_t)getuid());
}

/* Append @object, which is given away, and read the file anew: others may have added to it. */
static int finish(struct notes *notes, json_t *object)
{
	cleanup(free) char *path = strdup(notes->path);
	struct json_buffer line = {0};
	struct notes fresh;
	int r = object && path ? json_write_value(&line, object) : -ENOMEM;

	json_decref(object);
	if (!r)
		r = json_write_raw(&line, "\n", 1);
	if (!r && line.length > LINE_MAX_BYTES)
		r = -EMSGSIZE;
	if (!r)
		r = append(path, line.text, line.length);
	json_buffer_free(&line);
	if (!r)
		r = notes_open(path, &fresh);
	if (!r) {
		notes_close(notes);
		*notes = fresh;
	}
	return r;
}

int notes_add(struct notes *notes, const char *session, uint64_t seq, const char *text)
{
	json_t *object, *words = text ? json_string(text) : NULL;

	if (text && strlen(text) > NOTE_TEXT_MAX) {
		json_decref(words);
		return -EMSGSIZE;
	}
	if (text && !words)
		return -EILSEQ;
	object = begin(session);
	json_object_set_new(object, "seq", json_integer((json_int_t)seq));
	if (words)
		json_object_set_new(object, "note", words);
	return finish(notes, object);
}

int notes_withdraw(struct notes *notes, const char *session, uint64_t number)
{
	json_t *object;

	for (size_t i = 0; i < notes->count; i++) {
		if (notes->list[i].number != number || notes->list[i].is_withdrawn)
			continue;
		object = begin(session);
		json_object_set_new(object, "withdraws", json_integer((json_int_t)number));
		return finish(notes, object);
	}
	return -ENOENT;
}
