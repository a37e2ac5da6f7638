/*
 * Verifies a whole state directory: the ledger, and every session that it or the directory knows.
 */
#pragma once

#include "verify.h"

#include <stdio.h>

/* What is told about each session as it is verified. */
typedef void state_check_told(void *context, const char *session, const struct verify_result *r);

/* 0 with the worst verdict, and in @ret_ledger what is to be said of the ledger itself; or -errno.
 */
int state_check(int state_fd, const char *state, const struct trusted_keys *keys, uint64_t now_ns,
		state_check_told *told, void *context, enum verdict *ret_worst,
		struct verify_result *ret_ledger);
