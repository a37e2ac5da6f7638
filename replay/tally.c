/*
 * Counts.
 */
#include "tally.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int tally_new(struct tally **ret_tally)
{
	struct tally *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->names.map = keymap_new(TALLY_PEERS_MAX);
	t->addresses.map = keymap_new(TALLY_PEERS_MAX);
	if (!t->names.map || !t->addresses.map) {
		tally_free(t);
		return -ENOMEM;
	}
	*ret_tally = t;
	return 0;
}

static int peers_add(struct peers *p, struct bytes key)
{
	size_t number;
	int r = keymap_add(p->map, key, &number);

	if (r == 0)
		p->times[number]++;
	else if (r == -ENOSPC)
		p->others++;
	else
		return r;
	return 0;
}

/* "10.0.0.1:443", "[::1]:53". */
static int add_address(struct tally *t, const struct event *e)
{
	struct bytes address = event_bytes(e, FIELD_dst_address);
	const struct event_value *port = event_get(e, FIELD_dst_port);
	char text[160];
	bool is_v6;

	if (!address.data || address.size > 100)
		return 0;
	is_v6 = memchr(address.data, ':', address.size);
	snprintf(text, sizeof(text), "%s%.*s%s", is_v6 ? "[" : "", (int)address.size,
		 (const char *)address.data, is_v6 ? "]" : "");
	if (port)
		snprintf(text + strlen(text), 24, ":%" PRIu64, port->u64);
	return peers_add(&t->addresses, bytes_of(text));
}

static int add_peers(struct tally *t, const struct event *e)
{
	struct bytes name = {0};
	int r = 0;

	switch (e->kind) {
	case EVENT_net_connect:
	case EVENT_net_send:
		r = add_address(t, e);
		name = event_bytes(e, FIELD_name);
		break;
	case EVENT_dns_query:
	case EVENT_egress_verdict:
		name = event_bytes(e, FIELD_name);
		break;
	case EVENT_tls_hello:
		name = event_bytes(e, FIELD_server_name);
		break;
	default:
		break;
	}
	if (r == 0 && name.data)
		r = peers_add(&t->names, name);
	return r;
}

static void add_gap(struct tally *t, const struct event *e)
{
	struct bytes class = event_bytes(e, FIELD_class);
	uint64_t count = event_u64(e, FIELD_count, 0);

	for (size_t i = 0; i < EVENT_CLASS_COUNT; i++) {
		if (class.size == strlen(event_class_names[i]) &&
		    !memcmp(class.data, event_class_names[i], class.size)) {
			t->gap_counts[i] += count;
			return;
		}
	}
	t->gap_others += count;
}

static void add_marks(struct tally *t, const struct event *e)
{
	bool cut = false;

	for (size_t i = 0; i < e->count; i++) {
		const struct event_value *value = &e->values[i];

		cut |= value->is_cut;
		if (value->field == FIELD_redacted)
			t->redacted++;
		else if (value->field == FIELD_path_source &&
			 kind_table[e->kind].class == EVENT_CLASS_file && value->bytes.size == 4 &&
			 !memcmp(value->bytes.data, "args", 4))
			t->unproven_paths++;
	}
	t->cut += cut;
}

static void add_amounts(struct tally *t, const struct event *e)
{
	const struct event_value *result = event_get(e, FIELD_result);

	switch (e->kind) {
	case EVENT_net_connect:
		/* A connect that goes on in the background has not failed. */
		t->failed_connects += result && result->i64 < 0 && result->i64 != -EINPROGRESS;
		break;
	case EVENT_process_exit:
		t->failed_exits += event_u64(e, FIELD_exit_code, 0) || event_get(e, FIELD_signal);
		break;
	case EVENT_file_modify:
		t->bytes_written += event_u64(e, FIELD_bytes_written, 0);
		break;
	case EVENT_net_close:
		t->bytes_sent += event_u64(e, FIELD_bytes_sent, 0);
		t->bytes_received += event_u64(e, FIELD_bytes_received, 0);
		break;
	case EVENT_gap:
		add_gap(t, e);
		break;
	default:
		break;
	}
}

static void add_attacks(struct tally *t, const struct event *e)
{
	const struct attack_tag *tags[ATTACK_TAGS_MAX];
	size_t count = attack_tags(e, tags);

	for (size_t i = 0; i < count; i++) {
		size_t number = attack_rule_number(tags[i]);

		if (!t->attacks[number]++)
			t->attack_firsts[number] = e->seq;
	}
}

int tally_add(struct tally *t, const struct event *e)
{
	if (!t->records++)
		t->first_boot_ns = e->boot_ns;
	if (e->boot_ns > t->last_boot_ns)
		t->last_boot_ns = e->boot_ns;
	if (e->time_ns > t->last_time_ns)
		t->last_time_ns = e->time_ns;
	if (e->kind == EVENT_KIND_NONE || e->kind >= EVENT_KIND_COUNT) {
		t->unknown_kinds++;
		return 0;
	}
	t->kinds[e->kind]++;
	t->classes[kind_table[e->kind].class]++;
	add_marks(t, e);
	add_amounts(t, e);
	add_attacks(t, e);
	if (e->kind == EVENT_session_start)
		return kept_set(&t->start, e);
	if (e->kind == EVENT_session_end)
		return kept_set(&t->end, e);
	if (e->kind == EVENT_exec_start || e->kind == EVENT_exec_end)
		return given_add(&t->given, e);
	return add_peers(t, e);
}

bool tally_has_commands(const struct tally *t)
{
	const struct event *start = &t->start.event;
	bool has_own = start->kind && event_get(start, FIELD_command);

	return t->given.times > (has_own ? 1 : 0);
}

void tally_add_damage(struct tally *t)
{
	t->damages++;
}

void tally_free(struct tally *t)
{
	if (!t)
		return;
	keymap_free(t->names.map);
	keymap_free(t->addresses.map);
	kept_free(&t->start);
	kept_free(&t->end);
	given_free(&t->given);
	free(t);
}

static int by_times(const void *a, const void *b, void *of)
{
	const struct peers *p = of;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	if (p->times[x] != p->times[y])
		return p->times[x] < p->times[y] ? 1 : -1;
	return x < y ? -1 : x > y;
}

int peers_order(const struct peers *p, size_t **ret_order)
{
	size_t count = keymap_count(p->map);
	size_t *order = malloc((count + 1) * sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), by_times, (void *)p);
	*ret_order = order;
	return 0;
}
