/*
 * vitrine redact: what redaction would cut from a text, and why; and the rules that it knows.
 */
#include "record/command.h"
#include "record/printable.h"
#include "redact/detector.h"
#include "redact/redactor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REDACT_STATUS_FOUND 1
#define REDACT_STATUS_TROUBLE 2
#define TEXT_MOST (256u << 20)

struct redact_options {
	struct option_texts off;
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
		const char *rule = redactor_rule(r, span->rule);
		size_t d = shapes_by_name(rule, strlen(rule));

		for (; at < span->start; at++) {
			if (text[at] != '\n')
				continue;
			line++;
			start = at + 1;
		}
		printf("%zu:%zu %s (%s, %s): %zu bytes\n", line, span->start - start + 1, rule,
		       d < detector_count ? detectors[d].category : "exact", span->form,
		       span->end - span->start);
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

static int switch_off(struct redactor *r, const struct option_texts *rules)
{
	for (size_t i = 0; i < rules->count; i++) {
		if (redactor_switch_off(r, rules->items[i]) < 0) {
			fprintf(stderr, "vitrine redact: there is no rule %s\n", rules->items[i]);
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

static int test_file(const struct redact_options *o, const char *path)
{
	static const uint8_t no_key[32];
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	struct shapes *shapes = NULL;
	struct redactor *r = NULL;
	char *text = NULL;
	size_t size = 0;
	int e = file ? read_all(file, &text, &size) : -errno;

	if (e == 0)
		e = shapes_new(&shapes);
	if (e == 0)
		e = redactor_new(no_key, shapes, NULL, 0, &r);
	if (e == 0)
		e = switch_off(r, &o->off);
	if (e == 0)
		e = test_text(r, (struct bytes){text, size});
	if (e < 0 && e != -EINVAL)
		fprintf(stderr, "vitrine redact: %s: %s\n", path, strerror(-e));
	redactor_free(r);
	shapes_free(shapes);
	free(text);
	if (file && file != stdin)
		fclose(file);
	return e < 0 ? REDACT_STATUS_TROUBLE : e;
}

static int print_rules(void)
{
	for (size_t d = 0; d < detector_count; d++)
		printf("%-28s %s\n", detectors[d].name, detectors[d].category);
	return 0;
}

static int redact_run(const void *values, int argument_count, char **arguments)
{
	const struct redact_options *o = values;

	if (argument_count == 1 && !strcmp(arguments[0], "rules"))
		return print_rules();
	if (argument_count == 2 && !strcmp(arguments[0], "test"))
		return test_file(o, arguments[1]);
	fprintf(stderr, "vitrine redact: allowed: test FILE, test -, rules\n");
	return REDACT_STATUS_TROUBLE;
}

/* clang-format off */
const struct command command_redact = {
	.name = "redact",
	.summary = "show what redaction would cut from a text, and why",
	.positional = "test FILE|- | rules",
	.positional_min = 1,
	.positional_max = 2,
	.options = (const struct command_option[]){
		{"off", 0, "RULE", "do without this rule", OPTION_TEXTS, offsetof(struct redact_options, off)},
		{0},
	},
	.values_size = sizeof(struct redact_options),
	.description =
		"vitrine redact test looks through FILE, or standard input, as through the output of a session, and prints a line for "
		"each place that would be cut: line and column, rule, category and form, how many bytes. Behind them stands the text "
		"as a record would hold it; tags are made with an empty key here. What was found is not shown.\n\n"
		"vitrine redact rules lists the rules for what looks like a secret. Secrets that a session is given are found in any "
		"case, whatever rules are off.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS", "0 when nothing would be cut, 1 when something would, 2 on trouble."},
		{"EXAMPLES", "Look through a log before it is shared.\n\n  vitrine redact test build.log"},
		{0},
	},
	.run = redact_run,
};
/* clang-format on */
