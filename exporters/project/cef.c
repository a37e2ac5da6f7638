/*
 * CEF 0: header and extension on one line.
 *
 * Everything that is not printable leaves as \\uNNNN (a backslash that CEF reads as one), so that
 * no value can end a line or a field. What the dictionary has no key for is in cs6, as canonical
 * JSON.
 */
#include "cef.h"
#include "projection.h"
#include "trait.h"

#include "../../supervisor/record/json_put.h"
#include "../../supervisor/record/printable.h"

#include <string.h>

/* clang-format off */
#define KIND(name, text) [EVENT_##name] = text
/* deviceEventCategory, by kind; the signature id is the kind's own name. */
static const char *const cef_table[EVENT_KIND_COUNT] = {
	KIND(session_start, "session"), KIND(session_ready, "session"), KIND(session_pause, "session"),
	KIND(session_resume, "session"), KIND(session_end, "session"), KIND(exec_start, "session"),
	KIND(exec_end, "session"), KIND(process_fork, "process"), KIND(process_exec, "process"),
	KIND(process_exec_failed, "process"), KIND(process_exit, "process"), KIND(process_cred, "process"),
	KIND(process_cgroup, "process"), KIND(file_read, "file"), KIND(file_open, "file"), KIND(file_modify, "file"),
	KIND(file_create, "file"), KIND(file_delete, "file"), KIND(file_rename, "file"), KIND(file_link, "file"),
	KIND(file_symlink, "file"), KIND(file_mkdir, "file"), KIND(file_rmdir, "file"), KIND(file_attr, "file"),
	KIND(file_truncate, "file"), KIND(file_mmap, "file"), KIND(net_connect, "network"), KIND(net_accept, "network"),
	KIND(net_bind, "network"), KIND(net_listen, "network"), KIND(net_send, "network"), KIND(net_close, "network"),
	KIND(net_unix, "network"), KIND(dns_query, "dns"), KIND(dns_answer, "dns"), KIND(tls_hello, "network"),
	KIND(egress_verdict, "policy"), KIND(package_install, "policy"), KIND(attempt, "policy"), KIND(limit, "policy"),
	KIND(output, "stream"), KIND(input, "stream"), KIND(record_access, "record"), KIND(record_retention, "record"),
	KIND(record_hold, "record"), KIND(redact_summary, "record"), KIND(gap, "record"), KIND(coverage, "record"),
	KIND(clock, "record"), KIND(checkpoint, "record"),
	KIND(secret_give, "secret"), KIND(secret_expire, "secret"),
	KIND(file_final, "file"),
};

static const struct {
	const char *key;
	uint16_t field;
	const char *label; /* of a custom string */
} keys[] = {
	{"spid", FIELD_host_pid}, {"sproc", FIELD_exe_path}, {"suid", FIELD_uid}, {"filePath", FIELD_path},
	{"fileId", FIELD_ino}, {"fsize", FIELD_size}, {"src", FIELD_src_address}, {"spt", FIELD_src_port},
	{"dst", FIELD_dst_address}, {"dpt", FIELD_dst_port}, {"dhost", FIELD_name}, {"proto", FIELD_protocol},
	{"in", FIELD_bytes_received}, {"out", FIELD_bytes_sent}, {"act", FIELD_verdict}, {"reason", FIELD_reason},
	{"cnt", FIELD_count}, {"cs2", FIELD_proc, "proc"}, {"cs3", FIELD_rule, "rule"},
	{"fileHash", FIELD_sha256}, {"oldFileHash", FIELD_sha256_before}, {"oldFileSize", FIELD_size_before},
	{"cs4", FIELD_new_path, "newPath"}, {"cs5", FIELD_server_name, "serverName"},
};
/* clang-format on */

/* @special: what a backslash has to stand before: in the header '|', in the extension '='. */
static void put_code(struct json_buffer *out, int32_t code, char special)
{
	char text[16];
	int length;

	if (code == '\\' || code == special) {
		json_put(out, (char[]){'\\', (char)code}, 2);
		return;
	}
	if (code == '"') {
		json_put_literal(out, "\"");
		return;
	}
	if (code >= 0 && printable_code(code)) {
		json_put_code(out, code);
		return;
	}
	length = snprintf(text, sizeof(text), "\\\\u%04x", (unsigned)(code < 0 ? 0xfffd : code));
	json_put(out, text, (size_t)length);
}

/* How many bytes from @at on stand for themselves: most do. */
static size_t plain_length(struct bytes text, size_t at, char special)
{
	const char *data = text.data;
	size_t end = at;

	while (end < text.size && data[end] >= 0x20 && data[end] < 0x7f && data[end] != '\\' &&
	       data[end] != special)
		end++;
	return end - at;
}

/* False if @text was not UTF-8. */
static bool put_escaped(struct json_buffer *out, struct bytes text, char special)
{
	bool is_whole = true;

	for (size_t cursor = 0; cursor < text.size;) {
		size_t plain = plain_length(text, cursor, special);
		int32_t code;

		json_put(out, (const char *)text.data + cursor, plain);
		cursor += plain;
		if (cursor == text.size)
			break;
		code = utf8_next(text, &cursor);
		is_whole &= code >= 0;
		put_code(out, code, special);
	}
	return is_whole;
}

static bool put_text(struct json_buffer *out, struct bytes text)
{
	return put_escaped(out, text, '=');
}

static void put_word(struct json_buffer *out, const char *key, const char *text)
{
	json_put(out, key, strlen(key));
	json_put_literal(out, "=");
	put_text(out, bytes_of(text));
	json_put_literal(out, " ");
}

static void put_number(struct json_buffer *out, const char *key, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	put_word(out, key, text);
}

static void put_labelled(struct json_buffer *out, const char *key, const char *label)
{
	char text[16];

	snprintf(text, sizeof(text), "%sLabel", key);
	put_word(out, text, label);
}

/* Write the keys of the dictionary, and put the other values into @rest. */
static void put_fields(struct json_buffer *out, const struct event *e, struct event *rest)
{
	uint64_t carried[EVENT_FIELD_WORDS] = {0};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct event_value *value = event_get(e, keys[i].field);
		uint16_t field = keys[i].field;
		bool is_whole = true;

		if (!value)
			continue;
		if (keys[i].label)
			put_labelled(out, keys[i].key, keys[i].label);
		if (field_table[field].type == FIELD_TYPE_U64) {
			put_number(out, keys[i].key, value->u64);
		} else {
			json_put(out, keys[i].key, strlen(keys[i].key));
			json_put_literal(out, "=");
			is_whole = put_text(out, value->bytes);
			json_put_literal(out, " ");
		}
		if (is_whole && !value->is_cut)
			carried[field / 64] |= UINT64_C(1) << field % 64;
	}
	for (size_t i = 0; i < e->count; i++) {
		uint16_t field = e->values[i].field;

		if (!(carried[field / 64] >> field % 64 & 1))
			event_put_value(rest, &e->values[i]);
	}
}

static void put_head(struct json_buffer *out, const struct projected *p)
{
	static const char severities[SEVERITY_COUNT][4] = {"1", "3", "6", "8"};
	const struct event *e = p->event;

	json_put_literal(out, "CEF:0|vitrine|vitrine|");
	put_escaped(out, bytes_of(p->facts->version[0] ? p->facts->version : "0"), '|');
	json_put_literal(out, "|");
	put_escaped(out, bytes_of(kind_table[e->kind].name), '|');
	json_put_literal(out, "|");
	put_escaped(out, bytes_of(trait_table[e->kind].title), '|');
	json_put_literal(out, "|");
	json_put(out, severities[trait_severity(e)], 1);
	json_put_literal(out, "|");
}

static int write_cef(struct json_buffer *out, const struct projected *p)
{
	static const char *const outcomes[] = {NULL, "success", "failure"};
	const struct event *e = p->event;
	size_t start = out->length;
	struct event rest;
	char uid[PROJECTED_UID_ROOM];
	int r;

	put_head(out, p);
	put_number(out, "rt", e->time_ns / 1000000);
	projected_uid(p, uid);
	put_word(out, "externalId", uid);
	put_word(out, "cat", cef_table[e->kind]);
	if (p->facts->host[0])
		put_word(out, "dvchost", p->facts->host);
	if (outcomes[trait_outcome(e)])
		put_word(out, "outcome", outcomes[trait_outcome(e)]);
	put_labelled(out, "cs1", "session");
	put_word(out, "cs1", p->session);
	event_init(&rest, e->kind, e->time_ns, e->boot_ns);
	rest.seq = e->seq;
	put_fields(out, e, &rest);

	p->scratch->length = 0;
	r = json_write_event(p->scratch, p->session, &rest);
	put_labelled(out, "cs6", "record");
	json_put_literal(out, "cs6=");
	if (r == 0)
		put_text(out, (struct bytes){p->scratch->text, p->scratch->length - 1});
	json_put_literal(out, "\n");
	out->failed |= r < 0;
	return json_done(out, start);
}

const struct projection projection_cef = {
	.name = "cef",
	.doc = "ArcSight Common Event Format",
	.write = write_cef,
};

bool cef_has_row(enum event_kind kind)
{
	return cef_table[kind] != NULL;
}
