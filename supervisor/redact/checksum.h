/* Checksums that formats of secrets carry. */
#pragma once

#include "../record/event.h"

/* The last six characters are the CRC-32 of the others, in base 62. */
bool checksum_crc32(struct bytes text);
/* Bech32 (BIP 173), in small letters or in capitals. */
bool checksum_bech32(struct bytes text);
/* Twelve digits or more, parted by blanks or hyphens, the last of them by the formula of Luhn. */
bool checksum_luhn(struct bytes text);
