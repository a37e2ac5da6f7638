/*
 * Reads the value of a term, and holds a term against an event.
 */
#include "query_term.h"

#include "../supervisor/record/attack.h"
#include "../supervisor/record/printable.h"

#include <arpa/inet.h>
#include <string.h>

/* Names that stand for other fields than the one that is called so. */
static const struct {
	const char *name;
	uint16_t fields[5];
} aliases[] = {
	{"exit", {FIELD_exit_code}},
	{"net.dst", {FIELD_dst_address}},
	{"net.src", {FIELD_src_address}},
	{"address", {FIELD_src_address, FIELD_dst_address}},
	{"port", {FIELD_src_port, FIELD_dst_port}},
	{"proc", {FIELD_proc, FIELD_child_proc}},
	{"pid", {FIELD_pid, FIELD_child_pid}},
	{"name", {FIELD_name, FIELD_server_name}},
	{"file", {FIELD_path, FIELD_new_path, FIELD_requested, FIELD_exe_path}},
};

static const struct {
	const char *name;
	enum subject subject;
} subjects[] = {{"kind", SUBJECT_KIND},
		{"seq", SUBJECT_SEQ},
		{"time", SUBJECT_TIME},
		{"attack", SUBJECT_ATTACK}};

bool term_set_subject(struct term *t, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++) {
		if (!strcmp(name, subjects[i].name)) {
			t->subject = subjects[i].subject;
			return true;
		}
	}
	t->subject = SUBJECT_FIELDS;
	for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++) {
		if (strcmp(name, aliases[i].name))
			continue;
		while (aliases[i].fields[t->field_count]) {
			t->fields[t->field_count] = aliases[i].fields[t->field_count];
			t->field_count++;
		}
		return true;
	}
	for (uint16_t field = 1; field < FIELD_COUNT && t->field_count < TERM_FIELDS_MAX; field++) {
		const char *full = field_table[field].name;

		if (!strncmp(full, name, length) && (!full[length] || full[length] == '.'))
			t->fields[t->field_count++] = field;
	}
	return t->field_count > 0;
}

/* ---- reading values ---- */

static const struct {
	char letter;
	unsigned int shift;
} suffixes[] = {{'K', 10}, {'k', 10}, {'M', 20}, {'G', 30}, {'T', 40}};

/* "-3", "1000", "0x1f", "4K" at *at; moves on. False: no number, or too big for one. */
static bool read_number(const char **at, __int128 *ret_number)
{
	const __int128 most = (__int128)UINT64_MAX;
	const char *text = *at;
	bool minus = *text == '-';
	unsigned int base = 10, digit;
	size_t digits = 0;
	__int128 number = 0;

	text += minus;
	if (text[0] == '0' && text[1] == 'x') {
		base = 16;
		text += 2;
	}
	for (;; text++, digits++) {
		if (*text >= '0' && *text <= '9')
			digit = (unsigned int)(*text - '0');
		else if (base == 16 && *text >= 'a' && *text <= 'f')
			digit = (unsigned int)(*text - 'a') + 10;
		else
			break;
		number = number * base + digit;
		if (number > most)
			return false;
	}
	if (!digits)
		return false;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		if (*text == suffixes[i].letter) {
			number <<= suffixes[i].shift;
			text++;
			break;
		}
	}
	*ret_number = minus ? -number : number;
	*at = text;
	return true;
}

/* ">N", ">=N", "<N", "<=N", "N", "N..M", "N..", "..M" */
static bool read_range(const char *text, struct range *ret_range)
{
	struct range range = {true, -((__int128)1 << 100), (__int128)1 << 100};
	bool from = *text == '>', to = *text == '<', strict = (from || to) && text[1] != '=';
	__int128 number;

	if (from || to) {
		text += strict ? 1 : 2;
		if (!read_number(&text, &number) || *text)
			return false;
		if (from)
			range.low = number + strict;
		else
			range.high = number - strict;
		*ret_range = range;
		return true;
	}
	if (strncmp(text, "..", 2)) {
		if (!read_number(&text, &range.low))
			return false;
		if (!*text)
			range.high = range.low;
	} else if (!text[2]) {
		return false;
	}
	if (*text) {
		if (strncmp(text, "..", 2))
			return false;
		text += 2;
		if (*text && (!read_number(&text, &range.high) || *text))
			return false;
	}
	*ret_range = range;
	return true;
}

/* ">T", "<T", "T..", "..T", "T..T" */
static bool read_moments(const char *text, struct term *t)
{
	const char *dots = strstr(text, "..");
	char first[64];
	size_t length;

	if (*text == '>' || *text == '<') {
		bool strict = text[1] != '=';

		t->after = strict && *text == '>';
		t->before = strict && *text == '<';
		return moment_parse(text + (strict ? 1 : 2),
				    *text == '>' ? &t->since : &t->until) == 0;
	}
	length = dots ? (size_t)(dots - text) : 0;
	if (!dots || length >= sizeof(first) || (!length && !dots[2]))
		return false;
	memcpy(first, text, length);
	first[length] = 0;
	return (!length || moment_parse(first, &t->since) == 0) &&
	       (!dots[2] || moment_parse(dots + 2, &t->until) == 0);
}

/* An IPv4 address that is written as an IPv6 one is the IPv4 one. */
static void unmap(struct network *n)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (n->family != AF_INET6 || memcmp(n->address, mapped, sizeof(mapped)) || n->bits < 96)
		return;
	memmove(n->address, n->address + 12, 4);
	n->family = AF_INET;
	n->bits -= 96;
}

/* An address, or with @may_be_net a network. */
static bool read_network(struct bytes text, bool may_be_net, struct network *ret_network)
{
	struct network n = {0};
	char copy[64];
	char *slash;
	__int128 bits;

	if (!text.size || text.size >= sizeof(copy))
		return false;
	memcpy(copy, text.data, text.size);
	copy[text.size] = 0;
	slash = may_be_net ? strchr(copy, '/') : NULL;
	if (slash)
		*slash = 0;
	if (inet_pton(AF_INET, copy, n.address) == 1)
		n.family = AF_INET;
	else if (inet_pton(AF_INET6, copy, n.address) == 1)
		n.family = AF_INET6;
	else
		return false;
	n.bits = n.family == AF_INET ? 32 : 128;
	if (slash) {
		const char *at = slash + 1;

		if (!read_number(&at, &bits) || *at || bits < 0 || bits > n.bits)
			return false;
		n.bits = (unsigned int)bits;
	}
	unmap(&n);
	*ret_network = n;
	return true;
}

static const char *read_kinds(struct term *t)
{
	bool found = false;

	for (size_t from = 0, to; from <= t->pattern.count; from = to + 1) {
		struct pattern item = {t->pattern.codes + from, 0, false};
		bool fits = false;

		for (to = from; to < t->pattern.count && t->pattern.codes[to] != ','; to++)
			item.count++;
		for (size_t kind = 1; kind < EVENT_KIND_COUNT; kind++) {
			struct bytes name = bytes_of(kind_table[kind].name), group = name, last;
			const char *dot = strchr(name.data, '.');

			group.size = dot ? (size_t)(dot - (const char *)name.data) : name.size;
			last = bytes_of(dot ? dot + 1 : kind_table[kind].name);
			if (!pattern_match(&item, name) && !pattern_match(&item, group) &&
			    !pattern_match(&item, last))
				continue;
			t->kinds[kind] = fits = true;
		}
		if (!fits)
			return "there is no such kind of event; 'vitrine schema' lists them";
		found = true;
	}
	return found ? NULL : "a kind is missing here";
}

static bool is_address(enum event_field field)
{
	return field == FIELD_src_address || field == FIELD_dst_address;
}

/* True if a field of this type can have the value as it was read. */
static bool type_takes(const struct term *t, enum event_field field)
{
	switch (field_table[field].type) {
	case FIELD_TYPE_U64:
	case FIELD_TYPE_I64:
		return !t->is_part && t->range.given;
	case FIELD_TYPE_BOOL:
		return !t->is_part && t->has_truth;
	default:
		return true;
	}
}

static const char *check_fields(struct term *t, const struct term_value *value)
{
	const char *why = "this field is a number: 1000, 4K, >1000, <=10, 10..20 or *";

	for (size_t i = 0; i < t->field_count; i++) {
		if (is_address(t->fields[i]) && !t->is_part && !t->network.family &&
		    strchr(value->text, '/'))
			return "this is no network; 10.0.0.0/8 and fd00::/8 are some";
		if (type_takes(t, t->fields[i]))
			return NULL;
		if (field_table[t->fields[i]].type == FIELD_TYPE_BOOL)
			why = "this field is yes or no";
	}
	return t->is_part ? "this field is no text: it has no parts" : why;
}

const char *term_set_value(struct term *t, const struct term_value *value)
{
	const char *text = value->text;
	uint16_t *around = (uint16_t *)value->codes - 1;

	t->any = !t->is_part && value->count == 1 && value->codes[0] == WILD_ANY;
	t->pattern = (struct pattern){value->codes, value->count, t->is_part};
	if (t->is_part) {
		around[0] = around[value->count + 1] = WILD_ANY;
		t->pattern = (struct pattern){around, value->count + 2, true};
	}
	if (t->any && t->subject != SUBJECT_KIND)
		return NULL;
	if (t->is_part && t->subject > SUBJECT_FIELDS)
		return "here FIELD:VALUE is needed";
	switch (t->subject) {
	case SUBJECT_KIND:
		return read_kinds(t);
	case SUBJECT_TIME:
		return read_moments(text, t) ? NULL : "this is no time: >1.5s, <2m, 1s..2s";
	case SUBJECT_SEQ:
		read_range(text, &t->range);
		return t->range.given ? NULL : "this is no number: 1000, >1000, <=10, 10..20";
	case SUBJECT_FIELDS:
		read_range(text, &t->range);
		t->truth = !strcmp(text, "yes") || !strcmp(text, "true");
		t->has_truth = t->truth || !strcmp(text, "no") || !strcmp(text, "false");
		read_network(bytes_of(text), true, &t->network);
		return check_fields(t, value);
	case SUBJECT_TEXTS:
	case SUBJECT_ATTACK:
		break;
	}
	return NULL;
}

/* ---- matching ---- */

static bool code_fits(uint16_t code, unsigned char c, bool ignore_case)
{
	if (code == WILD_ONE || code == c)
		return true;
	if (!ignore_case || code > 255)
		return false;
	if (code >= 'A' && code <= 'Z')
		code = (uint16_t)(code + 32);
	return code == (c >= 'A' && c <= 'Z' ? c + 32 : c);
}

/* On a mismatch only the last WILD_ANY takes a byte more: never more than the product of both
 * lengths. */
bool pattern_match(const struct pattern *p, struct bytes text)
{
	const unsigned char *data = text.data;
	size_t at = 0, i = 0, retry_at = 0, retry = SIZE_MAX;

	while (at < text.size) {
		if (i < p->count && p->codes[i] == WILD_ANY) {
			retry = ++i;
			retry_at = at;
			if (i == p->count)
				return true;
		} else if (i < p->count && code_fits(p->codes[i], data[at], p->ignore_case)) {
			i++;
			at++;
		} else if (retry != SIZE_MAX) {
			i = retry;
			at = ++retry_at;
		} else {
			return false;
		}
	}
	while (i < p->count && p->codes[i] == WILD_ANY)
		i++;
	return i == p->count;
}

static bool texts_match(const struct pattern *p, struct bytes packed)
{
	size_t cursor = 0;
	struct bytes item;

	while (bytes_next_item(packed, &cursor, &item)) {
		if (pattern_match(p, item))
			return true;
	}
	return false;
}

/* A key, a value, or "key=value". */
static bool map_matches(const struct pattern *p, struct bytes packed)
{
	size_t cursor = 0;
	struct bytes key, value;
	char joined[1024];

	while (bytes_next_item(packed, &cursor, &key) && bytes_next_item(packed, &cursor, &value)) {
		size_t size = key.size + 1 + value.size;

		if (pattern_match(p, key) || pattern_match(p, value))
			return true;
		if (size > sizeof(joined))
			continue;
		memcpy(joined, key.data, key.size);
		joined[key.size] = '=';
		memcpy(joined + key.size + 1, value.data, value.size);
		if (pattern_match(p, (struct bytes){joined, size}))
			return true;
	}
	return false;
}

static bool in_range(const struct range *range, __int128 number)
{
	return range->given && number >= range->low && number <= range->high;
}

static bool in_network(const struct network *n, struct bytes text)
{
	struct network address;
	unsigned int whole = n->bits / 8, rest = n->bits % 8;

	if (!read_network(text, false, &address) || address.family != n->family)
		return false;
	if (memcmp(address.address, n->address, whole))
		return false;
	return !rest || !((address.address[whole] ^ n->address[whole]) >> (8 - rest));
}

static bool value_matches(const struct term *t, const struct event_value *value)
{
	switch (field_table[value->field].type) {
	case FIELD_TYPE_U64:
		return !t->is_part && in_range(&t->range, value->u64);
	case FIELD_TYPE_I64:
		return !t->is_part && in_range(&t->range, value->i64);
	case FIELD_TYPE_BOOL:
		return !t->is_part && t->has_truth && t->truth == (value->u64 != 0);
	case FIELD_TYPE_TEXT:
		if (is_address(value->field) && !t->is_part && t->network.family)
			return in_network(&t->network, value->bytes);
		return pattern_match(&t->pattern, value->bytes);
	case FIELD_TYPE_JSON:
		return pattern_match(&t->pattern, value->bytes);
	case FIELD_TYPE_TEXTS:
		return texts_match(&t->pattern, value->bytes);
	case FIELD_TYPE_MAP:
		return map_matches(&t->pattern, value->bytes);
	}
	return false;
}

static bool fields_match(const struct term *t, const struct event *e)
{
	for (size_t i = 0; i < t->field_count; i++) {
		const struct event_value *value = event_get(e, t->fields[i]);

		if (value && (t->any || value_matches(t, value)))
			return true;
	}
	return false;
}

static bool any_text_matches(const struct term *t, const struct event *e)
{
	if (e->kind < EVENT_KIND_COUNT && e->kind != EVENT_KIND_NONE &&
	    pattern_match(&t->pattern, bytes_of(kind_table[e->kind].name)))
		return true;
	for (size_t i = 0; i < e->count; i++) {
		if (value_matches(t, &e->values[i]))
			return true;
	}
	return false;
}

static uint64_t clock_for(const struct moment *m, const struct origin *origin,
			  const struct event *e)
{
	return m->absolute ? e->time_ns : origin_elapsed(origin, e);
}

static bool time_matches(const struct term *t, const struct origin *origin, const struct event *e)
{
	uint64_t since = clock_for(&t->since, origin, e), until = clock_for(&t->until, origin, e);

	if (t->since.given && (since < t->since.ns || (t->after && since == t->since.ns)))
		return false;
	return !t->until.given || (until <= t->until.ns && !(t->before && until == t->until.ns));
}

/* A tag by the number or the name of its technique or tactic. */
static bool attack_matches(const struct term *t, const struct event *e)
{
	const struct attack_tag *tags[ATTACK_TAGS_MAX];
	size_t count = attack_tags(e, tags);

	for (size_t i = 0; i < count; i++) {
		if (t->any || pattern_match(&t->pattern, bytes_of(tags[i]->technique)) ||
		    pattern_match(&t->pattern, bytes_of(tags[i]->name)) ||
		    pattern_match(&t->pattern, bytes_of(tags[i]->tactic)) ||
		    pattern_match(&t->pattern, bytes_of(tags[i]->tactic_name)))
			return true;
	}
	return false;
}

bool term_match(const struct term *t, const struct origin *origin, const struct event *e)
{
	switch (t->subject) {
	case SUBJECT_TEXTS:
		return any_text_matches(t, e);
	case SUBJECT_FIELDS:
		return fields_match(t, e);
	case SUBJECT_KIND:
		return e->kind < EVENT_KIND_COUNT && t->kinds[e->kind];
	case SUBJECT_SEQ:
		return t->any || in_range(&t->range, e->seq);
	case SUBJECT_TIME:
		return t->any || time_matches(t, origin, e);
	case SUBJECT_ATTACK:
		return attack_matches(t, e);
	}
	return false;
}
