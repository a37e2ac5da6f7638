/*
 * OTLP logs in JSON: one ExportLogsServiceRequest a line, which is what collectors read from files;
 * the sink joins the lines of a batch to one request.
 *
 * The body is the canonical record, whole; attributes repeat what is filtered by, under the names
 * of the semantic conventions where there is one.
 */
#include "otlp.h"
#include "projection.h"
#include "trait.h"

#include "../../supervisor/record/json_put.h"
#include "../../supervisor/record/printable.h"

#include <string.h>

/* clang-format off */
#define KIND(name, text) [EVENT_##name] = "vitrine." text
/* eventName, by kind. */
static const char *const otlp_table[EVENT_KIND_COUNT] = {
	KIND(session_start, "session.start"), KIND(session_ready, "session.ready"), KIND(session_pause, "session.pause"),
	KIND(session_resume, "session.resume"), KIND(session_end, "session.end"), KIND(exec_start, "exec.start"),
	KIND(exec_end, "exec.end"), KIND(process_fork, "process.fork"), KIND(process_exec, "process.exec"),
	KIND(process_exec_failed, "process.exec_failed"), KIND(process_exit, "process.exit"),
	KIND(process_cred, "process.cred"), KIND(process_cgroup, "process.cgroup"), KIND(file_read, "file.read"),
	KIND(file_open, "file.open"), KIND(file_modify, "file.modify"), KIND(file_create, "file.create"),
	KIND(file_delete, "file.delete"), KIND(file_rename, "file.rename"), KIND(file_link, "file.link"),
	KIND(file_symlink, "file.symlink"), KIND(file_mkdir, "file.mkdir"), KIND(file_rmdir, "file.rmdir"),
	KIND(file_attr, "file.attr"), KIND(file_truncate, "file.truncate"), KIND(file_mmap, "file.mmap"),
	KIND(net_connect, "net.connect"), KIND(net_accept, "net.accept"), KIND(net_bind, "net.bind"),
	KIND(net_listen, "net.listen"), KIND(net_send, "net.send"), KIND(net_close, "net.close"),
	KIND(net_unix, "net.unix"), KIND(dns_query, "dns.query"), KIND(dns_answer, "dns.answer"),
	KIND(tls_hello, "tls.hello"), KIND(egress_verdict, "egress.verdict"), KIND(package_install, "package.install"),
	KIND(attempt, "attempt"), KIND(limit, "limit"), KIND(output, "output"), KIND(input, "input"),
	KIND(record_access, "record.access"), KIND(record_retention, "record.retention"), KIND(record_hold, "record.hold"),
	KIND(redact_summary, "redact.summary"), KIND(gap, "gap"), KIND(coverage, "coverage"), KIND(clock, "clock"),
	KIND(checkpoint, "checkpoint"),
	KIND(secret_give, "secret.give"), KIND(secret_expire, "secret.expire"),
	KIND(file_final, "file.final"),
};

static const struct {
	const char *key;
	uint16_t field;
} attributes[] = {
	{"vitrine.exec", FIELD_exec}, {"vitrine.proc", FIELD_proc}, {"process.pid", FIELD_host_pid},
	{"process.vpid", FIELD_pid}, {"process.command_args", FIELD_argv}, {"process.executable.path", FIELD_exe_path},
	{"process.working_directory", FIELD_cwd}, {"vitrine.parent_proc", FIELD_parent_proc},
	{"process.exit.code", FIELD_exit_code}, {"vitrine.signal", FIELD_signal}, {"process.user.id", FIELD_uid},
	{"file.path", FIELD_path}, {"file.inode", FIELD_ino}, {"vitrine.new_path", FIELD_new_path},
	{"network.transport", FIELD_protocol}, {"network.type", FIELD_family}, {"network.local.address", FIELD_src_address},
	{"network.local.port", FIELD_src_port}, {"network.peer.address", FIELD_dst_address},
	{"network.peer.port", FIELD_dst_port}, {"vitrine.name", FIELD_name}, {"tls.client.server_name", FIELD_server_name},
	{"vitrine.verdict", FIELD_verdict}, {"vitrine.rule", FIELD_rule}, {"vitrine.limit", FIELD_limit},
	{"vitrine.reason", FIELD_reason}, {"error.type", FIELD_error}, {"vitrine.stream", FIELD_stream},
	{"vitrine.count", FIELD_count}, {"vitrine.change", FIELD_change}, {"vitrine.sha256", FIELD_sha256},
	{"vitrine.sha256_before", FIELD_sha256_before},
};
/* clang-format on */

static void put_quoted_u64(struct json_buffer *out, uint64_t number)
{
	char text[24];
	int length = snprintf(text, sizeof(text), "\"%llu\"", (unsigned long long)number);

	json_put(out, text, (size_t)length);
}

static void put_key(struct json_buffer *out, const char *key, bool *first)
{
	json_put(out, ",", *first ? 0 : 1);
	*first = false;
	json_put_literal(out, "{\"key\":");
	json_put_string(out, bytes_of(key));
	json_put_literal(out, ",\"value\":{");
}

static void put_text_attribute(struct json_buffer *out, const char *key, struct bytes text,
			       bool *first)
{
	put_key(out, key, first);
	json_put_literal(out, "\"stringValue\":");
	json_put_string(out, text);
	json_put_literal(out, "}}");
}

static void put_items(struct json_buffer *out, struct bytes packed)
{
	struct bytes item;
	size_t cursor = 0;

	json_put_literal(out, "\"arrayValue\":{\"values\":[");
	while (bytes_next_item(packed, &cursor, &item)) {
		json_put_literal(out, "{\"stringValue\":");
		json_put_string(out, item);
		json_put_literal(out, "}");
		if (cursor < packed.size)
			json_put_literal(out, ",");
	}
	json_put_literal(out, "]}");
}

static void put_attribute(struct json_buffer *out, const char *key, const struct event_value *value,
			  bool *first)
{
	enum field_type type = field_table[value->field].type;

	if (type == FIELD_TYPE_TEXT) {
		put_text_attribute(out, key, value->bytes, first);
		return;
	}
	if (type == FIELD_TYPE_U64 && value->u64 > INT64_MAX)
		return; /* OTLP's integers are signed; the body has it */
	put_key(out, key, first);
	if (type == FIELD_TYPE_U64) {
		json_put_literal(out, "\"intValue\":");
		put_quoted_u64(out, value->u64);
	} else {
		put_items(out, value->bytes);
	}
	json_put_literal(out, "}}");
}

static void put_resource(struct json_buffer *out, const struct projected *p)
{
	bool first = true;

	json_put_literal(out, "\"resource\":{\"attributes\":[");
	put_text_attribute(out, "service.name", bytes_of("vitrine"), &first);
	put_text_attribute(out, "service.instance.id", bytes_of(p->session), &first);
	if (p->facts->version[0])
		put_text_attribute(out, "service.version", bytes_of(p->facts->version), &first);
	if (p->facts->host[0])
		put_text_attribute(out, "host.name", bytes_of(p->facts->host), &first);
	json_put_literal(out, "]}");
}

static void put_attributes(struct json_buffer *out, const struct projected *p)
{
	const struct event *e = p->event;
	char uid[PROJECTED_UID_ROOM];
	bool first = true;

	projected_uid(p, uid);
	json_put_literal(out, "\"attributes\":[");
	put_text_attribute(out, "log.record.uid", bytes_of(uid), &first);
	put_text_attribute(out, "session.id", bytes_of(p->session), &first);
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		const struct event_value *value = event_get(e, attributes[i].field);

		if (value)
			put_attribute(out, attributes[i].key, value, &first);
	}
	json_put_literal(out, "]");
}

/* The canonical line as a string. */
static int put_body(struct json_buffer *out, const struct projected *p)
{
	int r;

	p->scratch->length = 0;
	r = json_write_event(p->scratch, p->session, p->event);
	if (r < 0)
		return r;
	json_put_literal(out, "\"body\":{\"stringValue\":");
	json_put_string(out, (struct bytes){p->scratch->text, p->scratch->length - 1});
	json_put_literal(out, "}");
	return 0;
}

static int write_otlp(struct json_buffer *out, const struct projected *p)
{
	static const struct {
		const char *text;
		unsigned number;
	} severities[] = {{"INFO", 9}, {"INFO2", 10}, {"WARN", 13}, {"ERROR", 17}};
	enum severity severity = trait_severity(p->event);
	size_t start = out->length;
	int r;

	json_put_literal(out, OTLP_HEAD "{");
	put_resource(out, p);
	json_put_literal(out, ",\"scopeLogs\":[{\"scope\":{\"name\":\"vitrine\"},\"logRecords\":[{"
			      "\"timeUnixNano\":");
	put_quoted_u64(out, p->event->time_ns);
	json_put_literal(out, ",\"observedTimeUnixNano\":");
	put_quoted_u64(out, p->event->time_ns);
	json_put_literal(out, ",\"severityNumber\":");
	json_put_u64(out, severities[severity].number);
	json_put_literal(out, ",\"severityText\":");
	json_put_string(out, bytes_of(severities[severity].text));
	json_put_literal(out, ",\"eventName\":");
	json_put_string(out, bytes_of(otlp_table[p->event->kind]));
	json_put_literal(out, ",");
	r = put_body(out, p);
	json_put_literal(out, ",");
	put_attributes(out, p);
	json_put_literal(out, "}]}]}" OTLP_TAIL "\n");
	if (r < 0)
		out->failed = true;
	return json_done(out, start);
}

const struct projection projection_otlp = {
	.name = "otlp",
	.doc = "OpenTelemetry logs, OTLP JSON",
	.write = write_otlp,
};

bool otlp_has_row(enum event_kind kind)
{
	return otlp_table[kind] != NULL;
}
