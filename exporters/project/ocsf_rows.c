/*
 * Rows of OCSF, and the values that are neither a field nor a word.
 */
#include "ocsf_rows.h"
#include "trait.h"

#include "../../supervisor/record/printable.h"

#include <string.h>

/* A word of ours and the number that stands for it. */
struct word_number {
	const char *word;
	unsigned number;
};

static bool put_number_of(struct json_buffer *out, const struct event *e, uint16_t field,
			  const struct word_number *table, unsigned otherwise)
{
	for (; table->word; table++)
		if (event_says(e, field, table->word))
			break;
	json_put_u64(out, table->word ? table->number : otherwise);
	return true;
}

static bool put_file_type(struct json_buffer *out, const struct projected *p, uint16_t field)
{
	static const struct word_number types[] = {
		{"regular", 1}, {"directory", 2}, {"character", 3}, {"block", 4},
		{"socket", 5},	{"fifo", 6},	  {"symlink", 7},   {NULL},
	};

	(void)field;
	return put_number_of(out, p->event, FIELD_file_type, types, 0);
}

static bool put_rcode(struct json_buffer *out, const struct projected *p, uint16_t field)
{
	static const struct word_number codes[] = {
		{"NOERROR", 0}, {"FORMERR", 1}, {"SERVFAIL", 2}, {"NXDOMAIN", 3},
		{"NOTIMP", 4},	{"REFUSED", 5}, {"YXDOMAIN", 6}, {"YXRRSET", 7},
		{"NXRRSET", 8}, {"NOTAUTH", 9}, {"NOTZONE", 10}, {NULL},
	};

	return put_number_of(out, p->event, field, codes, 99);
}

static bool put_protocol_number(struct json_buffer *out, const struct projected *p, uint16_t field)
{
	static const struct word_number numbers[] = {
		{"tcp", 6}, {"udp", 17}, {"udplite", 136}, {"sctp", 132}, {"icmp", 1}, {NULL},
	};

	for (const struct word_number *n = numbers; n->word; n++)
		if (event_says(p->event, field, n->word)) {
			json_put_u64(out, n->number);
			return true;
		}
	return false;
}

/* Answers are "TYPE VALUE"; an object each. */
static bool put_answers(struct json_buffer *out, const struct projected *p, uint16_t field)
{
	struct bytes packed = event_bytes(p->event, field), item;
	size_t cursor = 0;
	bool first = true;

	json_put_literal(out, "[");
	while (bytes_next_item(packed, &cursor, &item)) {
		const char *blank = memchr(item.data, ' ', item.size);
		size_t type = blank ? (size_t)(blank - (const char *)item.data) : 0;

		json_put(out, ",", first ? 0 : 1);
		json_put_literal(out, "{");
		if (type) {
			json_put_literal(out, "\"type\":");
			json_put_string(out, (struct bytes){item.data, type});
			json_put_literal(out, ",");
		}
		json_put_literal(out, "\"rdata\":");
		json_put_string(out, (struct bytes){(const char *)item.data + type + (type > 0),
						    item.size - type - (type > 0)});
		json_put_literal(out, "}");
		first = false;
	}
	json_put_literal(out, "]");
	return !first;
}

static bool put_sha256(struct json_buffer *out, const struct projected *p, uint16_t field)
{
	struct bytes hash = event_bytes(p->event, field);

	if (!hash.size)
		return false;
	json_put_literal(out, "[{\"algorithm\":\"SHA-256\",\"algorithm_id\":3,\"value\":");
	json_put_string(out, hash);
	json_put_literal(out, "}]");
	return true;
}

static bool put_action(struct json_buffer *out, const struct projected *p, uint16_t field)
{
	static const struct word_number actions[] = {{"allow", 1}, {"deny", 2}, {NULL}};

	return put_number_of(out, p->event, field, actions, 0);
}

static bool put_session(struct json_buffer *out, const struct projected *p, uint16_t field)
{
	(void)field;
	return json_put_string(out, bytes_of(p->session));
}

/* clang-format off */
#define FIELD(path, name) {path, SHAPE_FIELD, FIELD_##name}
#define TEXT(path, name) {path, SHAPE_TEXT, FIELD_##name}
#define WORD(path, word) {path, SHAPE_WORD, .text = word}
#define NUMBER(path, digits) {path, SHAPE_JSON, .text = #digits}
#define CALL(path, function, name) {path, SHAPE_CALL, FIELD_##name, .call = function}
#define NONE FIELD_NONE

/* Who acted: goes on in the actor. */
#define ACTOR_PROCESS \
	FIELD("actor.process.uid", proc), FIELD("actor.process.pid", host_pid), \
	FIELD("actor.process.namespace_pid", pid)

#define PROCESS_HEAD \
	FIELD("process.uid", proc), FIELD("process.pid", host_pid), FIELD("process.namespace_pid", pid)

#define STATUS \
	TEXT("status_code", error), TEXT("status_detail", reason)

const struct shape_row ocsf_session_rows[] = {
	WORD("app.name", "vitrine session"), WORD("app.vendor_name", "vitrine"), FIELD("app.version", version_vitrine),
	STATUS, {0}};

const struct shape_row ocsf_fork_rows[] = {
	ACTOR_PROCESS,
	FIELD("process.uid", child_proc), FIELD("process.pid", child_host_pid),
	FIELD("process.namespace_pid", child_pid), FIELD("process.parent_process.uid", proc),
	FIELD("process.parent_process.pid", host_pid),
	NUMBER("launch_type_id", 2), {0}};

#define LAUNCHED \
	CALL("process.cmd_line", shape_put_command_line, argv), \
	FIELD("process.working_directory", cwd)

const struct shape_row ocsf_exec_rows[] = {
	FIELD("actor.process.uid", parent_proc),
	PROCESS_HEAD, LAUNCHED,
	CALL("process.file.name", shape_put_base_name, exe_path), FIELD("process.file.path", exe_path),
	{"process.file.type_id", SHAPE_CALL, FIELD_exe_path, .call = put_file_type},
	FIELD("process.parent_process.uid", parent_proc),
	TEXT("process.user.uid", uid),
	NUMBER("launch_type_id", 3), {0}};

const struct shape_row ocsf_exec_failed_rows[] = {
	ACTOR_PROCESS, PROCESS_HEAD, LAUNCHED, NUMBER("launch_type_id", 3), STATUS, {0}};

const struct shape_row ocsf_process_rows[] = {
	ACTOR_PROCESS, PROCESS_HEAD, TEXT("process.user.uid", uid), FIELD("exit_code", exit_code), STATUS, {0}};

#define FILE_OBJECT \
	ACTOR_PROCESS, \
	CALL("file.name", shape_put_base_name, path), FIELD("file.path", path), \
	CALL("file.type_id", put_file_type, path), TEXT("file.uid", ino), FIELD("file.size", size), \
	FIELD("file.is_deleted", deleted)

const struct shape_row ocsf_file_rows[] = {FILE_OBJECT, {0}};

const struct shape_row ocsf_file_final_rows[] = {
	FILE_OBJECT, CALL("file.hashes", put_sha256, sha256), {0}};

const struct shape_row ocsf_file_named_rows[] = {
	FILE_OBJECT,
	CALL("file_result.name", shape_put_base_name, new_path), FIELD("file_result.path", new_path),
	CALL("file_result.type_id", put_file_type, new_path), {0}};

/* The session is one end, whatever else is known. */
#define BY_SESSION CALL("src_endpoint.instance_uid", put_session, NONE), ENDPOINTS
#define TO_SESSION ENDPOINTS, CALL("dst_endpoint.instance_uid", put_session, NONE)
#define ENDPOINTS \
	FIELD("src_endpoint.ip", src_address), FIELD("src_endpoint.port", src_port), \
	FIELD("dst_endpoint.ip", dst_address), FIELD("dst_endpoint.port", dst_port)
#define CONNECTION(direction) \
	TEXT("connection_info.uid", socket), FIELD("connection_info.protocol_name", protocol), \
	CALL("connection_info.protocol_num", put_protocol_number, protocol), \
	NUMBER("connection_info.direction_id", direction)

const struct shape_row ocsf_outbound_rows[] = {
	ACTOR_PROCESS, BY_SESSION, FIELD("dst_endpoint.hostname", name), CONNECTION(2), STATUS, {0}};
const struct shape_row ocsf_inbound_rows[] = {ACTOR_PROCESS, TO_SESSION, CONNECTION(1), STATUS, {0}};
const struct shape_row ocsf_close_rows[] = {
	ACTOR_PROCESS, BY_SESSION, FIELD("dst_endpoint.hostname", name), CONNECTION(0),
	FIELD("traffic.bytes_in", bytes_received), FIELD("traffic.bytes_out", bytes_sent), STATUS, {0}};
const struct shape_row ocsf_unix_rows[] = {
	ACTOR_PROCESS, BY_SESSION, FIELD("dst_endpoint.name", unix_path), CONNECTION(0), STATUS, {0}};
const struct shape_row ocsf_tls_rows[] = {
	ACTOR_PROCESS, BY_SESSION, FIELD("dst_endpoint.hostname", server_name), CONNECTION(2), {0}};
const struct shape_row ocsf_verdict_rows[] = {
	ACTOR_PROCESS, BY_SESSION, FIELD("dst_endpoint.hostname", name), CONNECTION(2),
	CALL("action_id", put_action, verdict), CALL("disposition_id", put_action, verdict),
	FIELD("firewall_rule.name", rule), STATUS, {0}};

const struct shape_row ocsf_dns_rows[] = {
	ACTOR_PROCESS, BY_SESSION, CONNECTION(0),
	FIELD("query.hostname", name), FIELD("query.type", dns_type), FIELD("query.packet_uid", dns_id),
	CALL("answers", put_answers, answers), FIELD("rcode", rcode), CALL("rcode_id", put_rcode, rcode), {0}};

const struct shape_row ocsf_package_rows[] = {
	ACTOR_PROCESS, FIELD("app.name", name), FIELD("app.version", package_version),
	FIELD("app.vendor_name", manager), STATUS, {0}};

const struct shape_row ocsf_attempt_rows[] = {
	ACTOR_PROCESS, PROCESS_HEAD, NUMBER("action_id", 2), NUMBER("disposition_id", 2), STATUS, {0}};

const struct shape_row ocsf_limit_rows[] = {
	ACTOR_PROCESS, WORD("app.name", "vitrine session"), WORD("app.vendor_name", "vitrine"),
	FIELD("count", count), TEXT("status_code", limit), {0}};

const struct shape_row ocsf_stream_rows[] = {ACTOR_PROCESS, STATUS, {0}};
const struct shape_row ocsf_log_rows[] = {WORD("log_name", "vitrine session record"), STATUS, {0}};
const struct shape_row ocsf_gap_rows[] = {
	WORD("log_name", "vitrine session record"), FIELD("count", count), TEXT("status_code", reason), {0}};
const struct shape_row ocsf_redact_rows[] = {
	CALL("finding_info.uid", shape_put_uid, NONE), WORD("finding_info.title", "Redactions in a session's record"),
	FIELD("count", count), {0}};
/* clang-format on */
