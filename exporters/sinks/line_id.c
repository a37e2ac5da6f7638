/*
 * Looks at the two ends of a file.
 */
#include "line_id.h"

#include "../../supervisor/record/cleanup.h"
#include "../../supervisor/record/store.h"

#include <string.h>

#define LOOK_BYTES 65536

size_t line_id_length(const char *text)
{
	char session[SESSION_ID_LENGTH + 1] = "";
	const char *digits = text + SESSION_ID_LENGTH + 1;

	if (strnlen(text, SESSION_ID_LENGTH + 2) < SESSION_ID_LENGTH + 2 ||
	    text[SESSION_ID_LENGTH] != '-')
		return 0;
	memcpy(session, text, SESSION_ID_LENGTH);
	if (!session_id_is_valid(session) || *digits < '1' || *digits > '9')
		return 0;
	return SESSION_ID_LENGTH + 1 + strspn(digits, "0123456789");
}

/* The canonical line begins with seq and session; all other forms hold the id itself. */
static bool canonical_id(const char *line, char ret_id[LINE_ID_ROOM])
{
	static const char head[] = "{\"seq\":", middle[] = ",\"session\":\"";
	size_t digits;

	if (strncmp(line, head, sizeof(head) - 1))
		return false;
	line += sizeof(head) - 1;
	digits = strspn(line, "0123456789");
	if (!digits || digits > 20 || *line == '0' ||
	    strncmp(line + digits, middle, sizeof(middle) - 1))
		return false;
	snprintf(ret_id, LINE_ID_ROOM, "%.*s-%.*s", SESSION_ID_LENGTH,
		 line + digits + sizeof(middle) - 1, (int)digits, line);
	return true;
}

static bool id_of(const char *line, char ret_id[LINE_ID_ROOM])
{
	if (canonical_id(line, ret_id))
		return true;
	for (; *line && *line != '\n'; line++) {
		size_t length = line_id_length(line);

		if (length && length < LINE_ID_ROOM) {
			snprintf(ret_id, LINE_ID_ROOM, "%.*s", (int)length, line);
			return true;
		}
	}
	return false;
}

/* The ids in what stands from @offset on: the first one that is seen, or the last. */
static void look(int fd, uint64_t offset, bool wants_last, char ret_id[LINE_ID_ROOM])
{
	cleanup(free) char *text = malloc(LOOK_BYTES + 1);
	ssize_t n = text ? pread(fd, text, LOOK_BYTES, (off_t)offset) : 0;
	char *line = text;

	snprintf(ret_id, LINE_ID_ROOM, "unknown");
	if (n <= 0)
		return;
	text[n] = 0;
	/* Within a line there is no telling what is an id and what only looks like one. */
	if (offset)
		line = memchr(text, '\n', (size_t)n) ? (char *)memchr(text, '\n', (size_t)n) + 1
						     : NULL;
	while (line && line < text + n) {
		char *end = memchr(line, '\n', (size_t)(text + n - line));

		if (id_of(line, ret_id) && !wants_last)
			return;
		line = end ? end + 1 : NULL;
	}
}

void line_id_first(int fd, char ret_id[LINE_ID_ROOM])
{
	look(fd, 0, false, ret_id);
}

void line_id_last(int fd, uint64_t size, char ret_id[LINE_ID_ROOM])
{
	look(fd, size > LOOK_BYTES ? size - LOOK_BYTES : 0, true, ret_id);
}
