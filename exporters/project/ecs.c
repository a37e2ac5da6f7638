/*
 * ECS 9.x: kind, categories, types and action for each kind of record, and the fields of its class.
 *
 * What ECS has no field for is in the object `vitrine`, in canonical form.
 */
#include "ecs.h"
#include "ecs_threat.h"
#include "shape.h"
#include "trait.h"

#include "../../supervisor/record/attack.h"

#include <errno.h>
#include <string.h>

#define ECS_VERSION "9.4.0"

struct ecs_row {
	const char *kind;	/* event.kind */
	const char *categories; /* JSON arrays */
	const char *types;
	const char *action;
	const struct shape_row *rows;
};

static bool put_args_count(struct json_buffer *out, const struct projected *p, uint16_t field)
{
	struct bytes packed = event_bytes(p->event, field), word;
	size_t cursor = 0;
	uint64_t count = 0;

	while (bytes_next_item(packed, &cursor, &word))
		count++;
	json_put_u64(out, count);
	return true;
}

static bool put_file_type(struct json_buffer *out, const struct projected *p, uint16_t field)
{
	static const char *const words[][2] = {
		{"regular", "file"}, {"directory", "dir"}, {"symlink", "symlink"}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (event_says(p->event, field, words[i][0]))
			return json_put_string(out,
					       (struct bytes){words[i][1], strlen(words[i][1])});
	return json_put_string(out, event_bytes(p->event, field));
}

static bool put_network_type(struct json_buffer *out, const struct projected *p, uint16_t field)
{
	if (event_says(p->event, field, "inet"))
		json_put_literal(out, "\"ipv4\"");
	else if (event_says(p->event, field, "inet6"))
		json_put_literal(out, "\"ipv6\"");
	else
		json_put_string(out, event_bytes(p->event, field));
	return true;
}

static bool put_dns_type(struct json_buffer *out, const struct projected *p, uint16_t field)
{
	(void)field;
	if (p->event->kind == EVENT_dns_query)
		json_put_literal(out, "\"query\"");
	else
		json_put_literal(out, "\"answer\"");
	return true;
}

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
		json_put_literal(out, "{\"type\":");
		json_put_string(out, (struct bytes){item.data, type});
		json_put_literal(out, ",\"data\":");
		json_put_string(out, (struct bytes){(const char *)item.data + type + (type > 0),
						    item.size - type - (type > 0)});
		json_put_literal(out, "}");
		first = false;
	}
	json_put_literal(out, "]");
	return !first;
}

/* clang-format off */
#define FIELD(path, name) {path, SHAPE_FIELD, FIELD_##name}
#define TEXT(path, name) {path, SHAPE_TEXT, FIELD_##name}
#define WORD(path, word) {path, SHAPE_WORD, .text = word}
#define CALL(path, function, name) {path, SHAPE_CALL, FIELD_##name, .call = function}

#define ACTOR FIELD("process.entity_id", proc), FIELD("process.pid", host_pid), FIELD("process.vpid", pid)
#define ERROR TEXT("error.code", error)

static const struct shape_row session_rows[] = {
	{"process.args", SHAPE_FIELD, FIELD_argv}, {"process.args", SHAPE_FIELD, FIELD_command},
	FIELD("process.exit_code", exit_code), FIELD("process.working_directory", cwd),
	TEXT("user.id", user_uid), FIELD("user.name", user_name), ERROR, {0}};
static const struct shape_row fork_rows[] = {
	FIELD("process.entity_id", child_proc), FIELD("process.pid", child_host_pid), FIELD("process.vpid", child_pid),
	FIELD("process.parent.entity_id", proc), FIELD("process.parent.pid", host_pid), FIELD("process.parent.vpid", pid),
	{0}};
static const struct shape_row process_rows[] = {
	ACTOR, FIELD("process.args", argv), CALL("process.args_count", put_args_count, argv),
	CALL("process.command_line", shape_put_command_line, argv), FIELD("process.executable", exe_path),
	CALL("process.name", shape_put_base_name, exe_path), FIELD("process.working_directory", cwd),
	FIELD("process.exit_code", exit_code), FIELD("process.parent.entity_id", parent_proc),
	FIELD("process.parent.vpid", ppid), TEXT("process.user.id", uid), TEXT("process.group.id", gid), ERROR, {0}};
#define FILE_FIELDS(path_field) \
	FIELD("file.path", path_field), CALL("file.name", shape_put_base_name, path_field), \
	TEXT("file.inode", ino), CALL("file.type", put_file_type, file_type), FIELD("file.size", size), \
	FIELD("file.target_path", target)
static const struct shape_row file_rows[] = {ACTOR, FILE_FIELDS(path), {0}};
static const struct shape_row file_final_rows[] = {
	FILE_FIELDS(path), FIELD("file.hash.sha256", sha256), TEXT("file.uid", uid), TEXT("file.gid", gid), {0}};
#define NETWORK \
	ACTOR, FIELD("source.ip", src_address), FIELD("source.port", src_port), FIELD("source.bytes", bytes_sent), \
	FIELD("destination.ip", dst_address), FIELD("destination.port", dst_port), \
	FIELD("destination.bytes", bytes_received)
#define TRANSPORT \
	CALL("network.type", put_network_type, family), FIELD("network.transport", protocol)
static const struct shape_row outbound_rows[] = {
	NETWORK, FIELD("destination.domain", name), TRANSPORT, WORD("network.direction", "egress"), ERROR, {0}};
static const struct shape_row inbound_rows[] = {NETWORK, TRANSPORT, WORD("network.direction", "ingress"), ERROR, {0}};
static const struct shape_row close_rows[] = {
	NETWORK, FIELD("destination.domain", name), TRANSPORT, ERROR, {0}};
static const struct shape_row dns_rows[] = {
	NETWORK, TRANSPORT, WORD("network.protocol", "dns"), TEXT("dns.id", dns_id), CALL("dns.type", put_dns_type, NONE),
	FIELD("dns.question.name", name), FIELD("dns.question.type", dns_type), CALL("dns.answers", put_answers, answers),
	FIELD("dns.response_code", rcode), {0}};
static const struct shape_row tls_rows[] = {
	NETWORK, FIELD("destination.domain", server_name), TRANSPORT, WORD("network.protocol", "tls"),
	FIELD("tls.client.server_name", server_name), {0}};
static const struct shape_row verdict_rows[] = {
	NETWORK, FIELD("destination.domain", name), TRANSPORT, WORD("network.direction", "egress"),
	FIELD("rule.name", rule), {0}};
static const struct shape_row package_rows[] = {
	ACTOR, FIELD("package.name", name), FIELD("package.version", package_version), FIELD("package.type", manager),
	FIELD("package.checksum", hash), {0}};
static const struct shape_row refused_rows[] = {ACTOR, ERROR, FIELD("rule.name", limit), {0}};
static const struct shape_row stream_rows[] = {FIELD("process.io.total_bytes_captured", size), {0}};
static const struct shape_row record_rows[] = {TEXT("user.id", user_uid), FIELD("user.name", user_name), {0}};
static const struct shape_row gap_rows[] = {TEXT("error.code", reason), WORD("error.message", "records are missing"), {0}};

#define KIND(name) [EVENT_##name]
#define SESSION "[\"session\"]"
#define PROCESS "[\"process\"]"
#define FILES "[\"file\"]"
#define NET "[\"network\"]"
#define CONFIG "[\"configuration\"]"
#define INFO "[\"info\"]"
#define START "[\"start\"]"
#define END "[\"end\"]"
#define CHANGE "[\"change\"]"

static const struct ecs_row ecs_table[EVENT_KIND_COUNT] = {
	KIND(session_start) = {"event", SESSION, START, "session-start", session_rows},
	KIND(session_ready) = {"event", SESSION, INFO, "session-ready", session_rows},
	KIND(session_pause) = {"event", SESSION, INFO, "session-pause", session_rows},
	KIND(session_resume) = {"event", SESSION, INFO, "session-resume", session_rows},
	KIND(session_end) = {"event", SESSION, END, "session-end", session_rows},
	KIND(exec_start) = {"event", SESSION, INFO, "command-start", session_rows},
	KIND(exec_end) = {"event", SESSION, INFO, "command-end", session_rows},
	KIND(process_fork) = {"event", PROCESS, START, "fork", fork_rows},
	KIND(process_exec) = {"event", PROCESS, START, "exec", process_rows},
	KIND(process_exec_failed) = {"event", PROCESS, INFO, "exec-failed", process_rows},
	KIND(process_exit) = {"event", PROCESS, END, "end", process_rows},
	KIND(process_cred) = {"event", PROCESS, CHANGE, "credentials-change", process_rows},
	KIND(process_cgroup) = {"event", PROCESS, CHANGE, "cgroup-change", process_rows},
	KIND(file_read) = {"event", FILES, "[\"access\"]", "read-open", file_rows},
	KIND(file_open) = {"event", FILES, "[\"access\"]", "open", file_rows},
	KIND(file_modify) = {"event", FILES, CHANGE, "modification", file_rows},
	KIND(file_create) = {"event", FILES, "[\"creation\"]", "creation", file_rows},
	KIND(file_delete) = {"event", FILES, "[\"deletion\"]", "deletion", file_rows},
	KIND(file_rename) = {"event", FILES, CHANGE, "rename", file_rows},
	KIND(file_link) = {"event", FILES, "[\"creation\"]", "link", file_rows},
	KIND(file_symlink) = {"event", FILES, "[\"creation\"]", "symlink", file_rows},
	KIND(file_mkdir) = {"event", FILES, "[\"creation\"]", "directory-creation", file_rows},
	KIND(file_rmdir) = {"event", FILES, "[\"deletion\"]", "directory-deletion", file_rows},
	KIND(file_attr) = {"event", FILES, CHANGE, "attributes", file_rows},
	KIND(file_truncate) = {"event", FILES, CHANGE, "truncate", file_rows},
	KIND(file_final) = {"event", FILES, CHANGE, "final", file_final_rows},
	KIND(file_mmap) = {"event", FILES, "[\"access\"]", "map", file_rows},
	KIND(net_connect) = {"event", NET, "[\"connection\",\"start\"]", "connection_attempted", outbound_rows},
	KIND(net_accept) = {"event", NET, "[\"connection\",\"start\"]", "connection_accepted", inbound_rows},
	KIND(net_bind) = {"event", NET, INFO, "bind", inbound_rows},
	KIND(net_listen) = {"event", NET, START, "listen", inbound_rows},
	KIND(net_send) = {"event", NET, INFO, "datagram-sent", outbound_rows},
	KIND(net_close) = {"event", NET, "[\"connection\",\"end\"]", "disconnect", close_rows},
	KIND(net_unix) = {"event", NET, INFO, "unix-socket", close_rows},
	KIND(dns_query) = {"event", NET, "[\"protocol\",\"start\"]", "dns-query", dns_rows},
	KIND(dns_answer) = {"event", NET, "[\"protocol\",\"end\"]", "dns-answer", dns_rows},
	KIND(tls_hello) = {"event", NET, "[\"protocol\"]", "tls-hello", tls_rows},
	KIND(egress_verdict) = {"event", NET, "[\"connection\"]", "egress-verdict", verdict_rows},
	KIND(package_install) = {"event", "[\"package\"]", "[\"installation\"]", "package-install", package_rows},
	KIND(attempt) = {"event", "[\"intrusion_detection\"]", "[\"denied\"]", "attempt", refused_rows},
	KIND(limit) = {"event", PROCESS, INFO, "limit", refused_rows},
	KIND(output) = {"event", PROCESS, INFO, "output", stream_rows},
	KIND(input) = {"event", PROCESS, INFO, "input", stream_rows},
	KIND(record_access) = {"event", CONFIG, "[\"access\"]", "record-access", record_rows},
	KIND(record_retention) = {"event", CONFIG, "[\"deletion\"]", "record-retention", record_rows},
	KIND(record_hold) = {"event", CONFIG, CHANGE, "record-hold", record_rows},
	KIND(redact_summary) = {"event", CONFIG, INFO, "redaction-summary", record_rows},
	KIND(gap) = {"pipeline_error", CONFIG, INFO, "records-lost", gap_rows},
	KIND(coverage) = {"event", CONFIG, CHANGE, "sensor-coverage", record_rows},
	KIND(clock) = {"event", "[\"host\"]", CHANGE, "clock-step", record_rows},
	KIND(checkpoint) = {"event", CONFIG, INFO, "record-signed", record_rows},
	KIND(secret_give) = {"event", CONFIG, "[\"creation\"]", "secret-given", record_rows},
	KIND(secret_expire) = {"event", CONFIG, "[\"deletion\"]", "secret-expired", record_rows},
};

static const struct shape_row head_rows[] = {
	{"@timestamp", SHAPE_CALL, .call = shape_put_time}, {"event.id", SHAPE_CALL, .call = shape_put_uid}, {0}};
/* clang-format on */

/* A verdict allows or denies; the table cannot know. */
static const char *types_of(const struct ecs_row *row, const struct event *e)
{
	if (e->kind != EVENT_egress_verdict)
		return row->types;
	if (event_says(e, FIELD_verdict, "allow"))
		return "[\"connection\",\"allowed\"]";
	return event_says(e, FIELD_verdict, "deny") ? "[\"connection\",\"denied\"]" : row->types;
}

static void put_event(struct shape *s, const struct ecs_row *row)
{
	static const char *const outcomes[] = {"unknown", "success", "failure"};
	const struct event *e = s->p->event;
	const struct shape_row rows[] = {
		{"event.category", SHAPE_JSON, .text = row->categories},
		{"event.type", SHAPE_JSON, .text = types_of(row, e)},
		{"event.reason", SHAPE_FIELD, FIELD_reason},
		{0},
	};

	shape_rows(s, head_rows);
	if (e->seq <= INT64_MAX)
		shape_u64(s, "event.sequence", e->seq);
	shape_word(s, "event.kind", row->kind);
	shape_rows(s, rows);
	shape_word(s, "event.action", row->action);
	shape_word(s, "event.code", kind_table[e->kind].name);
	shape_word(s, "event.outcome", outcomes[trait_outcome(e)]);
	shape_u64(s, "event.severity", (unsigned)trait_severity(e) + 1);
	shape_word(s, "event.provider", "vitrine");
	shape_word(s, "event.module", "vitrine");
	shape_word(s, "event.dataset", "vitrine.record");
}

static int write_ecs(struct json_buffer *out, const struct projected *p)
{
	const struct ecs_row *row = &ecs_table[p->event->kind];
	const struct attack_tag *tags[ATTACK_TAGS_MAX];
	size_t start = out->length;
	struct shape s;

	shape_begin(&s, out, p);
	put_event(&s, row);
	shape_word(&s, "ecs.version", ECS_VERSION);
	shape_word(&s, "message", trait_table[p->event->kind].title);
	if (p->facts->host[0])
		shape_word(&s, "host.name", p->facts->host);
	if (p->facts->boot_id[0])
		shape_word(&s, "host.boot.id", p->facts->boot_id);
	shape_word(&s, "container.id", p->session);
	if (p->facts->name[0])
		shape_word(&s, "container.name", p->facts->name);
	shape_word(&s, "labels.session_id", p->session);
	if (p->facts->tenant[0])
		shape_word(&s, "labels.tenant", p->facts->tenant);
	if (attack_tags(p->event, tags))
		shape_rows(&s, ecs_threat_rows);
	shape_rows(&s, row->rows);
	shape_rest(&s, "vitrine");
	return shape_end(&s, start);
}

const struct projection projection_ecs = {
	.name = "ecs",
	.doc = "Elastic Common Schema " ECS_VERSION,
	.write = write_ecs,
};

bool ecs_has_row(enum event_kind kind)
{
	return ecs_table[kind].action != NULL;
}
