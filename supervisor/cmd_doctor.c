/*
 * vitrine doctor: whether sessions can run on this host, and what to do where they cannot.
 */
#include "doctor.h"
#include "doctor_report.h"
#include "place.h"
#include "record/command.h"
#include "record/jansson_cleanup.h"
#include "record/store.h"

#include <string.h>
#include <unistd.h>

#define STATUS_MISSING 1

struct doctor_options {
	const char *state;
	bool json;
};

static json_t *describe(const char *name, const struct finding *f)
{
	json_t *row = json_pack("{s:s, s:s, s:s}", "name", name, "state",
				finding_state_names[f->state], "found", f->found);

	if (f->lost[0])
		json_object_set_new(row, "lost", json_string(f->lost));
	if (f->mend[0])
		json_object_set_new(row, "mend", json_string(f->mend));
	return row;
}

static void print_finding(const char *name, const struct finding *f)
{
	printf("%-9s %-12s %s\n", finding_state_names[f->state], name, f->found);
	if (f->lost[0])
		printf("%24slost: %s\n", "", f->lost);
	if (f->mend[0])
		printf("%24smend: %s\n", "", f->mend);
}

static int doctor_run(const void *values, int argument_count, char **arguments)
{
	const struct doctor_options *o = values;
	cleanup(place) struct place place;

	place_read(&place);
	const struct doctor_subject subject = {
		.state = o->state ? o->state : place.state,
		.workspace = argument_count > 0 ? arguments[0] : ".",
		.is_root = geteuid() == 0,
	};
	cleanup(json) json_t *rows = json_array();
	enum finding_state states[DOCTOR_CHECKS_MAX];
	bool whole = true;
	char digest[65];

	for (const struct doctor_check *c = doctor_checks; c->name; c++) {
		struct finding f = {0};

		c->look(&subject, &f);
		whole &= f.state != FINDING_MISSING;
		states[c - doctor_checks] = f.state;
		if (o->json)
			json_array_append_new(rows, describe(c->name, &f));
		else
			print_finding(c->name, &f);
		fflush(stdout);
	}
	doctor_digest(states, digest);
	if (o->json) {
		cleanup(json) json_t *all =
			json_pack("{s:b, s:s, s:O}", "ok", whole, "sha256", digest, "checks", rows);

		if (!all || json_dumpf(all, stdout, JSON_INDENT(2)) < 0)
			return STATUS_MISSING;
		putchar('\n');
	}
	return whole ? 0 : STATUS_MISSING;
}

/* clang-format off */
const struct command command_doctor = {
	.name = "doctor",
	.summary = "look whether this host can run sessions, and say what is lost or missing and how to mend it",
	.positional = "[WORKSPACE]",
	.positional_max = 1,
	.options = (const struct command_option[]){
		{"state", 0, "DIR", "where records would be kept", OPTION_TEXT, offsetof(struct doctor_options, state)},
		{"json", 0, NULL, "as a JSON object", OPTION_FLAG, offsetof(struct doctor_options, json)},
		{0},
	},
	.values_size = sizeof(struct doctor_options),
	.description =
		"Looks at what sessions and their records need, one line each: ok; degraded, with what is lost; or missing, with "
		"what to do about it. WORKSPACE is a directory that is to become a session's /workspace, the current one without.\n\n"
		"As root it also tries what can only be tried: it loads the sensors, and makes namespaces and mounts as a session "
		"has them. Nothing of that is attached or seen by others, all of it is gone at the end, and nothing is written.\n\n"
		"vitrined looks at the same before each session, with the state directory for a workspace. What it found is in the "
		"session's record: session.start has degraded, the names of what is not ok, and doctor_sha256, a digest of one line a "
		"check, its state and its name, as --json gives it as sha256.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS", "0 when nothing is missing, degraded or not; 1 when something is."},
		{0},
	},
	.run = doctor_run,
};
/* clang-format on */
