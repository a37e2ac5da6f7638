/*
 * vitrine-export: follows all journals and ships their records to files, syslog and SIEMs.
 */
#include "export_config.h"
#include "export_schema.h"
#include "exporter.h"
#include "status.h"

#include "../supervisor/record/command.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CONFIG "/etc/vitrine/export.json"

struct export_options {
	const char *config;
	bool check, json, schema;
};

static int print_schema(void)
{
	json_t *schema = export_schema();
	char *text = json_dumps(schema, JSON_INDENT(2));

	puts(text ? text : "");
	free(text);
	json_decref(schema);
	return fflush(stdout) || !text;
}

static int run(const void *values, int argument_count, char **arguments)
{
	const struct export_options *o = values;
	struct knob_fault f = {0};
	struct export_config config;
	int status = 0;
	int r;

	if (argument_count && (strcmp(arguments[0], "status") || o->check)) {
		fputs("vitrine-export: only 'status' may follow, and without --check\n", stderr);
		return COMMAND_STATUS_USAGE;
	}
	if (o->schema)
		return print_schema();
	curl_global_init(CURL_GLOBAL_DEFAULT);
	r = export_config_read(o->config, &config, &f);
	if (r < 0) {
		fprintf(stderr, "vitrine-export: %s\n", f.text[0] ? f.text : strerror(-r));
		return 1;
	}
	if (argument_count)
		status = status_show(&config, o->json);
	else if (o->check)
		printf("%s: good; %zu sinks\n", o->config, config.sink_count);
	else
		status = exporter_run(o->config, &config);
	export_config_free(&config);
	curl_global_cleanup();
	return status;
}

/* clang-format off */
static const struct command vitrine_export = {
	.summary = "ship the records of all sessions to files, syslog and SIEMs",
	.positional = "[status]",
	.positional_max = 1,
	.options = (const struct command_option[]){
		{"config", 0, "FILE", "configuration (" DEFAULT_CONFIG ")", OPTION_TEXT,
		 offsetof(struct export_options, config)},
		{"check", 0, NULL, "say whether the configuration is good, and end", OPTION_FLAG,
		 offsetof(struct export_options, check)},
		{"schema", 0, NULL, "print the JSON Schema of the configuration, and end", OPTION_FLAG,
		 offsetof(struct export_options, schema)},
		{"json", 0, NULL, "status as JSON", OPTION_FLAG, offsetof(struct export_options, json)},
		{0},
	},
	.values_size = sizeof(struct export_options),
	.defaults = &(const struct export_options){.config = DEFAULT_CONFIG},
	.description =
		"vitrine-export stays in the foreground, follows the journals of all sessions and sends each record to "
		"each sink at least once, in the order of its session. It needs no right but to read the records: a "
		"user in the group that readers_group of vitrined(8) names has it.\n\n"
		"The journals are the spool: while a receiver is away, nothing is kept in memory, and what it missed is "
		"read again when it is back. How far a sink has come is in its cursor, a file that may lag behind what "
		"was delivered, never lead. So after a crash records may come twice, with the same id: session and "
		"number, by which a receiver finds duplicates. Records that are gone before they were read (retention, "
		"damage) are told by a gap record in their place.\n\n"
		"With the records of a session goes its newest signed checkpoint, and behind its last record the last one: a "
		"record of kind checkpoint with the number 0, whose id is SESSION-0-SIZE and whose note is the checkpoint itself. "
		"Whoever keeps it can show later that nothing before it was changed or cut off: vitrine verify SESSION --anchor "
		"FILE takes the line as it was received, in whatever form.\n\n"
		"What was done with records goes too, in the order of the host's ledger: record.access, record.hold and "
		"record.retention, with the number 0 and the id SESSION-0-TIME-BOOT (both in ns); where it concerns all records SESSION "
		"is -. As JSON lines it is the text whose SHA-256 a line of the ledger signs. One that the ledger knows and whose "
		"text is gone is a gap of the class acts.\n\n"
		"A batch is sent until all of it is taken. What a receiver refuses for good is kept as a dead letter, "
		"with the reason and what was answered; the others go on. A collector of OTLP says how many of a batch it rejects "
		"and not which, and may not be asked again: all of the batch are dead letters with certain: false, and as many "
		"count as quarantined. Waits grow with each failure and are never the same for two sinks; after a failure one "
		"request asks, and its success lets the others follow. What the receiver asks for by Retry-After is kept to, up to "
		"5 minutes. A receiver that says that the configuration is wrong (401, 403, 404, a redirect) pauses its sink: "
		"nothing is dropped.\n\n"
		"status says, for each sink, what became of the records: delivered, pending, quarantined (dead letters), "
		"and filtered.",
	.sections = (const struct command_section[]){
		{"CONFIGURATION",
		 "A JSON object. Unknown keys and bad values are refused, with the line they stand in; --check says so without "
		 "starting anything, and --schema prints all keys, with what they allow and their defaults.\n\n"
		 "  state        state directory with the records\n"
		 "  directory    where cursors and dead letters are kept\n"
		 "  key_file     key of the digests of what is left out: that of vitrined, if digests are to be those of the\n"
		 "               record; without it the exporter has one of its own\n"
		 "  metrics      where metrics are served, see vitrine-metrics(8); nowhere by default\n"
		 "  drain_s      how long the end may take\n"
		 "  sinks        array of objects\n\n"
		 "Of a sink:\n\n"
		 "  name, type   required; file, syslog, webhook, hec, elastic, otlp, clickhouse\n"
		 "  format       jsonl, ocsf, ecs, otlp, cef\n"
		 "  kinds, severity, sessions   what goes out; losses always do\n"
		 "  drop_fields  fields that stay\n"
		 "  include_output   the data of output and input too\n"
		 "  acts         what was done with records: read, held, released, removed (true)\n"
		 "  checkpoints  with the records of a session its newest signed checkpoint (true)\n"
		 "  batch_bytes, batch_count, batch_age_ms\n"
		 "  backoff_ms, backoff_max_ms\n\n"
		 "  file: path, rotate_bytes, rotate_age_s, compress (gzip, zstd, none),\n"
		 "      sync (batch, close, never)\n"
		 "  syslog: transport (unix, udp, tcp, tls), address, protocol (5424, 3164), facility,\n"
		 "      max_bytes, ca_file, cert_file, key_file\n"
		 "  HTTP: url, timeout_s, concurrency, gzip, ca_file, cert_file, key_file, and\n"
		 "  webhook: secret    hec: token, source, sourcetype, index, ack, ack_poll_ms, ack_wait_s\n"
		 "  elastic: index, authorization    otlp: authorization, retry_500\n"
		 "  clickhouse: table, user, password\n\n"
		 "Secrets are {\"file\": PATH} or {\"env\": NAME}."},
		{"SIGNALS",
		 "SIGTERM, SIGINT: end, once what is on its way is answered, or drain_s is over; a second one ends at "
		 "once. SIGHUP: read the configuration anew, open files anew, and try again at once what waits. Sinks that the "
		 "new configuration (or a secret in a file) does not change are left alone; the others end what is on their way, as "
		 "long as drain_s, before they go or begin anew, so nothing is lost. A bad configuration is told and changes "
		 "nothing. Another state or directory needs a restart. The cursor of a sink that is gone stays: one of the same "
		 "name goes on there."},
		{"DUPLICATES",
		 "Session and number are the same whenever a record comes again. Elasticsearch and OpenSearch refuse an _id that "
		 "they have, but only within one backing index: after a rollover a retry may store a record twice, under the same "
		 "event.id, and a search with \"collapse\": {\"field\": \"event.id\"} shows it once. ClickHouse keeps one of "
		 "equal session and seq when it merges; SELECT ... FINAL reads one before. Its table, made where it is not there, "
		 "has session, seq, time_ns, time, kind and record, the whole line: with format jsonl and include_output it holds "
		 "all that the journal does. The row of kind checkpoint is the session's newest one."},
		{"FILES",
		 DEFAULT_CONFIG "\n\n"
		 "/var/lib/vitrine-export/SINK.cursor, SINK.dead.jsonl, status.json, digest.key"},
		{"EXIT STATUS",
		 "0, or 1 if the configuration is bad or the exporter cannot go on, or 2 for a bad command line."},
		{"EXAMPLES",
		 "  {\"sinks\": [\n"
		 "    {\"name\": \"archive\", \"type\": \"file\", \"path\": \"/var/log/vitrine/records.jsonl\"},\n"
		 "    {\"name\": \"siem\", \"type\": \"elastic\", \"url\": \"https://siem.example:9200\",\n"
		 "     \"authorization\": {\"file\": \"/etc/vitrine/elastic.key\"}}\n"
		 "  ]}"},
		{0},
	},
	.run = run,
};
/* clang-format on */

int main(int argc, char **argv)
{
	return command_main("vitrine-export", &vitrine_export, argc, argv);
}
