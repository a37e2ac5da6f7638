/* Record types: what their values are made of, and how they are shown. */
#include "dns_value.h"

#include <errno.h>
#include <string.h>

/*
 * The parts of a value, one letter each:
 *   n  name           b s l  number of 1, 2 or 4 bytes    4 6  address
 *   c  string         t      strings up to the end        q    the rest, quoted
 *   x  the rest, hex  T      a record type                P    parameters of SVCB and HTTPS
 */
static const struct type_info {
	uint16_t type;
	const char *name;
	const char *parts; /* NULL: shown as bytes */
} types[] = {
	{1, "A", "4"},		 {2, "NS", "n"},	   {3, "MD", "n"},
	{4, "MF", "n"},		 {5, "CNAME", "n"},	   {6, "SOA", "nnlllll"},
	{7, "MB", "n"},		 {8, "MG", "n"},	   {9, "MR", "n"},
	{10, "NULL", NULL},	 {11, "WKS", NULL},	   {12, "PTR", "n"},
	{13, "HINFO", "cc"},	 {14, "MINFO", "nn"},	   {15, "MX", "sn"},
	{16, "TXT", "t"},	 {17, "RP", "nn"},	   {18, "AFSDB", "sn"},
	{24, "SIG", NULL},	 {25, "KEY", NULL},	   {28, "AAAA", "6"},
	{29, "LOC", NULL},	 {33, "SRV", "sssn"},	   {35, "NAPTR", "sscccn"},
	{36, "KX", "sn"},	 {37, "CERT", "ssbx"},	   {39, "DNAME", "n"},
	{41, "OPT", NULL},	 {42, "APL", NULL},	   {43, "DS", "sbbx"},
	{44, "SSHFP", "bbx"},	 {45, "IPSECKEY", NULL},   {46, "RRSIG", "Tbblllsnx"},
	{47, "NSEC", "nx"},	 {48, "DNSKEY", "sbbx"},   {49, "DHCID", "x"},
	{50, "NSEC3", NULL},	 {51, "NSEC3PARAM", NULL}, {52, "TLSA", "bbbx"},
	{53, "SMIMEA", "bbbx"},	 {55, "HIP", NULL},	   {59, "CDS", "sbbx"},
	{60, "CDNSKEY", "sbbx"}, {61, "OPENPGPKEY", "x"},  {62, "CSYNC", NULL},
	{63, "ZONEMD", "lbbx"},	 {64, "SVCB", "snP"},	   {65, "HTTPS", "snP"},
	{99, "SPF", "t"},	 {108, "EUI48", "x"},	   {109, "EUI64", "x"},
	{249, "TKEY", NULL},	 {250, "TSIG", NULL},	   {251, "IXFR", NULL},
	{252, "AXFR", NULL},	 {253, "MAILB", NULL},	   {254, "MAILA", NULL},
	{255, "ANY", NULL},	 {256, "URI", "ssq"},	   {257, "CAA", "bcq"},
	{32768, "TA", NULL},	 {32769, "DLV", "sbbx"},
};

static const struct {
	uint16_t rcode;
	const char *name;
} rcodes[] = {
	{0, "NOERROR"},	 {1, "FORMERR"},    {2, "SERVFAIL"}, {3, "NXDOMAIN"},  {4, "NOTIMP"},
	{5, "REFUSED"},	 {6, "YXDOMAIN"},   {7, "YXRRSET"},  {8, "NXRRSET"},   {9, "NOTAUTH"},
	{10, "NOTZONE"}, {11, "DSOTYPENI"}, {16, "BADVERS"}, {17, "BADKEY"},   {18, "BADTIME"},
	{19, "BADMODE"}, {20, "BADNAME"},   {21, "BADALG"},  {22, "BADTRUNC"}, {23, "BADCOOKIE"},
};

static const char *const service_keys[] = {
	"mandatory", "alpn",	 "no-default-alpn", "port",  "ipv4hint",
	"ech",	     "ipv6hint", "dohpath",	    "ohttp",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct type_info *find_type(uint16_t type)
{
	for (size_t i = 0; i < COUNT(types); i++)
		if (types[i].type == type)
			return &types[i];
	return NULL;
}

void dns_put_type(struct dns_text *text, uint16_t type)
{
	const struct type_info *info = find_type(type);

	dns_put(text, info ? info->name : "TYPE");
	if (!info)
		dns_put_number(text, type);
}

void dns_put_rcode(struct dns_text *text, uint16_t rcode)
{
	for (size_t i = 0; i < COUNT(rcodes); i++) {
		if (rcodes[i].rcode == rcode) {
			dns_put(text, rcodes[i].name);
			return;
		}
	}
	dns_put(text, "RCODE");
	dns_put_number(text, rcode);
}

/* ---- parameters of SVCB and HTTPS (RFC 9460) ---- */

static int put_list_of_strings(struct dns_reader *r, struct dns_text *text)
{
	const char *between = "";
	int e = 0;

	while (e == 0 && r->at < r->end) {
		dns_put(text, between);
		e = dns_read_string(r, text);
		between = ",";
	}
	return e;
}

static int put_list_of_addresses(struct dns_reader *r, size_t size, struct dns_text *text)
{
	const char *between = "";
	const uint8_t *address;
	int e = 0;

	while (e == 0 && r->at < r->end) {
		e = dns_read_bytes(r, size, &address);
		if (e < 0)
			break;
		dns_put(text, between);
		dns_put_address(text, address, size);
		between = ",";
	}
	return e;
}

static int put_parameter_value(struct dns_reader *r, const char *key, struct dns_text *text)
{
	uint16_t number;

	if (r->at == r->end)
		return 0;
	dns_put(text, "=");
	if (strcmp(key, "alpn") == 0)
		return put_list_of_strings(r, text);
	if (strcmp(key, "ipv4hint") == 0)
		return put_list_of_addresses(r, 4, text);
	if (strcmp(key, "ipv6hint") == 0)
		return put_list_of_addresses(r, 16, text);
	if (strcmp(key, "port") == 0) {
		int e = dns_read_u16(r, &number);
		if (e < 0)
			return e;
		dns_put_number(text, number);
		return 0;
	}
	dns_put_hex(text, r->message + r->at, r->end - r->at);
	r->at = r->end;
	return 0;
}

static int put_parameter(struct dns_reader *r, struct dns_text *text)
{
	uint16_t key = 0, size = 0;
	int e = dns_read_u16(r, &key);
	if (e == 0)
		e = dns_read_u16(r, &size);
	if (e < 0)
		return e;
	if (size > r->end - r->at) {
		r->why = "runs past the end";
		return -EBADMSG;
	}

	size_t end = r->end;
	r->end = r->at + size;
	dns_put(text, " ");
	dns_put(text, key < COUNT(service_keys) ? service_keys[key] : "key");
	if (key >= COUNT(service_keys))
		dns_put_number(text, key);
	e = put_parameter_value(r, key < COUNT(service_keys) ? service_keys[key] : "", text);
	if (e == 0 && r->at != r->end)
		e = -EBADMSG;
	r->end = end;
	return e;
}

/* ---- values ---- */

static int put_unsigned(struct dns_reader *r, char part, struct dns_text *text)
{
	uint8_t byte = 0;
	uint16_t word = 0;
	uint32_t number = 0;
	int e;

	if (part == 'b')
		e = dns_read_u8(r, &byte);
	else if (part == 's' || part == 'T')
		e = dns_read_u16(r, &word);
	else
		e = dns_read_u32(r, &number);
	if (e < 0)
		return e;
	if (part == 'T')
		dns_put_type(text, word);
	else
		dns_put_number(text, byte + word + number);
	return 0;
}

static int put_address(struct dns_reader *r, size_t size, struct dns_text *text)
{
	const uint8_t *address;
	int e = dns_read_bytes(r, size, &address);
	if (e < 0)
		return e;

	dns_put_address(text, address, size);
	return 0;
}

static int put_strings(struct dns_reader *r, struct dns_text *text)
{
	int e = dns_read_string(r, text);

	while (e == 0 && r->at < r->end) {
		dns_put(text, " ");
		e = dns_read_string(r, text);
	}
	return e;
}

static int put_rest(struct dns_reader *r, char part, struct dns_text *text)
{
	if (part == 'x')
		dns_put_hex(text, r->message + r->at, r->end - r->at);
	else
		dns_put_quoted(text, r->message + r->at, r->end - r->at);
	r->at = r->end;
	return 0;
}

static int put_part(struct dns_reader *r, char part, struct dns_text *text)
{
	int e = 0;

	switch (part) {
	case 'n':
		return dns_read_name(r, text);
	case '4':
		return put_address(r, 4, text);
	case '6':
		return put_address(r, 16, text);
	case 'c':
		return dns_read_string(r, text);
	case 't':
		return put_strings(r, text);
	case 'x':
	case 'q':
		return put_rest(r, part, text);
	case 'P':
		while (e == 0 && r->at < r->end)
			e = put_parameter(r, text);
		return e;
	default:
		return put_unsigned(r, part, text);
	}
}

static void put_unknown(struct dns_reader *r, size_t from, struct dns_text *text)
{
	dns_put(text, "\\# ");
	dns_put_number(text, (uint32_t)(r->end - from));
	if (r->end > from)
		dns_put(text, " ");
	dns_put_hex(text, r->message + from, r->end - from);
	r->at = r->end;
}

int dns_put_value(struct dns_reader *r, uint16_t type, struct dns_text *text)
{
	const struct type_info *info = find_type(type);
	size_t from = r->at, before = text->length;
	int e = 0;

	if (!info || !info->parts) {
		put_unknown(r, from, text);
		return 0;
	}
	for (const char *part = info->parts; e == 0 && *part; part++) {
		if (part != info->parts && *part != 'P')
			dns_put(text, " ");
		e = put_part(r, *part, text);
	}
	if (e == 0 && r->at == r->end)
		return 0;
	text->length = before;
	put_unknown(r, from, text);
	return -EBADMSG;
}
