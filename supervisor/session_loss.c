/* Counts before and after: the difference is a gap of each class. */
#include "session_loss.h"

#include "record/event.h"
#include "session_state.h"

#include <string.h>

static struct in_hand *in_hand_of(const struct session *s)
{
	return (struct in_hand *)s->host->in_hand.cells + s->watch.slot;
}

int session_loss_begin(struct session *s)
{
	struct in_hand *counts = in_hand_of(s);

	memset(counts, 0, sizeof(*counts));
	return sensors_numbers(s->host->sensors, s->watch.slot, counts->settled);
}

void session_loss_measure(struct session *s)
{
	uint64_t given[WIRE_CLASS_COUNT];

	s->lost = *in_hand_of(s);
	if (sensors_numbers(s->host->sensors, s->watch.slot, given) < 0)
		memcpy(given, s->lost.settled, sizeof(given));
	for (int class = 0; class < WIRE_CLASS_COUNT; class ++) {
		uint64_t settled = s->lost.settled[class];

		s->lost.settled[class] = given[class] > settled ? given[class] - settled : 0;
	}
	s->lost.settled[WIRE_CLASS_dns] += s->lost.names;
}

static void tell(struct session *s, const char *class, uint64_t count, uint64_t bytes)
{
	json_t *fields;

	if (!count && !bytes)
		return;
	fields = json_pack("{s:s, s:s}", "class", class, "reason", "recorder_lost");
	if (count)
		json_object_set_new(fields, "count", json_integer((json_int_t)count));
	if (bytes)
		json_object_set_new(fields, "size", json_integer((json_int_t)bytes));
	recorder_event(s->host->recorder, s->manifest.id, "gap", fields);
}

void session_loss_tell(struct session *s)
{
	for (int class = 0; class < WIRE_CLASS_COUNT; class ++)
		tell(s, event_class_names[class], s->lost.settled[class], 0);
	tell(s, event_class_names[EVENT_CLASS_output], 0,
	     s->lost.output_bytes + s->lost.input_bytes);
}
