/*
 * vitrine prove: a proof for one record.
 */
#include "commands.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/ledger.h"
#include "../supervisor/record/printable.h"
#include "proof.h"
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#define CALLED "vitrine prove"

struct prove_arguments {
	const char *state;
};

static const char *words(int r)
{
	if (r == -ENODATA)
		return "no checkpoint covers this record yet";
	if (r == -EBADMSG)
		return "the record is not whole: see 'vitrine verify'";
	if (r == -ENXIO)
		return "retention removed it; a proof that was made before holds as it did";
	return r == -ENOENT ? "the session was not signed" : strerror(-r);
}

static int prove_run(const void *values, int argument_count, char **arguments)
{
	const struct prove_arguments *a = values;
	cleanup(session) struct session session = SESSION_NONE;
	cleanup(close_fd) int state_fd = -1;
	json_t *proof = NULL;
	uint64_t seq;
	int r;

	(void)argument_count;
	if (!ledger_number(bytes_of(arguments[1]), &seq) || !seq || seq > INT64_MAX) {
		fprintf(stderr, CALLED ": SEQ is the number of a record, from 1\n");
		return COMMAND_STATUS_USAGE;
	}
	if (session_open(a->state, arguments[0], CALLED, stderr, &session) < 0 ||
	    state_open(a->state, CALLED, stderr, &state_fd) < 0)
		return 1;
	r = proof_make(session.dir_fd, state_fd, LEDGER_FILE, seq, &proof);
	if (!r && (json_dumpf(proof, stdout, JSON_COMPACT) || putchar('\n') == EOF))
		r = -EIO;
	json_decref(proof);
	if (r)
		fprintf(stderr, CALLED ": record %" PRIu64 ": %s\n", seq, words(r));
	return r ? 1 : 0;
}

/* clang-format off */
const struct command command_prove = {
	.name = "prove",
	.summary = "prove that one event is in a signed record",
	.positional = "SESSION SEQ",
	.positional_min = 2,
	.positional_max = 2,
	.options = (const struct command_option[]){
		{"state", 0, "DIR", "state directory (" STORE_DEFAULT_STATE ")", OPTION_TEXT,
		 offsetof(struct prove_arguments, state)},
		{0},
	},
	.values_size = sizeof(struct prove_arguments),
	.defaults = &(const struct prove_arguments){.state = STORE_DEFAULT_STATE},
	.description =
		"Prints a proof, as JSON, that the event numbered SEQ is in the record of SESSION as it was signed: the "
		"record, the hashes that lead from it to the root of the tree, the signed root, and the keys from the "
		"host's first one on. Nothing else of the session is in it.\n\n"
		"'vitrine verify --proof FILE --key KEYS' checks it anywhere; with --event also that it is about an "
		"event that was kept elsewhere, as a SIEM returns it.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS", "0; 1 if there is no such session or record, or none that is signed; 2 for a bad command line."},
		{0},
	},
	.reads = COMMAND_READS_ONE,
	.run = prove_run,
};
/* clang-format on */
