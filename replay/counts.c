/*
 * Reads {"process": {"produced": 3, "journaled": 3, "lost": 0}, ...}.
 */
#include "counts.h"

#include <errno.h>
#include <jansson.h>

static int get_count(const json_t *of, const char *key, uint64_t *ret_count)
{
	const json_t *number = json_object_get(of, key);

	if (!json_is_integer(number) || json_integer_value(number) < 0)
		return -EINVAL;
	*ret_count = (uint64_t)json_integer_value(number);
	return 0;
}

int counts_parse(struct bytes json, struct counts *ret_counts)
{
	struct counts counts = {0};
	json_t *root = json_loadb(json.data ? json.data : "", json.size, 0, NULL);
	int r = json_is_object(root) ? 0 : -EINVAL;

	for (size_t i = 0; i < EVENT_CLASS_COUNT && r == 0; i++) {
		const json_t *of = json_object_get(root, event_class_names[i]);

		if (!of)
			continue;
		counts.classes[i].known = true;
		if (get_count(of, "produced", &counts.classes[i].produced) < 0 ||
		    get_count(of, "journaled", &counts.classes[i].journaled) < 0 ||
		    get_count(of, "lost", &counts.classes[i].lost) < 0 ||
		    __builtin_add_overflow(counts.lost, counts.classes[i].lost, &counts.lost))
			r = -EINVAL;
	}
	json_decref(root);
	if (r == 0)
		*ret_counts = counts;
	return r;
}
