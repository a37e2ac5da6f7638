/*
 * What libraries that were compiled against glibc with _FORTIFY_SOURCE call, for programs that are
 * linked with musl: the functions of the same names with a check that the room is there. @room is
 * what the compiler knew of it, or SIZE_MAX.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int __vsnprintf_chk(char *text, size_t size, int flag, size_t room, const char *format,
		    va_list arguments);
int __snprintf_chk(char *text, size_t size, int flag, size_t room, const char *format, ...);
char *__strncpy_chk(char *to, const char *from, size_t size, size_t room);

int __vsnprintf_chk(char *text, size_t size, int flag, size_t room, const char *format,
		    va_list arguments)
{
	(void)flag;
	if (size > room)
		abort();
	return vsnprintf(text, size, format, arguments);
}

int __snprintf_chk(char *text, size_t size, int flag, size_t room, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	int length = __vsnprintf_chk(text, size, flag, room, format, arguments);
	va_end(arguments);
	return length;
}

char *__strncpy_chk(char *to, const char *from, size_t size, size_t room)
{
	if (size > room)
		abort();
	return strncpy(to, from, size);
}
