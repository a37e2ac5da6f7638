#include "sensors_check.h"

#include "capture/sensors.h"

#define RING_BYTES (4 << 20)

static json_t *names(const char *const *list)
{
	json_t *array = json_array();

	for (; array && *list; list++)
		json_array_append_new(array, json_string(*list));
	return array;
}

json_t *sensors_check(void)
{
	const struct sensors_options options = {
		.cgroup_fd = -1,
		.session_level = 2,
		.ring_bytes = RING_BYTES,
		.rings = 1,
	};
	struct sensors *s;
	char error[512] = "";

	if (sensors_load(&options, &s, error) < 0)
		return json_pack("{s:b, s:s}", "ok", 0, "error", error);

	json_t *answer = json_pack("{s:b, s:o, s:o}", "ok", 1, "loaded", names(sensors_names(s)),
				   "missing", names(sensors_missing(s)));
	sensors_free(s);
	return answer;
}
