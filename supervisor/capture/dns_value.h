/*
 * Types, response codes and values of DNS records as text, in the presentation form of their RFCs.
 */
#pragma once

#include "dns_reader.h"

#define DNS_TYPE_A 1
#define DNS_TYPE_AAAA 28
#define DNS_TYPE_OPT 41

/* "AAAA", or "TYPE65280" for what has no name here. */
void dns_put_type(struct dns_text *text, uint16_t type);
/* "NXDOMAIN", or "RCODE3841". */
void dns_put_rcode(struct dns_text *text, uint16_t rcode);

/*
 * The value of a record of @type: all bytes from r->at to r->end. A type that is not known here, or
 * whose value is made of something else than it should be, is written as RFC 3597 has it: `\#`,
 * length, hex digits. Returns 0, or -EBADMSG if the value is not what its type says; the text is
 * complete in both cases.
 */
int dns_put_value(struct dns_reader *r, uint16_t type, struct dns_text *text);
