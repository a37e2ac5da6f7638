/*
 * What the recorder has taken and not yet written: counts alone, in memory that vitrined shares, so
 * that not even the recorder's death loses anything in silence. vitrined sets them when a session
 * begins, the recorder keeps them, and who finishes the record of a recorder that died tells the
 * difference as gaps.
 *
 * The counts lead: for a moment they may say too much, never too little. They are believed no more
 * than that: a recorder that a session has taken over can tell wrong numbers, and no text.
 */
#pragma once

#include "../../bpf/wire.h"

#include <stdint.h>

struct in_hand {
	/* Numbers that the kernel had given out, over all CPUs, by the last record that is in the
	 * file, or that a gap has told. */
	uint64_t settled[WIRE_CLASS_COUNT];
	/* Bytes of streams that were read and are not in the file: redaction holds them back, or
	 * they wait for the journal. */
	uint64_t output_bytes, input_bytes;
	uint64_t names; /* records about names that were asked for; held back likewise */
};

/* One for each slot. */
#define IN_HAND_BYTES (SESSION_SLOTS * sizeof(struct in_hand))
