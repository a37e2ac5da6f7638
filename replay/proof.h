/*
 * A proof that one record is in a signed tree: what a reader needs who has the record from
 * elsewhere, and the host's public key, and nothing else.
 *
 *   {"proof": "vitrine/1",
 *    "seq": number of the record,
 *    "record": its bytes (codec.h), base64,
 *    "event": the same in canonical JSON,
 *    "path": [hashes of the siblings, from the leaf to the root, base64],
 *    "checkpoints": [notes: the one that opens the row of keys, those that hand it on, and last the
 *                    one whose root the path leads to],
 *    "ledger": the host's ledger up to the line that vouches for the first key}
 */
#pragma once

#include "verify.h"

#include <jansson.h>

#define PROOF_VERSION "vitrine/1"

/*
 * Prove record @seq of the session in @dir_fd, whose ledger is the file @ledger_name below
 * @ledger_fd. 0; -ENODATA: no checkpoint covers it yet; -EBADMSG: the files are not whole; or
 * -errno.
 */
int proof_make(int dir_fd, int ledger_fd, const char *ledger_name, uint64_t seq,
	       json_t **ret_proof);

/*
 * Check @proof; with @event, as another system kept it (elsewhere.h), also that it is of this
 * event. Judges in *ret_result (.first_bad is the record, .origin its session). 0 or -ENOMEM.
 */
int proof_check(const json_t *proof, const json_t *event, const struct trusted_keys *keys,
		struct verify_result *ret_result);
