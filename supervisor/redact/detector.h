/*
 * The table of detectors: what secrets look like that vitrine was not told of. All rules of it are
 * our own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a candidate has to be beside its shape. */
enum detector_check {
	CHECK_NONE,
	CHECK_CRC32,	/* the last six characters are the CRC-32 of the others, in base 62 */
	CHECK_BECH32,	/* the checksum of bech32 is right */
	CHECK_LUHN,	/* the last digit is the check digit of the others */
	CHECK_BASIC,	/* base64 of user:password */
	CHECK_VALUE,	/* no placeholder, variable, path or word of a program */
	CHECK_PASSWORD, /* as CHECK_VALUE, and no name or text */
	CHECK_GENERIC,	/* as CHECK_PASSWORD, and not words with a number behind */
	CHECK_MIXED,	/* upper, lower and digits: no hash, no word, no number */
};

#define DETECTOR_KEYWORDS 16
#define DETECTOR_EXAMPLES 16

struct detector {
	const char *name; /* the rule's name */
	const char *category;
	/* A text without any of these (lower case, in any case) is not looked at further. */
	const char *keywords[DETECTOR_KEYWORDS];
	/* PCRE2, anchored @back bytes before the keyword. Group 1, or the whole, is what goes. */
	const char *pattern;
	enum detector_check check;
	uint8_t floor; /* least entropy in tenths of a bit for each character */
	uint8_t back;
	/* Where one of these stands in what was found, it is known from documentation: no secret.
	 */
	const char *examples[DETECTOR_EXAMPLES];
};

/* What a check is called in a rule of a policy, by its number; NULL closes the list. */
extern const char *const detector_checks[];

extern const struct detector detectors[];
extern const size_t detector_count;
