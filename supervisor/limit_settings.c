/*
 * Limits: their names, units and bounds. See limit_settings.h.
 */
#include "limit_settings.h"

#include "record/jansson_cleanup.h"

#include <errno.h>
#include <string.h>

#define NUMBER_MAX (1ull << 53) /* what a JSON number holds exactly */

enum unit { UNIT_BYTES, UNIT_NUMBER, UNIT_MILLI, UNIT_TIME };

struct suffix {
	const char *text; /* NULL closes a list */
	double factor;
};

static const struct unit_form {
	const struct suffix *suffixes;
	double whole; /* of the unit in what is kept: bytes, things, thousandths, milliseconds */
	const char *pattern, *words;
} units[] = {
	[UNIT_BYTES] = {(const struct suffix[]){{"", 1},
						{"K", 1024.0},
						{"M", 1024.0 * 1024},
						{"G", 1024.0 * 1024 * 1024},
						{"T", 1024.0 * 1024 * 1024 * 1024},
						{NULL, 0}},
			1, "^[0-9]+(\\.[0-9]+)?[KMGT]?$",
			"bytes, or with a unit (K, M, G, T), as 64M"},
	[UNIT_NUMBER] = {(const struct suffix[]){{"", 1}, {NULL, 0}}, 1, "^[0-9]+$",
			 "a whole number"},
	[UNIT_MILLI] = {(const struct suffix[]){{"", 1000}, {NULL, 0}}, 1000,
			"^[0-9]+(\\.[0-9]+)?$", "a number, as 1.5"},
	[UNIT_TIME] = {(const struct suffix[]){{"", 1000},
					       {"ms", 1},
					       {"s", 1000},
					       {"m", 60000.0},
					       {"h", 3600000.0},
					       {NULL, 0}},
		       1000, "^[0-9]+(\\.[0-9]+)?(ms|s|m|h)?$",
		       "seconds, or with a unit (ms, s, m, h), as 500ms"},
};

static const struct limit {
	const char *name;
	uint64_t min, max;
	size_t offset;
	const char *doc;
	enum unit unit;
	bool is_shared; /* of all commands together, and of no one's alone */
} limits[] = {
#define AT(field) offsetof(struct limit_values, field)
	{"memory", 4 << 20, NUMBER_MAX, AT(memory_bytes),
	 "Memory of the session's processes and of its files in memory, swap included; at least "
	 "4M.",
	 UNIT_BYTES},
	{"pids", 1, 4 << 20, AT(pids), "Processes and threads alive at once.", UNIT_NUMBER},
	{"cpu", 10, 1000000, AT(cpu_milli),
	 "Processors, as their time in each tenth of a second; at least 0.01.", UNIT_MILLI},
	{"wall", 1, 1000ull * 86400 * 3650, AT(wall_ms),
	 "Time that the command may take, in seconds or with a unit: ms, s, m, h.", UNIT_TIME},
	{"disk", 1 << 20, NUMBER_MAX, AT(disk_bytes),
	 "Bytes of files that the session makes outside of /workspace; at least 1M, 2G if not "
	 "given.",
	 UNIT_BYTES, .is_shared = true},
	{"inodes", 128, UINT32_MAX, AT(inodes),
	 "Files that the session makes outside of /workspace; at least 128, 1000000 if not given.",
	 UNIT_NUMBER, .is_shared = true},
	{"files", 8, 1 << 30, AT(files), "Open files of each process; at least 8.", UNIT_NUMBER},
	{"file_size", 1, NUMBER_MAX, AT(file_size_bytes), "Size of each file.", UNIT_BYTES},
	{"output", 1, NUMBER_MAX, AT(output_bytes),
	 "Bytes that the command may write to standard output, standard error or its terminal.",
	 UNIT_BYTES},
	{"cpu_weight", 1, 10000, AT(cpu_weight),
	 "Share of processors where others want them too, from 1 to 10000; 100 is everybody's who "
	 "has not asked.",
	 UNIT_NUMBER, .is_shared = true},
	{"io", 4096, NUMBER_MAX, AT(io_bytes),
	 "Bytes a second that may be read from each disk, and as many that may be written; at "
	 "least 4K.",
	 UNIT_BYTES, .is_shared = true},
	{"workspace", 4096, NUMBER_MAX, AT(workspace_bytes),
	 "Bytes of its disk by which /workspace may grow, measured about once a second; at least "
	 "4K.",
	 UNIT_BYTES, .is_shared = true},
#undef AT
};

#define LIMIT_COUNT (sizeof(limits) / sizeof(limits[0]))

const char limit_settings_allowed[] =
	"an object of memory, disk, workspace, file_size, output, io (bytes, or as \"64M\"), pids, "
	"inodes, "
	"files, "
	"cpu_weight (numbers), cpu (\"1.5\") and wall (seconds, or as \"500ms\", \"2m\")";

const char limit_settings_allowed_command[] =
	"an object of memory, file_size, output (bytes, or as \"64M\"), pids, files (numbers), cpu "
	"(\"1.5\") and wall (seconds, or as \"500ms\", \"2m\"); the others are of the session";

static const struct limit *find_limit(const char *name)
{
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		if (!strcmp(limits[i].name, name))
			return &limits[i];
	return NULL;
}

/* ---- values ---- */

/* Digits, at most one point among them, then a suffix of the unit. */
static bool parse_text(const struct limit *l, const char *text, double *ret_value)
{
	double value = 0, place = 1;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (*at - '0');
	if (at == text)
		return false;
	if (*at == '.' && l->unit != UNIT_NUMBER)
		for (at++; *at >= '0' && *at <= '9'; at++)
			value += (*at - '0') * (place /= 10);
	for (const struct suffix *s = units[l->unit].suffixes; s->text; s++)
		if (!strcmp(s->text, at)) {
			*ret_value = value * s->factor;
			return true;
		}
	return false;
}

static bool value_of(const struct limit *l, const json_t *json, uint64_t *ret_value)
{
	double value = 0;

	if (json_is_number(json))
		value = json_number_value(json) * units[l->unit].whole;
	else if (!json_is_string(json) || !parse_text(l, json_string_value(json), &value))
		return false;
	value += 0.5;
	if (!(value >= (double)l->min && value < (double)l->max + 1))
		return false;
	*ret_value = (uint64_t)value;
	return true;
}

bool limit_settings_time(const char *text, uint64_t *ret_ms)
{
	const struct limit *wall = find_limit("wall");
	double value;

	if (!parse_text(wall, text, &value) || value < (double)wall->min ||
	    value > (double)wall->max)
		return false;
	*ret_ms = (uint64_t)value;
	return true;
}

/* The one form of a value: its whole unit as a number where it is one, else as text. */
static json_t *canonical(const struct limit *l, uint64_t value)
{
	uint64_t whole = (uint64_t)units[l->unit].whole;

	if (value % whole == 0)
		return json_integer((json_int_t)(value / whole));
	if (l->unit == UNIT_TIME)
		return json_sprintf("%llums", (unsigned long long)value);

	int digits = 3;
	uint64_t part = value % whole;
	for (; part % 10 == 0; part /= 10)
		digits--;
	return json_sprintf("%llu.%0*llu", (unsigned long long)(value / whole), digits,
			    (unsigned long long)part);
}

/* ---- a type of setting ---- */

static bool check(bool of_command, struct setting_place *p)
{
	json_t *object = (json_t *)p->value, *value;
	const char *name;
	uint64_t ignored;

	if (!json_is_object(object))
		return false;
	json_object_foreach (object, name, value) {
		const struct limit *l = find_limit(name);

		if (l && !(of_command && l->is_shared) && value_of(l, value, &ignored))
			continue;
		p->member = name;
		p->value = value;
		return false;
	}
	return true;
}

bool limit_settings_check(const struct setting *s, struct setting_place *p)
{
	(void)s;
	return check(false, p);
}

bool limit_settings_check_command(const struct setting *s, struct setting_place *p)
{
	(void)s;
	return check(true, p);
}

bool limit_settings_is_shared(const char *name)
{
	const struct limit *l = find_limit(name);

	return l && l->is_shared;
}

static json_t *schema(bool of_command)
{
	cleanup(json) json_t *properties = json_object();

	for (size_t i = 0; i < LIMIT_COUNT; i++)
		if (!of_command || !limits[i].is_shared)
			json_object_set_new(properties, limits[i].name,
					    json_pack("{s:[s,s], s:s, s:s}", "type", "number",
						      "string", "pattern",
						      units[limits[i].unit].pattern, "description",
						      limits[i].doc));
	return json_pack("{s:s, s:b, s:O}", "type", "object", "additionalProperties", 0,
			 "properties", properties);
}

json_t *limit_settings_schema(const struct setting *s)
{
	(void)s;
	return schema(false);
}

json_t *limit_settings_schema_command(const struct setting *s)
{
	(void)s;
	return schema(true);
}

int limit_settings_read(json_t *object, struct limit_values *ret_values)
{
	*ret_values = (struct limit_values){0};
	for (size_t i = 0; i < LIMIT_COUNT; i++) {
		const struct limit *l = &limits[i];
		const json_t *given = json_object_get(object, l->name);
		uint64_t value;

		if (!given || !value_of(l, given, &value))
			continue;
		memcpy((char *)ret_values + l->offset, &value, sizeof(value));
		if (json_object_set_new(object, l->name, canonical(l, value)) < 0)
			return -ENOMEM;
	}
	return 0;
}

int limit_settings_within(json_t *given, const struct limit_values *most, const char *whose,
			  struct fault *ret_fault)
{
	for (size_t i = 0; i < LIMIT_COUNT; i++) {
		const struct limit *l = &limits[i];
		const json_t *value = json_object_get(given, l->name);
		uint64_t asked, allowed;

		memcpy(&allowed, (const char *)most + l->offset, sizeof(allowed));
		if (!value || !allowed || !value_of(l, value, &asked) || asked <= allowed)
			continue;
		cleanup(json) json_t *most_json = canonical(l, allowed);
		cleanup(free) char *text = json_dumps(most_json, JSON_ENCODE_ANY);
		return fault_set(ret_fault, -EPERM, "forbidden", "limits.%s: %s at most %s",
				 l->name, whose, text ? text : "?");
	}
	return 0;
}

/* ---- the option ---- */

static int set_one(const char *text, json_t *object, struct fault *f)
{
	char names[128] = "";
	cleanup(free) char *name = strndup(text, strcspn(text, "="));

	if (!name)
		return fault_set(f, -ENOMEM, "no_memory", "out of memory");
	const struct limit *l = find_limit(name);
	const char *value = text[strlen(name)] ? text + strlen(name) + 1 : "";
	cleanup(json) json_t *json = json_string(value);
	uint64_t ignored;

	for (size_t i = 0; i < LIMIT_COUNT; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			 i ? ", " : "", limits[i].name);
	if (!l || !*value)
		return fault_set(f, -EINVAL, "usage",
				 "--limit %s: bad value; allowed: KEY=VALUE, KEY one of %s", text,
				 names);
	if (!json || !value_of(l, json, &ignored))
		return fault_set(f, -EINVAL, "usage", "--limit %s: bad value; allowed: %s; %s: %s",
				 text, units[l->unit].words, name, l->doc);
	return json_object_set(object, name, json) < 0
		       ? fault_set(f, -ENOMEM, "no_memory", "out of memory")
		       : 0;
}

int limit_settings_option(const char *text, json_t *object, struct fault *ret_fault)
{
	cleanup(free) char *copy = strdup(text);
	char *rest = copy;
	int r = copy ? 0 : fault_set(ret_fault, -ENOMEM, "no_memory", "out of memory");

	for (char *one; r == 0 && (one = strsep(&rest, ","));)
		r = set_one(one, object, ret_fault);
	return r;
}
