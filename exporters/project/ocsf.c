/*
 * OCSF 1.8: a class and an activity for each kind, and the rows of its class.
 *
 * A record that lacks what its class requires goes out as a Base Event instead of one with a
 * guessed value. What the schema has no attribute for is in `unmapped`.
 */
#include "ocsf_rows.h"
#include "shape.h"
#include "trait.h"

#include "../../supervisor/record/attack.h"
#include "../../supervisor/record/printable.h"

#include <errno.h>
#include <string.h>

enum ocsf_class {
	OCSF_BASE = 0,
	OCSF_FILE = 1001,
	OCSF_PROCESS = 1007,
	OCSF_EVENT_LOG = 1008,
	OCSF_DATA_FINDING = 2006,
	OCSF_NETWORK = 4001,
	OCSF_DNS = 4003,
	OCSF_LIFECYCLE = 6002,
};

#define OTHER 99

struct ocsf_row {
	enum ocsf_class class;
	unsigned activity;
	const char *activity_name;    /* where activity is OTHER, and only there */
	const struct shape_row *rows; /* after those of every class */
	size_t needs;		      /* without this field: a Base Event */
};

/* clang-format off */
#define KIND(name) [EVENT_##name]
#define FILE_ROW(name, ...) KIND(file_##name) = {OCSF_FILE, __VA_ARGS__, .needs = FIELD_path}

static const struct ocsf_row ocsf_table[EVENT_KIND_COUNT] = {
	KIND(session_start) = {OCSF_LIFECYCLE, 3, .rows = ocsf_session_rows},
	KIND(session_ready) = {OCSF_LIFECYCLE, OTHER, "Ready", ocsf_session_rows},
	KIND(session_pause) = {OCSF_LIFECYCLE, OTHER, "Pause", ocsf_session_rows},
	KIND(session_resume) = {OCSF_LIFECYCLE, OTHER, "Resume", ocsf_session_rows},
	KIND(session_end) = {OCSF_LIFECYCLE, 4, .rows = ocsf_session_rows},
	KIND(exec_start) = {OCSF_LIFECYCLE, OTHER, "Command start", ocsf_session_rows},
	KIND(exec_end) = {OCSF_LIFECYCLE, OTHER, "Command end", ocsf_session_rows},

	KIND(process_fork) = {OCSF_PROCESS, 1, .rows = ocsf_fork_rows, .needs = FIELD_child_proc},
	KIND(process_exec) = {OCSF_PROCESS, 1, .rows = ocsf_exec_rows, .needs = FIELD_proc},
	KIND(process_exec_failed) = {OCSF_PROCESS, 1, .rows = ocsf_exec_failed_rows, .needs = FIELD_proc},
	KIND(process_exit) = {OCSF_PROCESS, 2, .rows = ocsf_process_rows, .needs = FIELD_proc},
	KIND(process_cred) = {OCSF_PROCESS, 5, .rows = ocsf_process_rows, .needs = FIELD_proc},
	KIND(process_cgroup) = {OCSF_PROCESS, OTHER, "Move to cgroup", ocsf_process_rows, FIELD_proc},

	FILE_ROW(read, 2, .rows = ocsf_file_rows),
	FILE_ROW(open, 14, .rows = ocsf_file_rows),
	FILE_ROW(modify, 3, .rows = ocsf_file_rows),
	FILE_ROW(create, 1, .rows = ocsf_file_rows),
	FILE_ROW(delete, 4, .rows = ocsf_file_rows),
	FILE_ROW(rename, 5, .rows = ocsf_file_named_rows),
	FILE_ROW(link, 1, .rows = ocsf_file_named_rows),
	FILE_ROW(symlink, 1, .rows = ocsf_file_rows),
	FILE_ROW(mkdir, 1, .rows = ocsf_file_rows),
	FILE_ROW(rmdir, 4, .rows = ocsf_file_rows),
	FILE_ROW(attr, 6, .rows = ocsf_file_rows),
	FILE_ROW(truncate, 3, .rows = ocsf_file_rows),
	FILE_ROW(final, 3, .rows = ocsf_file_final_rows),
	FILE_ROW(mmap, OTHER, "Map", ocsf_file_rows),

	KIND(net_connect) = {OCSF_NETWORK, 1, .rows = ocsf_outbound_rows},
	KIND(net_accept) = {OCSF_NETWORK, 1, .rows = ocsf_inbound_rows},
	KIND(net_bind) = {OCSF_NETWORK, OTHER, "Bind", ocsf_inbound_rows},
	KIND(net_listen) = {OCSF_NETWORK, 7, .rows = ocsf_inbound_rows},
	KIND(net_send) = {OCSF_NETWORK, 6, .rows = ocsf_outbound_rows},
	KIND(net_close) = {OCSF_NETWORK, 2, .rows = ocsf_close_rows},
	KIND(net_unix) = {OCSF_NETWORK, OTHER, "Unix socket", ocsf_unix_rows},
	KIND(tls_hello) = {OCSF_NETWORK, 6, .rows = ocsf_tls_rows},
	KIND(egress_verdict) = {OCSF_NETWORK, OTHER, "Verdict", ocsf_verdict_rows},

	KIND(dns_query) = {OCSF_DNS, 1, .rows = ocsf_dns_rows},
	KIND(dns_answer) = {OCSF_DNS, 2, .rows = ocsf_dns_rows},

	KIND(package_install) = {OCSF_LIFECYCLE, 1, .rows = ocsf_package_rows, .needs = FIELD_name},
	KIND(attempt) = {OCSF_PROCESS, OTHER, "Attempt", ocsf_attempt_rows, FIELD_proc},
	KIND(limit) = {OCSF_LIFECYCLE, OTHER, "Limit", ocsf_limit_rows},
	KIND(output) = {OCSF_BASE, OTHER, "Output", ocsf_stream_rows},
	KIND(input) = {OCSF_BASE, OTHER, "Input", ocsf_stream_rows},

	KIND(record_access) = {OCSF_EVENT_LOG, OTHER, "Access", ocsf_log_rows},
	KIND(record_retention) = {OCSF_EVENT_LOG, 2, .rows = ocsf_log_rows},
	KIND(record_hold) = {OCSF_EVENT_LOG, OTHER, "Hold", ocsf_log_rows},
	KIND(redact_summary) = {OCSF_DATA_FINDING, 1, .rows = ocsf_redact_rows},
	KIND(gap) = {OCSF_EVENT_LOG, OTHER, "Lost", ocsf_gap_rows},
	KIND(coverage) = {OCSF_EVENT_LOG, OTHER, "Coverage", ocsf_log_rows},
	KIND(clock) = {OCSF_EVENT_LOG, OTHER, "Clock step", ocsf_log_rows},
	KIND(checkpoint) = {OCSF_EVENT_LOG, OTHER, "Checkpoint", ocsf_log_rows},
	KIND(secret_give) = {OCSF_EVENT_LOG, OTHER, "Secret given", ocsf_log_rows},
	KIND(secret_expire) = {OCSF_EVENT_LOG, OTHER, "Secret expired", ocsf_log_rows},
};
/* clang-format on */

static const struct ocsf_row ocsf_base_row = {OCSF_BASE, OTHER, NULL, ocsf_stream_rows};

/* What the record's own values make of the activity: a connection that failed was not opened. */
static unsigned activity_of(const struct ocsf_row *row, const struct event *e)
{
	const struct event_value *result = event_get(e, FIELD_result);

	if (e->kind == EVENT_file_final && event_says(e, FIELD_change, "created"))
		return 1;
	if (e->kind == EVENT_file_final && event_says(e, FIELD_change, "deleted"))
		return 4;
	if (e->kind == EVENT_file_final && event_says(e, FIELD_change, "attributes"))
		return 6;
	if (e->kind == EVENT_egress_verdict && event_says(e, FIELD_verdict, "allow"))
		return 1;
	if (e->kind == EVENT_egress_verdict && event_says(e, FIELD_verdict, "deny"))
		return 5;
	if (e->kind == EVENT_coverage && event_says(e, FIELD_state, "gained"))
		return 9;
	if (e->kind == EVENT_coverage && event_says(e, FIELD_state, "lost"))
		return 10;
	/* A connect that goes on in the background is no failure yet. */
	if (e->kind == EVENT_net_connect && result && result->i64 < 0 &&
	    result->i64 != -EINPROGRESS)
		return result->i64 == -ECONNREFUSED ? 5 : 4;
	return row->activity;
}

static void put_class(struct shape *s, const struct ocsf_row *row)
{
	const struct event *e = s->p->event;
	unsigned activity = activity_of(row, e);
	enum outcome outcome = trait_outcome(e);

	shape_u64(s, "activity_id", activity);
	if (activity == OTHER)
		shape_word(s, "activity_name",
			   row->activity_name ? row->activity_name : kind_table[e->kind].name);
	shape_u64(s, "category_uid", row->class / 1000);
	shape_u64(s, "class_uid", row->class);
	shape_u64(s, "type_uid", row->class * 100 + activity);
	shape_u64(s, "time", e->time_ns / 1000000);
	shape_u64(s, "severity_id", (unsigned)trait_severity(e) + 1);
	if (outcome != OUTCOME_UNKNOWN)
		shape_u64(s, "status_id", outcome == OUTCOME_SUCCESS ? 1 : 2);
	shape_word(s, "message", trait_table[e->kind].title);
}

static bool is_cut_somewhere(const struct event *e)
{
	for (size_t i = 0; i < e->count; i++)
		if (e->values[i].is_cut)
			return true;
	return false;
}

static bool has_control(const struct event *e)
{
	return e->kind == EVENT_egress_verdict || e->kind == EVENT_attempt;
}

static const char *profiles_of(const struct event *e, enum ocsf_class class, bool is_tagged)
{
	if (has_control(e) || is_tagged)
		return class == OCSF_BASE ? "[\"host\",\"container\"]"
					  : "[\"host\",\"container\",\"security_control\"]";
	return "[\"host\",\"container\"]";
}

static void put_technique(struct json_buffer *out, const struct attack_tag *tag)
{
	json_put_literal(out, ",\"technique\":{\"uid\":");
	json_put_string(out, (struct bytes){tag->technique, strcspn(tag->technique, ".")});
	json_put_literal(out, ",\"name\":");
	json_put_string(out, bytes_of(tag->parent ? tag->parent : tag->name));
	json_put_literal(out, "}");
	if (!tag->parent)
		return;
	json_put_literal(out, ",\"sub_technique\":{\"uid\":");
	json_put_string(out, bytes_of(tag->technique));
	json_put_literal(out, ",\"name\":");
	json_put_string(out, bytes_of(tag->name));
	json_put_literal(out, "}");
}

static bool put_attacks(struct json_buffer *out, const struct projected *p, uint16_t field)
{
	const struct attack_tag *tags[ATTACK_TAGS_MAX];
	size_t count = attack_tags(p->event, tags);

	(void)field;
	for (size_t i = 0; i < count; i++) {
		json_put(out, i ? "," : "[", 1);
		json_put_literal(out, "{\"version\":\"" ATTACK_VERSION "\",\"tactic\":{\"uid\":");
		json_put_string(out, bytes_of(tags[i]->tactic));
		json_put_literal(out, ",\"name\":");
		json_put_string(out, bytes_of(tags[i]->tactic_name));
		json_put_literal(out, "}");
		put_technique(out, tags[i]);
		json_put_literal(out, "}");
	}
	json_put_literal(out, "]");
	return count > 0;
}

/* Tags are of the profile for controls, which wants to know what was done: we only looked. */
static void put_tags(struct shape *s, const struct ocsf_row *row)
{
	if (row->class == OCSF_BASE)
		return;
	shape_rows(s,
		   (const struct shape_row[]){{"attacks", SHAPE_CALL, .call = put_attacks}, {0}});
	if (!has_control(s->p->event))
		shape_u64(s, "action_id", 3);
}

static void put_envelope(struct shape *s, const struct ocsf_row *row, bool is_tagged)
{
	const struct session_facts *facts = s->p->facts;
	const struct event *e = s->p->event;
	const struct shape_row profiles[] = {
		{"metadata.profiles", SHAPE_JSON, .text = profiles_of(e, row->class, is_tagged)},
		{0},
	};

	shape_word(s, "metadata.version", "1.8.0");
	shape_rows(s, (const struct shape_row[]){
			      {"metadata.uid", SHAPE_CALL, .call = shape_put_uid}, {0}});
	if (e->seq <= INT64_MAX)
		shape_u64(s, "metadata.sequence", e->seq);
	shape_word(s, "metadata.correlation_uid", s->p->session);
	shape_word(s, "metadata.event_code", kind_table[e->kind].name);
	shape_word(s, "metadata.log_name", "vitrine");
	shape_word(s, "metadata.product.name", "vitrine");
	shape_word(s, "metadata.product.vendor_name", "vitrine");
	if (facts->version[0])
		shape_word(s, "metadata.product.version", facts->version);
	shape_rows(s, profiles);
	if (is_cut_somewhere(e))
		shape_rows(s, (const struct shape_row[]){
				      {"metadata.is_truncated", SHAPE_JSON, .text = "true"}, {0}});

	/* Unknown is what a sandbox is among desktops and servers. */
	shape_u64(s, "device.type_id", 0);
	shape_word(s, "device.instance_uid", s->p->session);
	if (facts->host[0])
		shape_word(s, "device.hostname", facts->host);
	if (facts->boot_id[0])
		shape_word(s, "device.boot_uid", facts->boot_id);
	shape_word(s, "actor.session.uid", s->p->session);
}

static const struct ocsf_row *row_of(const struct event *e)
{
	const struct ocsf_row *row = &ocsf_table[e->kind];
	bool is_dns = row->class == OCSF_DNS;

	/* An endpoint or a question without a name is none. */
	if ((row->needs && !event_get(e, row->needs)) || (is_dns && !event_get(e, FIELD_name)))
		return &ocsf_base_row;
	return row;
}

static int write_ocsf(struct json_buffer *out, const struct projected *p)
{
	const struct ocsf_row *row = row_of(p->event);
	size_t start = out->length;
	const struct attack_tag *tags[ATTACK_TAGS_MAX];
	bool is_tagged = attack_tags(p->event, tags) > 0;
	struct shape s;

	shape_begin(&s, out, p);
	put_class(&s, row);
	if (is_tagged)
		put_tags(&s, row);
	put_envelope(&s, row, is_tagged);
	shape_rows(&s, row->rows);
	shape_rest(&s, "unmapped");
	return shape_end(&s, start);
}

const struct projection projection_ocsf = {
	.name = "ocsf",
	.doc = "OCSF 1.8",
	.write = write_ocsf,
};

bool ocsf_has_row(enum event_kind kind)
{
	return ocsf_table[kind].rows != NULL;
}
