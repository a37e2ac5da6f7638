/*
 * vitrine verify: is a record what was written?
 */
#include "anchor.h"
#include "commands.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/json_put.h"
#include "../supervisor/record/printable.h"
#include "../supervisor/record/store.h"
#include "elsewhere.h"
#include "evidence.h"
#include "file_text.h"
#include "proof.h"
#include "removals.h"
#include "state_check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#define CALLED "vitrine verify"

struct verify_arguments {
	const char *state, *key, *anchor, *proof, *event;
	bool json, quiet;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- telling ---- */

static void put_number(struct json_buffer *out, const char *name, uint64_t number)
{
	json_put_literal(out, ",\"");
	json_put(out, name, strlen(name));
	json_put_literal(out, "\":");
	json_put_u64(out, number);
}

static void put_text(struct json_buffer *out, const char *name, const char *text)
{
	json_put_literal(out, ",\"");
	json_put(out, name, strlen(name));
	json_put_literal(out, "\":");
	json_put_string(out, bytes_of(text));
}

static void write_json(const char *session, const struct verify_result *r)
{
	struct json_buffer out = {0};

	json_put_literal(&out, "{\"session\":");
	json_put_string(&out, bytes_of(session));
	put_text(&out, "verdict", verdict_names[r->verdict]);
	if (r->why[0])
		put_text(&out, "why", r->why);
	if (r->first_bad)
		put_number(&out, "first_bad", r->first_bad);
	if (r->last_bad)
		put_number(&out, "last_bad", r->last_bad);
	if (r->segment[0]) {
		put_text(&out, "segment", r->segment);
		put_number(&out, "offset", r->offset);
	}
	if (r->origin[0])
		put_text(&out, "origin", r->origin);
	if (r->policy_sha256[0])
		put_text(&out, "policy_sha256", r->policy_sha256);
	if (r->redact_rules_sha256[0])
		put_text(&out, "redact_rules_sha256", r->redact_rules_sha256);
	put_number(&out, "records", r->records);
	put_number(&out, "signed", r->signed_records);
	put_number(&out, "checkpoints", r->checkpoints);
	put_number(&out, "keys", r->keys);
	put_number(&out, "openings", r->generations);
	put_number(&out, "gaps", r->gaps);
	put_number(&out, "lost", r->lost);
	if (r->removed)
		put_number(&out, "removed", r->removed);
	if (r->checkpoints) {
		put_number(&out, "ledger_line", r->ledger_index);
		json_put_literal(&out, ",\"root\":");
		json_put_base64(&out, (struct bytes){r->root, HASH_SIZE});
	}
	json_put_literal(&out, ",\"ended\":");
	if (r->is_ended)
		json_put_literal(&out, "true}\n");
	else
		json_put_literal(&out, "false}\n");
	if (!json_done(&out, 0))
		fwrite(out.text, 1, out.length, stdout);
	json_buffer_free(&out);
}

static void write_line(const char *session, const struct verify_result *r)
{
	struct printable printable = printable_for(stdout, 0);

	printf("%s: %s", session, verdict_names[r->verdict]);
	if (r->why[0]) {
		fputs(": ", stdout);
		printable_text(stdout, &printable, bytes_of(r->why));
	}
	printf(" (%" PRIu64 " records, %" PRIu64 " signed, %" PRIu64 " checkpoints)\n", r->records,
	       r->signed_records, r->checkpoints);
}

static void tell(void *context, const char *session, const struct verify_result *result)
{
	const struct verify_arguments *a = context;

	if (a->json)
		write_json(session, result);
	else if (!a->quiet)
		write_line(session, result);
}

/* ---- doing ---- */

static int verify_state(const struct verify_arguments *a, const char *state)
{
	cleanup(close_fd) int fd = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct trusted_keys keys = {0};
	struct verify_result ledger = {.verdict = VERIFY_UNKNOWN};
	enum verdict worst = VERIFY_UNKNOWN;
	int r = evidence_read_keys(a->key, state, CALLED, stderr, &keys);

	if (r)
		return VERIFY_UNKNOWN;
	r = fd < 0 ? -errno
		   : state_check(fd, state, &keys, now_ns(), tell, (void *)a, &worst, &ledger);
	if (r)
		fprintf(stderr, CALLED ": cannot verify the state directory: %s\n", strerror(-r));
	else if (!a->json && !a->quiet)
		printf("ledger: %s%s%s (%" PRIu64 " lines)\n", verdict_names[ledger.verdict],
		       ledger.why[0] ? ": " : "", ledger.why, ledger.records);
	else if (a->json)
		write_json("", &ledger);
	trusted_keys_free(&keys);
	return r ? VERIFY_UNKNOWN : (int)worst;
}

static int read_anchor(const char *file, const char *session, struct note *ret_note)
{
	int r = anchor_read(file, session, ret_note);

	if (r < 0)
		fprintf(stderr, CALLED ": the anchor cannot be read: %s\n",
			r == -ENODATA ? "it holds no checkpoint of this session" : strerror(-r));
	return r;
}

/* A record that is not there, and of which the host knows that it was removed. */
static bool is_removed(const struct verify_arguments *a, const char *what,
		       struct verify_result *ret_result)
{
	cleanup(close_fd) int fd = open(a->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct trusted_keys keys = {0};
	char path[32];
	bool found = false;

	if (fd < 0 || !session_id_is_valid(what))
		return false;
	snprintf(path, sizeof(path), "sessions/%s", what);
	if (faccessat(fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return false;
	if (!evidence_read_keys(a->key, a->state, CALLED, stderr, &keys))
		found = removals_find(fd, &keys, what, ret_result) == 0;
	trusted_keys_free(&keys);
	return found;
}

static int verify_one(const struct verify_arguments *a, const char *what)
{
	cleanup(evidence) struct evidence evidence = EVIDENCE_NONE;
	struct verify_result result;
	struct note anchor;

	if (is_removed(a, what, &result)) {
		tell((void *)a, what, &result);
		return (int)result.verdict;
	}

	int r = evidence_open(what, a->state, a->key, CALLED, stderr, &evidence);

	if (!r && a->anchor)
		r = read_anchor(a->anchor, evidence.session, &anchor);
	if (r)
		return VERIFY_UNKNOWN;
	r = verify_session(evidence.dir_fd,
			   &(struct verify_options){
				   .keys = &evidence.keys,
				   .book = evidence.has_book ? &evidence.book : NULL,
				   .is_own = evidence.is_own,
				   .session = evidence.session[0] ? evidence.session : NULL,
				   .anchor = a->anchor ? &anchor : NULL,
				   .now_ns = now_ns(),
			   },
			   &result);
	if (!r && evidence.is_bundle)
		r = evidence_check_bundle(&evidence, &result);
	if (r) {
		fprintf(stderr, CALLED ": %s\n", strerror(-r));
		return VERIFY_UNKNOWN;
	}
	const char *slash = strrchr(result.origin, '/');
	tell((void *)a,
	     evidence.session[0] ? evidence.session
	     : slash		 ? slash + 1
				 : "session",
	     &result);
	return (int)result.verdict;
}

static json_t *read_json(const char *file)
{
	json_error_t error;
	json_t *json = json_load_file(file, JSON_REJECT_DUPLICATES, &error);

	if (!json)
		fprintf(stderr, CALLED ": it cannot be read as JSON, line %d: %s\n", error.line,
			error.text);
	return json;
}

/* The event in @file that @proof is about, by the session and number that it names. */
static json_t *read_event(const char *file, const json_t *proof)
{
	const json_t *of = json_object_get(proof, "event");
	const char *session = json_string_value(json_object_get(of, "session"));
	json_int_t seq = json_integer_value(json_object_get(proof, "seq"));
	json_t *event = NULL;
	int r = elsewhere_read(file, session ? session : "", (uint64_t)seq, &event);

	if (r < 0)
		fprintf(stderr, CALLED ": the event cannot be read: %s\n",
			r == -ENODATA	? "the file has many, but not the one of the proof"
			: r == -EBADMSG ? "the file has no JSON object"
					: strerror(-r));
	return event;
}

static int verify_proof(const struct verify_arguments *a)
{
	json_t *proof = read_json(a->proof);
	json_t *event = proof && a->event ? read_event(a->event, proof) : NULL;
	struct trusted_keys keys = {0};
	struct verify_result result = {.verdict = VERIFY_UNKNOWN};

	if (proof && (event || !a->event) &&
	    !evidence_read_keys(a->key, a->state, CALLED, stderr, &keys) &&
	    !proof_check(proof, event, &keys, &result)) {
		if (a->json)
			write_json(result.origin, &result);
		else if (!a->quiet)
			printf("record %" PRIu64 " of %s: %s%s%s\n", result.records,
			       result.origin[0] ? result.origin : "?",
			       result.verdict ? verdict_names[result.verdict] : "proved",
			       result.why[0] ? ": " : "", result.why);
	}
	trusted_keys_free(&keys);
	json_decref(proof);
	json_decref(event);
	return (int)result.verdict;
}

static bool is_state(const char *path)
{
	cleanup(close_fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return strchr(path, '/') && fd >= 0 && !faccessat(fd, "sessions", F_OK, 0);
}

static int verify_run(const void *values, int argument_count, char **arguments)
{
	const struct verify_arguments *a = values;
	enum verdict worst = VERIFY_INTACT;

	if (a->proof)
		return verify_proof(a);
	if (!argument_count)
		return verify_state(a, a->state);
	for (int i = 0; i < argument_count; i++) {
		enum verdict one = is_state(arguments[i]) ? verify_state(a, arguments[i])
							  : verify_one(a, arguments[i]);

		if (verdict_is_worse(one, worst))
			worst = one;
	}
	return (int)worst;
}

/* clang-format off */
#define OFFSET(member) offsetof(struct verify_arguments, member)

const struct command command_verify = {
	.name = "verify",
	.summary = "tell whether a record is what was written",
	.positional = "[SESSION|DIRECTORY|BUNDLE...]",
	.positional_max = -1,
	.options = (const struct command_option[]){
		{"key", 'k', "FILE", "public keys to trust, from 'vitrine keys export'", OPTION_TEXT, OFFSET(key)},
		{"anchor", 0, "FILE", "a checkpoint of the session that was kept elsewhere, as a note or within what an exporter sent", OPTION_TEXT, OFFSET(anchor)},
		{"proof", 0, "FILE", "check a proof of 'vitrine prove' instead of a record", OPTION_TEXT, OFFSET(proof)},
		{"event", 0, "FILE", "the event that the proof has to be about, as another system kept it: canonical, OCSF, ECS, OTLP or CEF; alone, or among "
		 "others in an answer or a file of lines", OPTION_TEXT, OFFSET(event)},
		{"json", 'j', NULL, "one JSON object for each session", OPTION_FLAG, OFFSET(json)},
		{"quiet", 'q', NULL, "say nothing; the exit status tells", OPTION_FLAG, OFFSET(quiet)},
		{"state", 0, "DIR", "state directory (" STORE_DEFAULT_STATE ")", OPTION_TEXT, OFFSET(state)},
		{0},
	},
	.values_size = sizeof(struct verify_arguments),
	.defaults = &(const struct verify_arguments){.state = STORE_DEFAULT_STATE},
	.usage_status = 4,
	.description =
		"Reads a record from its beginning to its end and holds it against the checkpoints that were signed "
		"while it was written: every record, every block, every checkpoint and the row of keys that signed "
		"them, from the host's key on. It needs the files and public keys alone: no daemon, no root.\n\n"
		"SESSION is an id, a unique beginning of one, a name, or 'last'. DIRECTORY, told by a slash in it, is "
		"that of a session, or a state directory: then the ledger of the host is verified too, each session "
		"in it, and that none is missing. BUNDLE is a file of 'vitrine bundle'. Without an argument the state directory is verified.\n\n"
		"Keys are taken from --key, or from the file beside the state directory (its name and .pub). Whoever "
		"can write that file can also replace it: for evidence keep a copy of the keys elsewhere.\n\n"
		"With --proof and --event, what a SIEM returns is held against the record: every member that vitrine wrote has "
		"to be there with its value, and the object that holds the rest of the record (unmapped in OCSF, vitrine in ECS, the body in OTLP, cs6 in CEF) "
		"may have nothing beside. What the SIEM added elsewhere is not looked at. Of streams whose text was left "
		"out the digest is not checked: it is under a key of the host.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS",
		 "0: intact and complete. 1: tampered with; the first bad record is named, or those among which it "
		 "is. 2: intact, but incomplete as the record itself declares: gaps, a torn end that was repaired, a "
		 "session that has not ended yet, or one that retention removed. 3: it cannot be told: no key, no checkpoints, or a record without "
		 "an end that nobody signs any more. 4: a bad command line. Of several sessions the worst one counts: "
		 "1, then 3, then 2."},
		{"NOTES",
		 "Root on the host can take the key of the moment and sign what it likes from then on, but not what was "
		 "signed before: keys that were used are gone. What root can do is to throw away the end of the record "
		 "and of the ledger together; only a checkpoint that was kept elsewhere (--anchor) shows that."},
		{0},
	},
	.reads = COMMAND_READS_UNTOLD,
	.run = verify_run,
};
/* clang-format on */
