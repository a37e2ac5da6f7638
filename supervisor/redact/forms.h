/*
 * The forms in which a secret can stand in a text: as it is, encoded, escaped or quoted. What
 * depends on its neighbours in the text (the edge characters of base64) is left out of a form.
 */
#pragma once

#include "../record/event.h"

enum form {
	FORM_RAW,
	FORM_BASE64,
	FORM_HEX,
	FORM_PERCENT,
	FORM_JSON,
	FORM_SHELL,
	FORM_HTML,
	FORM_UTF16,
	FORM_CASE, /* all lower or all upper, as names of hosts and of variables are */
	FORM_COUNT
};
extern const char *const form_names[FORM_COUNT];

/* No form is longer than so many times the value and 16 bytes. */
#define FORM_FACTOR 6
#define FORM_ROOM(size) ((size)*FORM_FACTOR + 16)

/*
 * Call @take with each form of @value, the raw one first; some come more than once. Each is made in
 * @room (of FORM_ROOM bytes) and is gone after the call.
 */
typedef void form_take(void *context, enum form form, struct bytes text);
void forms_make(struct bytes value, uint8_t *room, form_take *take, void *context);
