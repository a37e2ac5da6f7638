/*
 * vitrine redact: what redaction would cut from a text, and why; and the rules that it knows.
 */
#include "policy.h"
#include "record/command.h"
#include "record/jansson_cleanup.h"
#include "record/printable.h"
#include "record/store.h"
#include "redact/redactor.h"
#include "redact/rules.h"
#include "redact_key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REDACT_STATUS_FOUND 1
#define REDACT_STATUS_TROUBLE 2
#define TEXT_MOST (256u << 20)

struct redact_options {
	struct option_texts off;
	const char *policy, *state;
	bool json;
};

/* The rules that are in force under the policy, and how they are searched with. */
struct rules_in_force {
	struct policy policy;
	struct shapes *table, *shapes;
};

/* All of @file in *ret_text. 0 or -errno. */
static int read_all(FILE *file, char **ret_text, size_t *ret_size)
{
	size_t size = 0, room = 65536, got;
	char *text = malloc(room), *larger;

	while (text && (got = fread(text + size, 1, room - size, file)) > 0) {
		size += got;
		if (size < room)
			continue;
		larger = room < TEXT_MOST ? realloc(text, room * 2) : NULL;
		if (!larger) {
			free(text);
			return room < TEXT_MOST ? -ENOMEM : -EFBIG;
		}
		text = larger;
		room *= 2;
	}
	if (!text || ferror(file)) {
		free(text);
		return text ? -EIO : -ENOMEM;
	}
	*ret_text = text;
	*ret_size = size;
	return 0;
}

/* "LINE:COLUMN RULE (CATEGORY, FORM): N bytes": never what was found. */
static void print_spans(const struct redactor *r, const char *text)
{
	size_t line = 1, start = 0, at = 0;

	for (size_t i = 0; i < r->spans.count; i++) {
		const struct span *span = &r->spans.items[i];
		const struct detector *d = redactor_detector(r, span->rule);

		for (; at < span->start; at++) {
			if (text[at] != '\n')
				continue;
			line++;
			start = at + 1;
		}
		printf("%zu:%zu %s (%s, %s): %zu bytes\n", line, span->start - start + 1, d->name,
		       d->category, span->form, span->end - span->start);
	}
}

static void print_lines(struct bytes text)
{
	const struct printable p = printable_for(stdout, 0);
	const char *at = text.data, *end = at + text.size, *newline;

	for (; at < end; at = newline + 1) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline)
			newline = end;
		printable_text(stdout, &p, (struct bytes){at, (size_t)(newline - at)});
		putchar('\n');
	}
}

/* The text as a record would hold it. */
static int print_cut(struct redactor *r, struct bytes text)
{
	const struct place place = {FIELD_data, -1};
	struct bytes cut;
	int e = redactor_cut(r, text, 0, text.size, &place, &cut);

	if (e < 0)
		return e;
	print_lines(cut);
	return 0;
}

static void rules_in_force_free(struct rules_in_force *f)
{
	shapes_free(f->shapes);
	shapes_free(f->table);
	policy_free(&f->policy);
}

/* Says by itself what is wrong. */
static int make_rules(const struct redact_options *o, struct rules_in_force *ret)
{
	cleanup(json) json_t *given = NULL;
	struct fault f = {0};
	char why[RULES_WHY];
	int e = o->policy ? settings_read(policy_settings, o->policy, &given, &f) : 0;

	if (e == 0 && !given)
		given = json_object();
	if (e == 0)
		e = policy_make(given, NULL, &ret->policy, &f);
	if (e < 0) {
		fprintf(stderr, "vitrine redact: %s\n", f.text);
		return e;
	}
	e = shapes_new(SHAPES_READ, &ret->table);
	snprintf(why, sizeof(why), "%s", strerror(e < 0 ? -e : 0));
	if (e == 0)
		e = shapes_change(ret->table, ret->policy.redact_rules, &ret->shapes, why);
	if (e < 0)
		fprintf(stderr, "vitrine redact: %s\n", why);
	return e;
}

/* Says by itself what is wrong. */
static int switch_off(struct redactor *r, const struct rules_in_force *f,
		      const struct option_texts *off)
{
	json_t *rule;
	size_t i;

	json_array_foreach ((json_t *)f->policy.redact_off, i, rule)
		redactor_switch_off(r, json_string_value(rule));
	for (i = 0; i < off->count; i++) {
		if (redactor_switch_off(r, off->items[i]) < 0) {
			fprintf(stderr,
				"vitrine redact: there is no rule %s; `vitrine redact rules` lists "
				"them\n",
				off->items[i]);
			return -EINVAL;
		}
	}
	return 0;
}

static int test_text(struct redactor *r, struct bytes text)
{
	int e = redactor_find(r, text);

	if (e < 0)
		return e;
	print_spans(r, text.data);
	if (r->spans.count)
		e = print_cut(r, text);
	return e < 0 ? e : r->spans.count ? REDACT_STATUS_FOUND : 0;
}

static int test_file(const struct redact_options *o, const struct rules_in_force *rules,
		     const char *path)
{
	static const uint8_t no_key[32];
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	struct redactor *r = NULL;
	char *text = NULL;
	size_t size = 0;
	int e = file ? read_all(file, &text, &size) : -errno;

	if (e == 0)
		e = redactor_new(no_key, rules->shapes, NULL, 0, &r);
	if (e < 0)
		fprintf(stderr, "vitrine redact: %s: %s\n", path, strerror(-e));
	if (e == 0)
		e = switch_off(r, rules, &o->off);
	if (e == 0 && text) {
		e = test_text(r, (struct bytes){text, size});
		if (e < 0)
			fprintf(stderr, "vitrine redact: %s: %s\n", path, strerror(-e));
	}
	redactor_free(r);
	free(text);
	if (file && file != stdin)
		fclose(file);
	return e < 0 ? REDACT_STATUS_TROUBLE : e;
}

static bool is_off(const struct rules_in_force *f, const struct redact_options *o, const char *name)
{
	json_t *rule;
	size_t i;

	json_array_foreach ((json_t *)f->policy.redact_off, i, rule) {
		if (!strcmp(json_string_value(rule), name))
			return true;
	}
	for (i = 0; i < o->off.count; i++) {
		if (!strcmp(o->off.items[i], name))
			return true;
	}
	return false;
}

static json_t *texts(const char *const *list, size_t most)
{
	json_t *array = json_array();

	for (size_t i = 0; i < most && list[i]; i++)
		json_array_append_new(array, json_string(list[i]));
	return array;
}

/* What a policy can say of a rule, and what only the table says. */
static int print_rule_json(const struct detector *d, bool off)
{
	cleanup(json) json_t *rule =
		json_pack("{s:s, s:s, s:o, s:s, s:i, s:f, s:s, s:o, s:b}", "name", d->name,
			  "category", d->category, "keywords",
			  texts(d->keywords, DETECTOR_KEYWORDS), "pattern", d->pattern, "back",
			  d->back, "entropy", d->floor / 10.0, "check", detector_checks[d->check],
			  "allow", texts(d->examples, DETECTOR_EXAMPLES), "off", off);

	if (!rule || json_dumpf(rule, stdout, JSON_COMPACT | JSON_REAL_PRECISION(2)) < 0)
		return REDACT_STATUS_TROUBLE;
	putchar('\n');
	return 0;
}

static int print_rules(const struct redact_options *o, const struct rules_in_force *f)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < shapes_count(f->shapes); i++) {
		const struct detector *d = shapes_detector(f->shapes, i);
		bool off = is_off(f, o, d->name);

		if (o->json)
			status = print_rule_json(d, off);
		else
			printf("%-28s %-8s entropy %.1f  check %-9s%s\n", d->name, d->category,
			       d->floor / 10.0, detector_checks[d->check], off ? " off" : "");
	}
	return status;
}

static const char *const key_acts[] = {"key", "rotate", "tag"};

static int redact_run(const void *values, int argument_count, char **arguments)
{
	const struct redact_options *o = values;
	struct rules_in_force rules = {0};
	bool is_list = argument_count == 1 && !strcmp(arguments[0], "rules");
	int status = REDACT_STATUS_TROUBLE;

	for (size_t i = 0; argument_count == 1 && i < sizeof(key_acts) / sizeof(*key_acts); i++)
		if (!strcmp(arguments[0], key_acts[i]))
			return redact_key_run(key_acts[i], o->state);
	if (!is_list && (argument_count != 2 || strcmp(arguments[0], "test") != 0)) {
		fprintf(stderr,
			"vitrine redact: allowed: test FILE, test -, rules, key, rotate, tag\n");
		return REDACT_STATUS_TROUBLE;
	}
	if (make_rules(o, &rules) == 0)
		status = is_list ? print_rules(o, &rules) : test_file(o, &rules, arguments[1]);
	rules_in_force_free(&rules);
	return status;
}

/* clang-format off */
const struct command command_redact = {
	.name = "redact",
	.summary = "show what redaction would cut from a text, and why; keep its key",
	.positional = "test FILE|- | rules | key | rotate | tag",
	.positional_min = 1,
	.positional_max = 2,
	.options = (const struct command_option[]){
		{"off", 0, "RULE", "do without this rule", OPTION_TEXTS, offsetof(struct redact_options, off)},
		{"policy", 0, "FILE", "with the rules of this policy: redact_rules and redact_off", OPTION_TEXT, offsetof(struct redact_options, policy)},
		{"json", 0, NULL, "the rules as JSON, one a line, with all that a policy can change of them", OPTION_FLAG, offsetof(struct redact_options, json)},
		{"state", 0, "DIR", "key, rotate, tag: the state directory that the key belongs to (" STORE_DEFAULT_STATE ")", OPTION_TEXT,
		 offsetof(struct redact_options, state)},
		{0},
	},
	.values_size = sizeof(struct redact_options),
	.defaults = &(const struct redact_options){.state = STORE_DEFAULT_STATE},
	.description =
		"vitrine redact test looks through FILE, or standard input, as through the output of a session, and prints a line for "
		"each place that would be cut: line and column, rule, category and form, how many bytes. Behind them stands the text "
		"as a record would hold it; tags are made with an empty key here. What was found is not shown.\n\n"
		"vitrine redact rules lists the rules for what looks like a secret. Secrets that a session is given are found in any "
		"case, whatever rules are off.\n\n"
		"In a record [REDACTED:RULE:TAG] stands for what was cut. The tag is the beginning of an HMAC under the deployment key: "
		"equal values have equal tags in all records made under one key, and nobody without the key can try values. "
		"session.start names the key (redact_key). vitrine redact key prints the id of the key of now, then of those that it "
		"replaced. vitrine redact rotate puts a new key in its place: tags of before and after do not match any more. The old "
		"key is kept beside it, and vitrine redact tag prints which tag a value, read from standard input, has under each key, "
		"so that whoever has the value and the keys finds it in old records too; who removes <state>.key.ID ends that for good. "
		"These three are for root.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS", "0 when nothing would be cut, 1 when something would, 2 on trouble."},
		{"RULES OF A POLICY",
		 "The key redact_rules of a policy is an array of at most 64 objects. One with a new name is a rule that is added; it "
		 "needs keywords and a pattern. One with the name of a rule that is there changes what it gives and leaves the rest.\n\n"
		 "keywords: up to 16 texts of 3 to 40 characters; a text without any of them, in any case, is not looked at further.\n\n"
		 "pattern: a regular expression (PCRE2) that has to match from the keyword on, or `back` bytes before it. Its first "
		 "group, or else all of it, is what is cut.\n\n"
		 "back: 0 to 80.\n\n"
		 "entropy: the least entropy of what is cut, in bits for each character, 0 to 8.\n\n"
		 "check: what it has to be beside. none; value: no placeholder, variable or path; password: and no name or text; generic: "
		 "and no words with a number behind; mixed: and capitals, small letters and digits; basic: base64 of user:password; crc32, "
		 "bech32, luhn: the checksum is right.\n\n"
		 "allow: up to 16 texts of 4 to 200 bytes; what holds one of them is no secret.\n\n"
		 "A pattern that takes too long for a text is given up there: the rest of the line is cut, with the form `budget`. The key "
		 "redact_off is an array of names of rules that are off. session.start holds the policy and the hash of all rules that "
		 "were in force (redact_rules_sha256)."},
		{"EXAMPLES",
		 "Look through a log before it is shared.\n\n  vitrine redact test build.log\n\n"
		 "See what a policy's own rule would cut. policy.json holds {\"redact_rules\": [{\"name\": \"acme-token\", \"keywords\": "
		 "[\"acme_\"], \"pattern\": \"acme_[a-z0-9]{32}\", \"entropy\": 3}]}.\n\n"
		 "  vitrine redact test --policy policy.json build.log"},
		{0},
	},
	.run = redact_run,
};
/* clang-format on */
