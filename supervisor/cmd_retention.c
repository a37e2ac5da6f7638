/*
 * vitrine retention: which records go, by age and size; and away with them.
 */
#include "clerk.h"
#include "config.h"
#include "record/cleanup.h"
#include "record/command.h"
#include "record/jansson_cleanup.h"
#include "record/printable.h"
#include "retention.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#define CALLED "vitrine retention"
#define STATUS_FAILED 1
#define NS_PER_S 1000000000ull

struct retention_options {
	const char *state, *config, *why;
	uint64_t max_age_ns, max_bytes;
	bool dry_run, json;
};

/* A number and what it is counted in; nothing behind it is the first of @units. */
static int parse_with_unit(const char *text, const char *units, const uint64_t *factors,
			   uint64_t *ret_value)
{
	const char *unit;
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || errno || (*end && end[1]))
		return -EINVAL;
	unit = *end ? strchr(units, *end) : units;
	if (!unit || __builtin_mul_overflow(value, factors[unit - units], &value))
		return -EINVAL;
	*ret_value = value;
	return 0;
}

static int parse_age(const char *text, void *ret_ns)
{
	static const uint64_t factors[] = {86400 * NS_PER_S, NS_PER_S, 60 * NS_PER_S,
					   3600 * NS_PER_S, 7 * 86400 * NS_PER_S};

	return parse_with_unit(text, "dsmhw", factors, ret_ns);
}

static int parse_size(const char *text, void *ret_bytes)
{
	static const uint64_t factors[] = {1, 1ull << 10, 1ull << 20, 1ull << 30, 1ull << 40};

	return parse_with_unit(text, "BKMGT", factors, ret_bytes);
}

/* ---- telling ---- */

static void write_item(const struct retention_options *o, const struct retention_item *item)
{
	const struct printable printable = printable_for(stdout, 60);
	const struct manifest *m = &item->manifest;
	const struct trim_border *part = item->part;

	if (o->json) {
		cleanup(json) json_t *line =
			json_pack("{s:s, s:s*, s:b, s:s, s:I, s:I}", "session", m->id, "name",
				  m->name, "goes", item->goes, "reason", item->reason, "bytes",
				  (json_int_t)item->bytes, "records", (json_int_t)m->records);

		if (part) {
			json_object_set_new(line, "segments", json_integer(part->segments));
			json_object_set_new(line, "last", json_integer((json_int_t)part->last));
			json_object_set_new(line, "going_bytes",
					    json_integer((json_int_t)part->bytes));
		}
		if (item->ended_ns)
			json_object_set_new(line, "ended_ns",
					    json_integer((json_int_t)item->ended_ns));
		json_dumpf(line, stdout, JSON_COMPACT);
		putchar('\n');
		return;
	}
	printf("%-6s %s  ", item->goes ? "goes" : "stays", m->id);
	if (item->ended_ns)
		clerk_write_time(stdout, item->ended_ns);
	else
		printf("%-20s", "-");
	printf("  %" PRIu64 " bytes  %s", part ? part->bytes : item->bytes, item->reason);
	if (part)
		printf(": its segments before %06u.vtj alone, with the records up to %" PRIu64
		       " of %" PRIu64 " bytes",
		       part->segments, part->last, item->bytes);
	if (m->name) {
		fputs("  ", stdout);
		printable_text(stdout, &printable, bytes_of(m->name));
	}
	putchar('\n');
}

/* ---- doing ---- */

static int fail(const char *what, const char *why)
{
	fprintf(stderr, CALLED ": %s: %s\n", what, why);
	return STATUS_FAILED;
}

/* The acts are open for each record alone: others wait for them. */
static int remove_item(const struct retention_options *o, int state_fd,
		       const struct retention_item *item)
{
	const struct clerk_client client = {getuid(), "user", o->why};
	struct clerk *clerk = NULL;
	struct fault f = {0};
	int r = clerk_open(o->state, ACTS_READ, &clerk, &f);

	if (r < 0)
		return fail(item->manifest.id, f.text);
	r = retention_remove(clerk, state_fd, item, &client);
	clerk_close(clerk);
	if (r < 0)
		return fail(item->manifest.id, r == -EAGAIN  ? "somebody writes in it now"
					       : r == -EBUSY ? "it was held meanwhile"
							     : strerror(-r));
	if (!item->part)
		retention_empty(state_fd, item->manifest.id);
	return 0;
}

static int remove_items(const struct retention_options *o, int state_fd,
			const struct retention_plan *plan)
{
	int status = 0;

	for (size_t i = 0; i < plan->count; i++) {
		int one = plan->items[i].goes ? remove_item(o, state_fd, &plan->items[i]) : 0;

		status = one ? one : status;
		if (!one)
			write_item(o, &plan->items[i]);
	}
	return status;
}

static int make_plan(const struct retention_options *o, const struct retention_rule *rule,
		     int state_fd, struct retention_plan *ret_plan)
{
	struct clerk *clerk = NULL;
	struct fault f = {0};
	struct timespec now;
	int r = clerk_open(o->state, ACTS_READ, &clerk, &f);

	if (r < 0)
		return fail("nothing was removed", f.text);
	clock_gettime(CLOCK_REALTIME, &now);
	if (!o->dry_run)
		retention_finish(clerk, state_fd);
	r = retention_plan(state_fd, clerk_acts(clerk), rule,
			   (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec, ret_plan);
	clerk_close(clerk);
	return r < 0 ? fail(o->state, strerror(-r)) : 0;
}

static int apply(const struct retention_options *o, const struct retention_rule *rule, int state_fd)
{
	struct retention_plan plan;
	int status = make_plan(o, rule, state_fd, &plan);

	if (status)
		return status;
	if (!o->dry_run)
		status = remove_items(o, state_fd, &plan);
	for (size_t i = 0; o->dry_run && i < plan.count; i++)
		write_item(o, &plan.items[i]);
	if (!o->json) {
		printf("%zu of %zu records %s, %" PRIu64 " of %" PRIu64 " bytes\n", plan.going,
		       plan.count, o->dry_run ? "would go" : "are to go", plan.going_bytes,
		       plan.bytes);
	}
	retention_plan_free(&plan);
	return status;
}

/* What was not given as an option is as the daemon's configuration has it. */
static int make_rule(const struct retention_options *o, struct retention_rule *ret_rule)
{
	cleanup(json) json_t *none = json_object();
	struct config config = {0};
	struct fault f = {0};
	int r = o->config ? config_load(o->config, none, &config, &f) : 0;

	if (r < 0)
		return fail("the configuration", f.text);
	*ret_rule = (struct retention_rule){
		.max_age_ns =
			o->max_age_ns ? o->max_age_ns : config.retention_days * 86400 * NS_PER_S,
		.max_bytes = o->max_bytes ? o->max_bytes : config.retention_bytes,
	};
	config_free(&config);
	if (ret_rule->max_age_ns || ret_rule->max_bytes || o->dry_run)
		return 0;
	return fail("no limit", "give --max-age or --max-size, or --config with retention_days or "
				"retention_bytes; --dry-run shows what is there");
}

static int retention_run(const void *values, int argument_count, char **arguments)
{
	const struct retention_options *o = values;
	struct retention_rule rule = {0};
	int status = make_rule(o, &rule);

	(void)argument_count, (void)arguments;
	if (status)
		return status;
	if (geteuid() != 0)
		return fail("not root", "only root may read and remove all records");
	cleanup(close_fd) int state_fd = open(o->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state_fd < 0)
		return fail(o->state, strerror(errno));
	return apply(o, &rule, state_fd);
}

/* clang-format off */
#define OFFSET(member) offsetof(struct retention_options, member)

const struct command command_retention = {
	.name = "retention",
	.summary = "remove records that are old, or more than there is room for",
	.options = (const struct command_option[]){
		{"dry-run", 'n', NULL, "remove nothing; say of each record whether it would go, and why", OPTION_FLAG, OFFSET(dry_run)},
		{"max-age", 0, "AGE", "records of sessions that ended longer ago go", OPTION_PARSED, OFFSET(max_age_ns), .parse = parse_age,
		 .allowed = "a number of days, or with s, m, h, d or w behind it"},
		{"max-size", 0, "SIZE", "the oldest records go until all are no larger", OPTION_PARSED, OFFSET(max_bytes), .parse = parse_size,
		 .allowed = "a number of bytes, or with K, M, G or T behind it"},
		{"config", 0, "FILE", "take limits that are not given from the daemon's configuration", OPTION_TEXT, OFFSET(config)},
		{"why", 0, "TEXT", "the reason, for the act that is kept", OPTION_TEXT, OFFSET(why)},
		{"json", 'j', NULL, "one JSON object for each record", OPTION_FLAG, OFFSET(json)},
		{"state", 0, "DIR", "state directory (" STORE_DEFAULT_STATE ")", OPTION_TEXT, OFFSET(state)},
		{0},
	},
	.values_size = sizeof(struct retention_options),
	.defaults = &(const struct retention_options){.state = STORE_DEFAULT_STATE},
	.description =
		"Removes records of sessions that have ended: by age since their end, as the ledger of the host knows it, and "
		"by the size of all. What is held (vitrine-hold(1)) stays. Of a session that still runs, and of one that began longer "
		"ago than it ended, the first segments go: whole files of its journal of which a checkpoint signs what was in them. "
		"The first record, which says what the session was, and what it takes to verify the others stay. Before a record goes, an act is "
		"written to <state>/acts and signed by the ledger: which record, how many events, the hash of its last checkpoint, who, "
		"when and why. Its signed checkpoints stay in <state>/removed, so that proofs of single events, and what was sent "
		"elsewhere, can still be verified.\n\n"
		"vitrine verify then says of the session, or of its first records, that they were removed by retention, as recorded (2); "
		"what is gone without such an act was tampered with (1). All commands tell a gap in place of segments that went, and "
		"so does vitrine-export to a sink that it had not sent everything to.\n\n"
		"vitrined does the same once an hour where its configuration has retention_days or retention_bytes.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS", "0, 1 when something could not be removed, 2 for a bad command line."},
		{"EXAMPLES",
		 "See what a year and 100 GiB would mean.\n\n  vitrine retention --dry-run --max-age 365 --max-size 100G"},
		{0},
	},
	.run = retention_run,
};
/* clang-format on */
