/* Two settings out of the file; vitrined says what is wrong with the others. */
#include "place.h"

#include "config.h"
#include "control.h"
#include "record/store.h"

#include <unistd.h>

static const char *path_of(const json_t *values, const char *name, const char *otherwise)
{
	const char *path = json_string_value(json_object_get(values, name));

	return path && *path == '/' ? path : otherwise;
}

void place_read(struct place *ret_place)
{
	json_t *values =
		access(CONFIG_FILE, R_OK) == 0 ? json_load_file(CONFIG_FILE, 0, NULL) : NULL;

	*ret_place = (struct place){
		.values = values,
		.state = path_of(values, "state", STORE_DEFAULT_STATE),
		.socket = path_of(values, "socket", CONTROL_SOCKET),
	};
}

void place_free(struct place *p)
{
	json_decref(p->values);
	*p = (struct place){0};
}
