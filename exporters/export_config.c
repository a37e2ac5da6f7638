/*
 * Reads the configuration and says, of what it refuses, where it stands.
 */
#include "export_config.h"
#include "place.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/hash.h"
#include "../supervisor/record/jansson_cleanup.h"
#include "../supervisor/record/store.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>

#define FILE_MAX (1024 * 1024)

_Static_assert(EVENT_KIND_COUNT <= 64, "a kind is a bit");

/* clang-format off */
const struct knob export_knobs[] = {
	{"state", KNOB_PATH, "\"" STORE_DEFAULT_STATE "\"", .doc = "state directory with the records"},
	{"directory", KNOB_PATH, "\"/var/lib/vitrine-export\"", .doc = "where cursors and dead letters are kept"},
	{"key_file", KNOB_PATH, .doc = "key of the digests of what is left out; without it one of its own, digest.key in directory"},
	{"metrics", KNOB_LISTEN, .doc = "where metrics are served; without it nowhere"},
	{"drain_s", KNOB_NUMBER, "10", .min = 0, .max = 3600, .doc = "how long the end may take, for what is on its way"},
	{"sinks", KNOB_SINKS, .is_required = true, .doc = "where records go: objects with the keys below"},
	{0},
};

const struct knob sink_knobs[] = {
	{"name", KNOB_NAME, .is_required = true, .doc = "name of the sink, that of its cursor"},
	{"type", KNOB_CHOICE, .choices = sink_type_names, .is_required = true, .doc = "what it is"},
	{"format", KNOB_CHOICE, .choices = projection_names, .doc = "form of the records"},
	{"kinds", KNOB_TEXTS, .doc = "only these kinds (process.exec) or groups of kinds (file, net.*)"},
	{"severity", KNOB_CHOICE, "\"info\"", .choices = severity_names, .doc = "only what is as grave, or graver"},
	{"sessions", KNOB_TEXTS, .doc = "only sessions with these ids, names or tenants"},
	{"drop_fields", KNOB_TEXTS, .doc = "fields that stay"},
	{"include_output", KNOB_BOOL, "false", .doc = "the data of output and input too, not only length and digest"},
	{"acts", KNOB_BOOL, "true", .doc = "what was done with records goes too: read, held, released, removed"},
	{"checkpoints", KNOB_BOOL, "true", .doc = "with the records of a session goes its newest signed checkpoint"},
	{"batch_bytes", KNOB_NUMBER, "1048576", .min = 1, .max = 67108864, .doc = "of a batch, about"},
	{"batch_count", KNOB_NUMBER, "1000", .min = 1, .max = 100000, .doc = "records of a batch"},
	{"batch_age_ms", KNOB_NUMBER, "1000", .min = 0, .max = 3600000, .doc = "how long the first record of a batch waits"},
	{"backoff_ms", KNOB_NUMBER, "500", .min = 1, .max = 3600000, .doc = "first wait after a failure"},
	{"backoff_max_ms", KNOB_NUMBER, "60000", .min = 1, .max = 3600000, .doc = "longest wait"},
	{0},
};
/* clang-format on */

/* ---- filters ---- */

/* True if @pattern is the kind, its group, "group.*", or "*". */
static bool matches(const char *pattern, const char *kind)
{
	size_t length = strlen(pattern);

	if (length && pattern[length - 1] == '*')
		return !strncmp(pattern, kind, length - 1);
	return !strncmp(pattern, kind, length) && (!kind[length] || kind[length] == '.');
}

static int parse_kinds(const json_t *list, uint64_t *ret_kinds, struct knob_fault *f)
{
	uint64_t kinds = 0;
	const json_t *item;
	size_t i;

	*ret_kinds = UINT64_MAX;
	if (!list)
		return 0;
	json_array_foreach (list, i, item) {
		bool is_one = false;

		for (size_t kind = 1; kind < EVENT_KIND_COUNT; kind++) {
			if (!matches(json_string_value(item), kind_table[kind].name))
				continue;
			kinds |= UINT64_C(1) << kind;
			is_one = true;
		}
		if (!is_one)
			return knob_fault_set(f, "kinds",
					      "kinds[%zu]: \"%.100s\": no such kind of record; "
					      "'vitrine schema' lists them",
					      i, json_string_value(item));
	}
	*ret_kinds = kinds;
	return 0;
}

static int parse_drop(const json_t *list, uint64_t *drop, struct knob_fault *f)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item) {
		enum event_field field = field_by_name(json_string_value(item));

		if (field == FIELD_NONE)
			return knob_fault_set(f, "drop_fields",
					      "drop_fields[%zu]: \"%.100s\": no such field of a "
					      "record; 'vitrine schema' lists them",
					      i, json_string_value(item));
		drop[field / 64] |= UINT64_C(1) << field % 64;
	}
	return 0;
}

/* ---- one sink ---- */

static void borrow_values(struct sink_config *s)
{
	const json_t *v = s->values;

	s->name = knob_text(v, "name");
	s->sessions = json_object_get(v, "sessions");
	s->include_output = knob_bool(v, "include_output");
	s->has_checkpoints = knob_bool(v, "checkpoints");
	s->has_acts = knob_bool(v, "acts");
	s->concurrency =
		json_object_get(v, "concurrency") ? (unsigned)knob_number(v, "concurrency") : 1;
	s->batch_bytes = (size_t)knob_number(v, "batch_bytes");
	s->batch_count = (size_t)knob_number(v, "batch_count");
	s->batch_age_ms = (uint64_t)knob_number(v, "batch_age_ms");
	s->backoff_ms = (uint64_t)knob_number(v, "backoff_ms");
	s->backoff_max_ms = (uint64_t)knob_number(v, "backoff_max_ms");
	for (size_t i = 0; severity_names[i]; i++)
		if (!strcmp(severity_names[i], knob_text(v, "severity")))
			s->severity = (enum severity)i;
}

/* ---- what is the same ---- */

static int take_secrets(struct hash *hash, const struct knob *table, const json_t *values,
			struct knob_fault *f)
{
	for (; table->name; table++) {
		char *secret = NULL;
		int r = table->type == KNOB_SECRET ? knob_secret(values, table->name, &secret, f)
						   : 0;

		if (secret) {
			hash_add(hash, secret, strlen(secret) + 1);
			OPENSSL_cleanse(secret, strlen(secret));
		}
		free(secret);
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_print(struct sink_config *s, struct knob_fault *f)
{
	cleanup(free) char *text = json_dumps(s->values, JSON_COMPACT | JSON_SORT_KEYS);
	struct hash hash;
	int r;

	if (!text)
		return -ENOMEM;
	hash_begin(&hash);
	hash_add(&hash, text, strlen(text) + 1);
	r = take_secrets(&hash, s->type->knobs, s->values, f);
	hash_end(&hash, s->print);
	return r;
}

bool sink_config_equals(const struct sink_config *a, const struct sink_config *b)
{
	return !memcmp(a->print, b->print, sizeof(a->print));
}

static void ignore_answer(void *lane, const struct sink_answer *a)
{
	(void)lane, (void)a;
}

/* Open and close it, to see that its own keys make sense and its secrets are there. */
static int try_open(const struct export_config *c, const struct sink_config *s,
		    struct knob_fault *f)
{
	const struct sink_setup setup = {
		.name = s->name, .values = s->values, .key = &c->key, .answer = ignore_answer};
	void *state;
	int r = s->type->open(&setup, &state, f);

	if (r == 0)
		s->type->free(state);
	return r;
}

static int refuse_type(const json_t *values, struct knob_fault *f)
{
	const struct knob *const tables[] = {sink_knobs, NULL};
	cleanup(json) json_t *type = json_object();
	json_t *value = json_object_get(values, "type");

	if (!type || json_object_set_new(type, "name", json_string("any")) < 0 ||
	    (value && json_object_set(type, "type", value) < 0))
		return -ENOMEM;
	return knobs_check(tables, type, f);
}

static int parse_sink(const struct export_config *c, json_t *values, bool read_files,
		      struct sink_config *s, struct knob_fault *f)
{
	const char *type = knob_text(values, "type"), *format;
	const struct knob *tables[3] = {sink_knobs, NULL, NULL};
	int r;

	s->values = values;
	s->type = type ? sink_type_find(type) : NULL;
	/* Without a type its own keys are not known: what is wrong is the type. */
	if (!s->type && json_is_object(values))
		return refuse_type(values, f);
	if (s->type)
		tables[1] = s->type->knobs;
	r = knobs_check(tables, values, f);
	if (!s->type)
		return r < 0 ? r : -EINVAL;
	if (r == 0)
		r = knobs_complete(tables, values);
	if (r < 0)
		return r;
	format = knob_text(values, "format");
	s->projection = projection_find(format ? format : s->type->format);
	borrow_values(s);
	if (s->type == &sink_otlp && s->projection != &projection_otlp)
		return knob_fault_set(f, "format",
				      "format: \"%s\": bad value; allowed: otlp, for this type",
				      format);
	r = parse_kinds(json_object_get(values, "kinds"), &s->kinds, f);
	if (r == 0)
		r = parse_drop(json_object_get(values, "drop_fields"), s->drop, f);
	if (r < 0 || !read_files)
		return r;
	r = try_open(c, s, f);
	return r < 0 ? r : take_print(s, f);
}

static int check_names(const struct export_config *c, size_t count, struct knob_fault *f)
{
	const char *name = c->sinks[count].name;

	for (size_t i = 0; name && i < count; i++)
		if (c->sinks[i].name && !strcmp(c->sinks[i].name, name))
			return knob_fault_set(f, "name",
					      "name: \"%s\": bad value; another sink has it",
					      c->sinks[i].name);
	return 0;
}

/* ---- the whole ---- */

void export_config_free(struct export_config *c)
{
	json_decref(c->values);
	free(c->sinks);
	OPENSSL_cleanse(&c->key, sizeof(c->key));
	*c = (struct export_config){0};
}

static void locate(const char *file, int line, struct knob_fault *f)
{
	char text[KNOB_FAULT_TEXT];

	snprintf(text, sizeof(text), "%s", f->text);
	knob_fault_set(f, f->key, "%.300s:%d: %.680s", file, line, text);
}

static int parse_head(struct export_config *c, bool read_files, struct knob_fault *f)
{
	const struct knob *const tables[] = {export_knobs, NULL};
	const char *key_file;
	int r = knobs_check(tables, c->values, f);

	if (r == 0)
		r = knobs_complete(tables, c->values);
	if (r < 0)
		return r;
	c->state = knob_text(c->values, "state");
	c->directory = knob_text(c->values, "directory");
	c->metrics = knob_text(c->values, "metrics");
	c->drain_ms = (uint64_t)knob_number(c->values, "drain_s") * 1000;
	key_file = knob_text(c->values, "key_file");
	r = key_file && read_files ? hide_key_read(key_file, &c->key) : 0;
	return r < 0 ? knob_fault_set(f, "key_file", "key_file: %s: %s", key_file, strerror(-r))
		     : 0;
}

static int parse_all(struct export_config *c, const char *file, const char *text, bool read_files,
		     struct knob_fault *f)
{
	const json_t *sinks;
	int r = parse_head(c, read_files, f);

	if (r < 0) {
		locate(file, place_line(text, 0, f->key), f);
		return r;
	}
	sinks = json_object_get(c->values, "sinks");
	c->sinks = calloc(json_array_size(sinks), sizeof(*c->sinks));
	if (!c->sinks)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(sinks); i++) {
		r = parse_sink(c, json_array_get(sinks, i), read_files, &c->sinks[i], f);
		if (r == 0)
			r = check_names(c, i, f);
		if (r == -EINVAL)
			locate(file, place_line(text, i + 1, f->key), f);
		if (r < 0)
			return r;
		c->sink_count++;
	}
	return 0;
}

int export_config_parse(const char *file, const char *text, size_t size, bool read_files,
			struct export_config *ret_config, struct knob_fault *ret_fault)
{
	cleanup(free) char *copy = strndup(text, size);
	struct export_config c = {0};
	json_error_t e;
	int r;

	if (!copy)
		return -ENOMEM;
	c.values = json_loadb(text, size, JSON_REJECT_DUPLICATES, &e);
	if (!c.values)
		return knob_fault_set(ret_fault, "", "%.300s:%d: %s", file, e.line, e.text);
	r = parse_all(&c, file, copy, read_files, ret_fault);
	if (r < 0) {
		export_config_free(&c);
		return r;
	}
	*ret_config = c;
	return 0;
}

int export_config_read(const char *file, struct export_config *ret_config,
		       struct knob_fault *ret_fault)
{
	cleanup(close_fd) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	cleanup(free) char *text = malloc(FILE_MAX + 1);
	size_t size = 0;
	ssize_t n = 1;

	while (fd >= 0 && text && size <= FILE_MAX && n > 0) {
		n = read(fd, text + size, FILE_MAX + 1 - size);
		size += n > 0 ? (size_t)n : 0;
	}
	if (fd < 0 || n < 0)
		return knob_fault_set(ret_fault, "", "%.300s: %s", file, strerror(errno));
	if (!text)
		return -ENOMEM;
	if (size > FILE_MAX)
		return knob_fault_set(ret_fault, "", "%.300s: larger than 1 MiB", file);
	return export_config_parse(file, text, size, true, ret_config, ret_fault);
}
