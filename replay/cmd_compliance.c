/*
 * vitrine compliance: what the records demonstrate of a standard, clause by clause.
 */
#include "commands.h"
#include "compliance.h"
#include "document.h"
#include "evidence.h"
#include "units.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#define CALLED "vitrine compliance"
#define STATUS_CONTRADICTED 1
#define STATUS_TROUBLE 3

struct compliance_options {
	const char *standard, *state, *key;
	uint64_t since_ns;
	bool json;
};

/* A wall clock, or so many days ago. */
static int parse_since(const char *text, void *ret_ns)
{
	struct moment moment = {0};
	struct timespec now;
	uint64_t ago;

	if (moment_parse(text, &moment) < 0)
		return -EINVAL;
	clock_gettime(CLOCK_REALTIME, &now);
	ago = (uint64_t)now.tv_sec * NS_PER_S;
	if (!moment.absolute && moment.ns > ago)
		return -EINVAL;
	*(uint64_t *)ret_ns = moment.absolute ? moment.ns : ago - moment.ns;
	return 0;
}

static void write_clause(const struct clause *c, const struct compliance_facts *f)
{
	char text[MEASURE_TEXT];

	printf("%-13s %-9s %s\n", finding_names[clause_judge(c, f)], c->id, c->title);
	for (size_t i = 0; i < CLAUSE_MEASURES && c->measures[i]; i++) {
		enum finding one = c->measures[i](f, c, text);

		printf("  %s%s%s\n", one == FINDING_DEMONSTRATED ? "" : finding_names[one],
		       one == FINDING_DEMONSTRATED ? "" : ": ", text);
	}
	if (c->cannot)
		printf("  cannot show: %s\n", c->cannot);
}

static void write_clause_json(struct document *d, const struct clause *c,
			      const struct compliance_facts *f)
{
	char text[MEASURE_TEXT];

	document_open(d, NULL, '{');
	document_string(d, "clause", c->id);
	document_string(d, "title", c->title);
	document_string(d, "finding", finding_names[clause_judge(c, f)]);
	document_open(d, "facts", '[');
	for (size_t i = 0; i < CLAUSE_MEASURES && c->measures[i]; i++) {
		enum finding one = c->measures[i](f, c, text);

		document_open(d, NULL, '{');
		document_string(d, "finding", finding_names[one]);
		document_string(d, "says", text);
		document_close(d, '{');
	}
	document_close(d, '[');
	document_string(d, "cannot_show", c->cannot);
	document_close(d, '{');
}

static int write_all(const struct compliance_options *o, const struct standard *s,
		     const struct compliance_facts *f)
{
	uint64_t counts[4] = {0};
	struct document d = {0};
	int r = 0;

	for (const struct clause *c = s->clauses; c->id; c++)
		counts[clause_judge(c, f)]++;
	if (o->json) {
		document_open(&d, NULL, '{');
		document_string(&d, "standard", s->name);
		document_string(&d, "title", s->title);
		document_time(&d, "since", f->since_ns);
		document_time(&d, "until", f->now_ns);
		document_open(&d, "clauses", '[');
		for (const struct clause *c = s->clauses; c->id; c++)
			write_clause_json(&d, c, f);
		document_close(&d, '[');
		document_close(&d, '{');
		r = document_finish(&d, stdout);
	} else {
		printf("%s\n\n", s->title);
		for (const struct clause *c = s->clauses; c->id; c++)
			write_clause(c, f);
		printf("\n%" PRIu64 " clauses are demonstrated, %" PRIu64
		       " contradicted; of %" PRIu64 " there is no data, %" PRIu64
		       " lie outside of what a record can show\n",
		       counts[FINDING_DEMONSTRATED], counts[FINDING_CONTRADICTED],
		       counts[FINDING_NO_DATA], counts[FINDING_OUTSIDE]);
	}
	if (r < 0)
		return STATUS_TROUBLE;
	return counts[FINDING_CONTRADICTED] ? STATUS_CONTRADICTED : 0;
}

static int refuse_standard(const char *name)
{
	fprintf(stderr, CALLED ": --standard: %s; allowed:",
		name ? "there is no such standard" : "it has to be given");
	for (const struct standard *s = standards; s->name; s++)
		fprintf(stderr, " %s", s->name);
	fputc('\n', stderr);
	return COMMAND_STATUS_USAGE;
}

static int compliance_run(const void *values, int argument_count, char **arguments)
{
	const struct compliance_options *o = values;
	const struct standard *s = o->standard ? standard_find(o->standard) : NULL;
	struct trusted_keys keys = {0};
	struct compliance_facts facts;
	struct timespec now;
	int r;

	(void)argument_count, (void)arguments;
	if (!s)
		return refuse_standard(o->standard);
	cleanup(close_fd) int fd = open(o->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, CALLED ": %s: %s\n", o->state, strerror(errno));
		return STATUS_TROUBLE;
	}
	if (evidence_read_keys(o->key, o->state, CALLED, stderr, &keys))
		return STATUS_TROUBLE;
	clock_gettime(CLOCK_REALTIME, &now);
	r = compliance_read(fd, o->state, &keys, o->since_ns,
			    (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec, &facts);
	trusted_keys_free(&keys);
	if (r < 0) {
		fprintf(stderr, CALLED ": %s: %s\n", o->state, strerror(-r));
		return STATUS_TROUBLE;
	}
	return write_all(o, s, &facts);
}

/* clang-format off */
#define OFFSET(member) offsetof(struct compliance_options, member)

const struct command command_compliance = {
	.name = "compliance",
	.summary = "say what the records demonstrate of a standard, and what they cannot",
	.options = (const struct command_option[]){
		{"standard", 's', "NAME", "nist-au, pci-dss or eu-ai-act", OPTION_TEXT, OFFSET(standard)},
		{"since", 0, "TIME", "only sessions that began then or later", OPTION_PARSED, OFFSET(since_ns), .parse = parse_since,
		 .allowed = "a time so long ago (2160h) or RFC 3339 (2026-01-01T00:00:00Z)"},
		{"key", 'k', "FILE", "public keys to trust, from 'vitrine keys export'", OPTION_TEXT, OFFSET(key)},
		{"json", 'j', NULL, "print one JSON object", OPTION_FLAG, OFFSET(json)},
		{"state", 0, "DIR", "state directory (" STORE_DEFAULT_STATE ")", OPTION_TEXT, OFFSET(state)},
		{0},
	},
	.values_size = sizeof(struct compliance_options),
	.defaults = &(const struct compliance_options){.state = STORE_DEFAULT_STATE},
	.description =
		"Reads and verifies all records, and says of each clause of the standard what they show: which acts were recorded, "
		"whether anything was lost, steps of the clock, who may read and who did, how long records were kept, whether they are "
		"what was written. Everything is counted from the records, the ledger and the acts; nothing is asked of the host's "
		"configuration but the rights of its files.\n\n"
		"A clause is demonstrated, contradicted by what was found, or there is no data; or it lies outside: no record can show "
		"it. What a clause asks beside is named with it, and who has to show it. This is evidence for an auditor, and no "
		"certificate.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS", "0, 1 when a clause is contradicted, 2 for a bad command line, 3 when the records cannot be read."},
		{"EXAMPLES", "  vitrine compliance --standard pci-dss --since 2026-01-01T00:00:00Z"},
		{0},
	},
	.run = compliance_run,
};
/* clang-format on */
