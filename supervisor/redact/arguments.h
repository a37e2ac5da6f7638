/* What is secret in an argument vector because of where it stands. */
#pragma once

#include "../record/event.h"

/*
 * The part of item @i that a rule of arguments cuts: what stands behind --password or -p of the
 * right program, behind --token=, behind the colon of -u user:password. False if there is none.
 */
bool argument_is_secret(const struct bytes *items, size_t count, size_t i, size_t *ret_start,
			size_t *ret_end);
