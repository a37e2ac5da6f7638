/*
 * Keys of sessions, and their lines in the ledger.
 */
#include "session_key.h"

#include "control.h"
#include "record/ledger_write.h"

#include <errno.h>
#include <string.h>

static int open_line(const struct host *h, const char *name, uint8_t seed[SIGN_SEED_SIZE],
		     char ret_line[LEDGER_LINE_MAX])
{
	uint8_t public[SIGN_PUBLIC_SIZE];
	int r = sign_seed(seed);

	if (r == 0)
		r = sign_public(seed, public);
	if (r == 0)
		r = ledger_add(h->config.state, LEDGER_OPEN, name, public, false, ret_line);
	return r;
}

int session_key_make(const struct host *h, const char *session, json_t **ret_key)
{
	char name[LEDGER_NAME_MAX], line[LEDGER_LINE_MAX];
	uint8_t seed[SIGN_SEED_SIZE];

	ledger_name(session, name);
	int r = open_line(h, name, seed, line);
	if (r == 0) {
		*ret_key = json_pack("{s:s, s:s, s:o}", "origin", name, "opened", line, "seed",
				     control_base64(seed, sizeof(seed)));
		r = *ret_key ? 0 : -ENOMEM;
	}
	explicit_bzero(seed, sizeof(seed));
	return r;
}

int session_key_end(const struct host *h, const char *session, const uint8_t note[32])
{
	char name[LEDGER_NAME_MAX];

	ledger_name(session, name);
	return ledger_add(h->config.state, LEDGER_END, name, note, false, NULL);
}
