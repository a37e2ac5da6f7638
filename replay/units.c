/*
 * Parses and writes times, durations and sizes.
 */
#include "units.h"

#include <errno.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t ns;
};

/* Longer names first: "ms" is not "m" and an s. */
static const struct unit units[] = {
	{"ns", 1},
	{"us", 1000},
	{"ms", 1000000},
	{"s", NS_PER_S},
	{"m", 60 * NS_PER_S},
	{"h", 3600 * NS_PER_S},
	{"d", 86400 * NS_PER_S},
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits at *at become a number; as many as @max. 0, or -EINVAL: none, or too many to hold. */
static int parse_digits(const char **at, size_t max, uint64_t *ret_number)
{
	uint64_t number = 0;
	size_t count = 0;

	for (; is_digit((*at)[count]) && count < max; count++) {
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)((*at)[count] - '0'), &number))
			return -EINVAL;
	}
	if (!count)
		return -EINVAL;
	*at += count;
	*ret_number = number;
	return 0;
}

/* What stands behind a decimal point, as parts of @whole. More digits than it can hold are dropped.
 */
static uint64_t parse_fraction(const char **at, uint64_t whole)
{
	uint64_t sum = 0;

	for (; is_digit(**at); (*at)++) {
		sum += whole % 10 ? 0 : whole / 10 * (uint64_t)(**at - '0');
		whole /= 10;
	}
	return sum;
}

static const struct unit *parse_unit(const char **at)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		size_t length = strlen(units[i].name);

		if (!strncmp(*at, units[i].name, length)) {
			*at += length;
			return &units[i];
		}
	}
	return NULL;
}

/* One "1.5s" of a duration. A bare number is seconds and must stand alone. */
static int parse_term(const char **at, bool first, uint64_t *ret_ns)
{
	const struct unit *unit;
	const char *fraction = NULL;
	uint64_t number, ns;
	int r = parse_digits(at, 20, &number);

	if (r < 0)
		return r;

	if (**at == '.') {
		fraction = ++*at;
		*at += strspn(*at, "0123456789");
		if (*at == fraction)
			return -EINVAL;
	}
	unit = parse_unit(at);
	if (!unit && !(first && !**at))
		return -EINVAL;

	if (__builtin_mul_overflow(number, unit ? unit->ns : NS_PER_S, &ns))
		return -EINVAL;
	if (fraction &&
	    __builtin_add_overflow(ns, parse_fraction(&fraction, unit ? unit->ns : NS_PER_S), &ns))
		return -EINVAL;
	*ret_ns = ns;
	return 0;
}

static int parse_duration(const char *text, uint64_t *ret_ns)
{
	uint64_t sum = 0;
	bool first = true;

	if (*text == '+')
		text++;
	do {
		uint64_t ns;
		int r = parse_term(&text, first, &ns);

		if (r < 0)
			return r;
		if (__builtin_add_overflow(sum, ns, &sum))
			return -EINVAL;
		first = false;
	} while (*text);
	*ret_ns = sum;
	return 0;
}

/* Days from 1970-01-01 to a date of the Gregorian calendar. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
	int64_t era, year_of_era, day_of_year;

	year -= month <= 2;
	era = year / 400;
	year_of_era = year - era * 400;
	day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
	       day_of_year - 719468;
}

static void date_of(int64_t days, int64_t *ret_year, int64_t *ret_month, int64_t *ret_day)
{
	int64_t era, day_of_era, year_of_era, day_of_year, month;

	days += 719468;
	era = days / 146097;
	day_of_era = days - era * 146097;
	year_of_era =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	month = (5 * day_of_year + 2) / 153;
	*ret_day = day_of_year - (153 * month + 2) / 5 + 1;
	*ret_month = month < 10 ? month + 3 : month - 9;
	*ret_year = year_of_era + era * 400 + (*ret_month <= 2);
}

/* Exactly @digits digits, between @low and @high, followed by @after (0: by nothing in particular).
 */
static int parse_part(const char **at, size_t digits, uint64_t low, uint64_t high, char after,
		      uint64_t *ret_part)
{
	const char *from = *at;

	if (parse_digits(at, digits, ret_part) < 0 || (size_t)(*at - from) != digits ||
	    *ret_part < low || *ret_part > high)
		return -EINVAL;
	if (after && *(*at)++ != after)
		return -EINVAL;
	return 0;
}

static int parse_zone(const char *at, int64_t *ret_seconds)
{
	uint64_t hours, minutes;
	int64_t sign = *at == '-' ? -1 : 1;

	if ((*at == 'Z' || *at == 'z') && !at[1]) {
		*ret_seconds = 0;
		return 0;
	}
	if (*at != '+' && *at != '-')
		return -EINVAL;
	at++;
	if (parse_part(&at, 2, 0, 23, ':', &hours) < 0 ||
	    parse_part(&at, 2, 0, 59, 0, &minutes) < 0 || *at)
		return -EINVAL;
	*ret_seconds = sign * (int64_t)(hours * 3600 + minutes * 60);
	return 0;
}

static int parse_rfc3339(const char *text, uint64_t *ret_ns)
{
	uint64_t year, month, day, hour, minute, second, fraction = 0;
	int64_t zone, seconds;

	if (parse_part(&text, 4, 1970, 2500, '-', &year) < 0 ||
	    parse_part(&text, 2, 1, 12, '-', &month) < 0 ||
	    parse_part(&text, 2, 1, 31, 0, &day) < 0)
		return -EINVAL;
	if (*text != 'T' && *text != 't' && *text != ' ')
		return -EINVAL;
	text++;
	if (parse_part(&text, 2, 0, 23, ':', &hour) < 0 ||
	    parse_part(&text, 2, 0, 59, ':', &minute) < 0 ||
	    parse_part(&text, 2, 0, 60, 0, &second) < 0)
		return -EINVAL;
	if (*text == '.') {
		text++;
		if (!is_digit(*text))
			return -EINVAL;
		fraction = parse_fraction(&text, NS_PER_S);
	}
	if (parse_zone(text, &zone) < 0)
		return -EINVAL;

	seconds = days_of((int64_t)year, (int64_t)month, (int64_t)day) * 86400 +
		  (int64_t)(hour * 3600 + minute * 60 + second) - zone;
	if (seconds < 0)
		return -EINVAL;
	*ret_ns = (uint64_t)seconds * NS_PER_S + fraction;
	return 0;
}

int moment_parse(const char *text, void *ret_moment)
{
	struct moment moment = {.given = true};
	int r;

	moment.absolute = strlen(text) > 4 && text[4] == '-';
	r = moment.absolute ? parse_rfc3339(text, &moment.ns) : parse_duration(text, &moment.ns);
	if (r < 0)
		return r;

	*(struct moment *)ret_moment = moment;
	return 0;
}

void write_wall_clock(FILE *out, uint64_t wall_ns, int decimals)
{
	uint64_t seconds = wall_ns / NS_PER_S, part = wall_ns % NS_PER_S;
	unsigned int of_day = (unsigned int)(seconds % 86400);
	int64_t year, month, day;

	date_of((int64_t)(seconds / 86400), &year, &month, &day);
	fprintf(out, "%04d-%02d-%02dT%02u:%02u:%02u", (int)year, (int)month, (int)day,
		of_day / 3600, of_day / 60 % 60, of_day % 60);
	for (int i = decimals; i < 9; i++)
		part /= 10;
	if (decimals)
		fprintf(out, ".%0*llu", decimals, (unsigned long long)part);
	fputc('Z', out);
}

void write_duration(FILE *out, uint64_t ns)
{
	uint64_t s = ns / NS_PER_S;

	if (ns < 1000)
		fprintf(out, "%u ns", (unsigned int)ns);
	else if (ns < 1000000)
		fprintf(out, "%u us", (unsigned int)(ns / 1000));
	else if (ns < NS_PER_S)
		fprintf(out, "%u.%u ms", (unsigned int)(ns / 1000000),
			(unsigned int)(ns / 100000 % 10));
	else if (s < 60)
		fprintf(out, "%u.%02u s", (unsigned int)s, (unsigned int)(ns / 10000000 % 100));
	else if (s < 3600)
		fprintf(out, "%um%02us", (unsigned int)(s / 60), (unsigned int)(s % 60));
	else if (s < 86400)
		fprintf(out, "%uh%02um", (unsigned int)(s / 3600), (unsigned int)(s / 60 % 60));
	else
		fprintf(out, "%llud%02uh", (unsigned long long)(s / 86400),
			(unsigned int)(s / 3600 % 24));
}

void write_size(FILE *out, uint64_t bytes)
{
	static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double size = (double)bytes;
	size_t i = 0;

	if (bytes < 1024) {
		fprintf(out, "%u B", (unsigned int)bytes);
		return;
	}
	for (size /= 1024; size >= 1023.95 && i < 5; i++)
		size /= 1024;
	fprintf(out, "%.1f %s", size, names[i]);
}
