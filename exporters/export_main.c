/*
 * vitrine-export: follows all journals and ships their records to files, syslog and SIEMs.
 */
#include "export_config.h"
#include "exporter.h"
#include "status.h"

#include "../supervisor/record/command.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>

#define DEFAULT_CONFIG "/etc/vitrine/export.json"

struct export_options {
	const char *config;
	bool check, json;
};

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
	curl_global_init(CURL_GLOBAL_DEFAULT);
	r = export_config_read(o->config, &config, &f);
	if (r < 0) {
		fprintf(stderr, "vitrine-export: %s\n", f.text[0] ? f.text : strerror(-r));
		return 1;
	}
	if (argument_count)
		status = status_show(&config, o->json);
	else if (!o->check)
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
		{"json", 0, NULL, "status as JSON", OPTION_FLAG, offsetof(struct export_options, json)},
		{0},
	},
	.values_size = sizeof(struct export_options),
	.defaults = &(const struct export_options){.config = DEFAULT_CONFIG},
	.description =
		"vitrine-export stays in the foreground, follows the journals of all sessions and sends each record to "
		"each sink at least once, in the order of its session. It needs leave to read the state directory, and "
		"no other right.\n\n"
		"The journals are the spool: while a receiver is away, nothing is kept in memory, and what it missed is "
		"read again when it is back. How far a sink has come is in its cursor, a file that may lag behind what "
		"was delivered, never lead. So after a crash records may come twice, with the same id: session and "
		"number, by which a receiver finds duplicates. Records that are gone before they were read (retention, "
		"damage) are told by a gap record in their place.\n\n"
		"A batch is sent until all of it is taken. What a receiver refuses for good is kept as a dead letter, "
		"with the reason; the others go on. Waits grow with each failure and are never the same for two sinks; "
		"what the receiver asks for by Retry-After is kept to, up to 5 minutes. A receiver that says that the "
		"configuration is wrong (401, 403, 404, a redirect) pauses its sink: nothing is dropped.\n\n"
		"status says, for each sink, what became of the records: delivered, pending, quarantined (dead letters), "
		"and filtered.",
	.sections = (const struct command_section[]){
		{"CONFIGURATION",
		 "A JSON object. Unknown keys and bad values are refused, with the line they stand in.\n\n"
		 "  state        state directory with the records\n"
		 "  directory    where cursors and dead letters are kept\n"
		 "  key_file     key of the digests of what is left out\n"
		 "  metrics      where metrics are served, see vitrine-metrics(8); nowhere by default\n"
		 "  drain_s      how long the end may take\n"
		 "  sinks        array of objects\n\n"
		 "Of a sink:\n\n"
		 "  name, type   required; file, syslog, webhook, hec, elastic, otlp, clickhouse\n"
		 "  format       jsonl, ocsf, ecs, otlp, cef\n"
		 "  kinds, severity, sessions   what goes out; losses always do\n"
		 "  drop_fields  fields that stay\n"
		 "  include_output   the data of output and input too\n"
		 "  batch_bytes, batch_count, batch_age_ms\n"
		 "  backoff_ms, backoff_max_ms\n\n"
		 "  file: path, rotate_bytes, rotate_age_s, gzip, sync (batch, close, never)\n"
		 "  syslog: transport (unix, udp, tcp, tls), address, protocol (5424, 3164), facility,\n"
		 "      max_bytes, ca_file, cert_file, key_file\n"
		 "  HTTP: url, timeout_s, gzip, ca_file, cert_file, key_file, and\n"
		 "  webhook: secret    hec: token, source, sourcetype, index, ack, ack_poll_ms, ack_wait_s\n"
		 "  elastic: index, authorization    otlp: authorization, retry_500\n"
		 "  clickhouse: table, user, password\n\n"
		 "Secrets are {\"file\": PATH} or {\"env\": NAME}."},
		{"SIGNALS",
		 "SIGTERM, SIGINT: end, once what is on its way is answered, or drain_s is over; a second one ends at "
		 "once. SIGHUP: open files anew, and try again at once what waits."},
		{"FILES",
		 DEFAULT_CONFIG "\n\n"
		 "/var/lib/vitrine-export/SINK.cursor, SINK.dead.jsonl, status.json"},
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
