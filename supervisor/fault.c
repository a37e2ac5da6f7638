/* Why something was refused, in one line that holds no control character. */
#include "fault.h"

#include "record/printable.h"

#include <stdarg.h>
#include <stdio.h>

/* A value at fault may be anything: the line that quotes it still is one line. Backslashes stay
 * single, because quoted values are JSON already. */
static void escape(const char *text, char *to, size_t room)
{
	struct bytes in = bytes_of(text);
	size_t length = 0;

	for (size_t cursor = 0; cursor < in.size && length + 5 < room;) {
		size_t from = cursor;
		int32_t code = utf8_next(in, &cursor);

		if (printable_code(code) && length + (cursor - from) < room)
			while (from < cursor)
				to[length++] = text[from++];
		else
			while (from < cursor && length + 5 < room)
				length += snprintf(to + length, room - length, "\\x%02x",
						   (unsigned char)text[from++]);
	}
	to[length] = 0;
}

void fault_say(struct fault *f, const char *code, const char *format, ...)
{
	char text[FAULT_TEXT];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);

	f->code = code;
	escape(text, f->text, sizeof(f->text));
}
