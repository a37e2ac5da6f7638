/*
 * The signing key of a session: made new for each time that its journal is opened, vouched for by
 * the host's ledger, given to the recorder, and kept nowhere else.
 */
#pragma once

#include "host.h"

/* A key for @session as the recorder takes it: {origin, opened, seed}. 0 or -errno. */
int session_key_make(const struct host *h, const char *session, json_t **ret_key);

/* The record of @session ended; @note is the hash of its last checkpoint. The line is on disk once
 * ledger_settle has returned. 0 or -errno. */
int session_key_end(const struct host *h, const char *session, const uint8_t note[32]);
