/* Lists of strings that may hold secrets: nothing of them is left in freed memory. */
#include "text_list.h"

#include "record/cleanup.h"

#include <errno.h>
#include <string.h>

static void free_wiped(char *text)
{
	explicit_bzero(text, strlen(text));
	free(text);
}

void text_list_free(char **list)
{
	for (char **at = list; at && *at; at++)
		free_wiped(*at);
	free(list);
}

int text_list_set_env(char ***list, const char *name, const char *value)
{
	size_t length = strlen(name), count = 0;
	cleanup(free) char *entry = malloc(length + strlen(value) + 2);

	if (!entry)
		return -ENOMEM;
	memcpy(entry, name, length);
	entry[length] = '=';
	memcpy(entry + length + 1, value, strlen(value) + 1);

	for (; *list && (*list)[count]; count++) {
		char **old = &(*list)[count];

		if (!strncmp(*old, name, length) && (*old)[length] == '=') {
			free_wiped(*old);
			*old = take(entry);
			return 0;
		}
	}
	char **grown = realloc(*list, (count + 2) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	grown[count] = take(entry);
	grown[count + 1] = NULL;
	*list = grown;
	return 0;
}
