/* One text for each field. See clean.h. */
#include "clean.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MOST (32 * 1024)

struct clean {
	struct {
		char *data;
		size_t size, room;
	} texts[FIELD_COUNT];
};

struct clean *clean_new(void)
{
	return calloc(1, sizeof(struct clean));
}

void clean_free(struct clean *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < FIELD_COUNT; i++)
		free(c->texts[i].data);
	free(c);
}

bool clean_has(const struct clean *c, enum event_field field, struct bytes text)
{
	return text.size && c->texts[field].size == text.size &&
	       memcmp(c->texts[field].data, text.data, text.size) == 0;
}

void clean_keep(struct clean *c, enum event_field field, struct bytes text)
{
	if (text.size > TEXT_MOST)
		return;
	c->texts[field].size = 0;
	if (text.size > c->texts[field].room) {
		free(c->texts[field].data);
		c->texts[field].data = malloc(text.size);
		c->texts[field].room = c->texts[field].data ? text.size : 0;
	}
	if (!c->texts[field].data || !text.size)
		return;
	memcpy(c->texts[field].data, text.data, text.size);
	c->texts[field].size = text.size;
}
