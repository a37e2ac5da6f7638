/*
 * The forms in which a secret can stand in a text: as it is, encoded or escaped. What quotes, line
 * breaks and the like do to a form is not a form of its own: see letters.h. The digits of base64
 * and base32 that hang on the neighbours in the text are left out of a form, which is open there.
 */
#pragma once

#include "../record/event.h"

enum form {
	FORM_RAW,
	FORM_BASE64,
	FORM_BASE32,
	FORM_HEX,
	FORM_PERCENT,
	FORM_JSON,
	FORM_HTML,
	FORM_SPLIT, /* as it is, with something between its bytes */
	FORM_COUNT
};
extern const char *const form_names[FORM_COUNT];

struct form_text {
	enum form form;
	struct bytes text;
	bool open_before, open_after;
};

/* No form is longer than so many times the value and 16 bytes. */
#define FORM_FACTOR 6
#define FORM_ROOM(size) ((size)*FORM_FACTOR + 16)

/*
 * Call @take with each form of @value, the raw one first; some come more than once. Each is made in
 * @room (of FORM_ROOM bytes) and is gone after the call.
 */
typedef void form_take(void *context, const struct form_text *form);
void forms_make(struct bytes value, uint8_t *room, form_take *take, void *context);
