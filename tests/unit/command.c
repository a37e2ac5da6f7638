/* Command lines: what is accepted, what is refused and in which words, and what is derived. */
#include "../../supervisor/record/command.h"

#include "../../supervisor/record/manual.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct values {
	bool quiet;
	int tty, net, parsed;
	const char *name;
	struct option_texts labels;
};

static int parse_even(const char *text, void *ret_value)
{
	if (strlen(text) % 2)
		return -EINVAL;
	*(int *)ret_value = (int)strlen(text);
	return 0;
}

static int parse_never(const char *text, void *ret_value)
{
	(void)text;
	(void)ret_value;
	return -EACCES;
}

static const char *const nets[] = {"none", "host", NULL};

#define OFFSET(member) offsetof(struct values, member)

/* clang-format off */
static const struct command_option options[] = {
	{"quiet", 'q', NULL, "say nothing", OPTION_FLAG, OFFSET(quiet)},
	{"tty", 0, NULL, "with a terminal", OPTION_SET, OFFSET(tty), 1},
	{"no-tty", 0, NULL, "without one", OPTION_SET, OFFSET(tty), 2},
	{"name", 'n', "NAME", "its name", OPTION_TEXT, OFFSET(name)},
	{"label", 0, "K=V", "a label", OPTION_TEXTS, OFFSET(labels)},
	{"net", 0, "NET", "its network", OPTION_CHOICE, OFFSET(net), .choices = nets},
	{"even", 0, "WORD", "a word", OPTION_PARSED, OFFSET(parsed), .parse = parse_even,
	 .allowed = "a word of even length"},
	{"never", 0, "FILE", "a file", OPTION_PARSED, OFFSET(parsed), .parse = parse_never},
	{0},
};

static const struct command sample = {
	.name = "sample", .summary = "do it", .positional = "WORD [WORD]",
	.positional_min = 1, .positional_max = 2, .options = options, .values_size = sizeof(struct values),
	.description = "First paragraph.\n\n.dot and \\back\n\n  literal - line",
};

static const struct command wrapper = {
	.name = "wrap", .summary = "run it", .positional = "COMMAND [ARG...]", .positional_min = 1,
	.positional_max = -1, .stops_at_positional = true, .options = options,
	.values_size = sizeof(struct values),
};

static const struct command within = {
	.name = "in", .summary = "run it there", .positional = "PLACE COMMAND [ARG...]", .positional_min = 2,
	.positional_max = -1, .stops_at_positional = true, .options_follow_first = true, .options = options,
	.values_size = sizeof(struct values),
};

static const struct program program = {
	.name = "thing", .version = "1", .summary = "all of it",
	.commands = (const struct command *const[]){&sample, &wrapper, NULL},
};
/* clang-format on */

/* A parsed command line and what was said about it. */
struct parsed {
	enum command_parsed outcome;
	struct values values;
	char *argv[16];
	int argc, first;
	char said[1024];
};

static void parse(const struct command *c, struct parsed *p, ...)
{
	char *word;
	va_list words;
	FILE *errors = fmemopen(p->said, sizeof(p->said), "w");

	p->argc = 0;
	p->values = (struct values){0};
	p->argv[p->argc++] = (char *)c->name;
	va_start(words, p);
	while ((word = va_arg(words, char *)))
		p->argv[p->argc++] = word;
	va_end(words);
	p->argv[p->argc] = NULL;
	p->outcome =
		command_parse(c, "thing sample", p->argc, p->argv, &p->values, &p->first, errors);
	fclose(errors);
}

static void every_type_of_option_lands_in_its_place(void **state)
{
	struct parsed p;

	(void)state;
	parse(&sample, &p, "one", "-q", "--no-tty", "--name=x", "--label", "a=1", "two", "--label",
	      "b=2", "--net", "host", "--even", "abcd", NULL);
	assert_int_equal(p.outcome, COMMAND_PARSED);
	assert_true(p.values.quiet);
	assert_int_equal(p.values.tty, 2);
	assert_string_equal(p.values.name, "x");
	assert_int_equal(p.values.labels.count, 2);
	assert_string_equal(p.values.labels.items[0], "a=1");
	assert_string_equal(p.values.labels.items[1], "b=2");
	assert_null(p.values.labels.items[2]);
	assert_int_equal(p.values.net, 1);
	assert_int_equal(p.values.parsed, 4);
	assert_int_equal(p.argc - p.first, 2);
	assert_string_equal(p.argv[p.first], "one");
	assert_string_equal(p.argv[p.first + 1], "two");
	command_values_free(&sample, &p.values);
	assert_null(p.values.labels.items);
}

/* However it is written, the place stands before the command, and the command's dashes are its own.
 */
static void options_may_follow_the_first_word(void **state)
{
	struct parsed p;

	(void)state;
	for (int i = 0; i < 5; i++) {
		switch (i) {
		case 0:
			parse(&within, &p, "-q", "here", "ls", "-n", NULL);
			break;
		case 1:
			parse(&within, &p, "here", "-q", "ls", "-n", NULL);
			break;
		case 2:
			parse(&within, &p, "here", "-q", "--", "ls", "-n", NULL);
			break;
		case 3:
			parse(&within, &p, "-q", "--", "here", "ls", "-n", NULL);
			break;
		default:
			parse(&within, &p, "here", "--quiet", "ls", "-n", NULL);
		}
		assert_int_equal(p.outcome, COMMAND_PARSED);
		assert_true(p.values.quiet);
		assert_int_equal(p.argc - p.first, 3);
		assert_string_equal(p.argv[p.first], "here");
		assert_string_equal(p.argv[p.first + 1], "ls");
		assert_string_equal(p.argv[p.first + 2], "-n");
	}
	parse(&within, &p, "here", "ls", "-q", NULL);
	assert_false(p.values.quiet);
	parse(&within, &p, "here", "--", NULL);
	assert_int_equal(p.outcome, COMMAND_BAD);
	parse(&within, &p, NULL);
	assert_int_equal(p.outcome, COMMAND_BAD);
}

static void what_follows_a_command_is_its_own(void **state)
{
	struct parsed p;

	(void)state;
	parse(&wrapper, &p, "-q", "ls", "--help", "-n", NULL);
	assert_int_equal(p.outcome, COMMAND_PARSED);
	assert_int_equal(p.argc - p.first, 3);
	assert_string_equal(p.argv[p.first + 1], "--help");

	parse(&wrapper, &p, "--name", "x", "--", "--odd", "-q", NULL);
	assert_int_equal(p.outcome, COMMAND_PARSED);
	assert_false(p.values.quiet);
	assert_string_equal(p.argv[p.first], "--odd");

	parse(&wrapper, &p, "--help", "ls", NULL);
	assert_int_equal(p.outcome, COMMAND_HELP);
}

static void says(const struct parsed *p, const char *text)
{
	assert_int_equal(p->outcome, COMMAND_BAD);
	assert_string_equal(p->said, text);
}

static void bad_lines_are_refused_in_one_clear_line(void **state)
{
	struct parsed p;

	(void)state;
	parse(&sample, &p, "x", "--nmae", NULL);
	says(&p, "thing sample: unknown option --nmae; try 'thing sample --help'\n");
	parse(&sample, &p, "x", "--bogus=1", NULL);
	says(&p, "thing sample: unknown option --bogus; try 'thing sample --help'\n");
	parse(&sample, &p, "--quiet", "-zq", "x", NULL);
	says(&p, "thing sample: unknown option -z; try 'thing sample --help'\n");
	parse(&sample, &p, "x", "--name", NULL);
	says(&p, "thing sample: option --name needs an argument; try 'thing sample --help'\n");
	parse(&sample, &p, "x", "-n", NULL);
	says(&p, "thing sample: option -n needs an argument; try 'thing sample --help'\n");
	parse(&sample, &p, "x", "--quiet=1", NULL);
	says(&p, "thing sample: option --quiet takes no argument; try 'thing sample --help'\n");
	parse(&sample, &p, "x", "--net", "bridge", NULL);
	says(&p, "thing sample: --net bridge is not possible; allowed: none, host\n");
	parse(&sample, &p, "x", "--even", "abc", NULL);
	says(&p, "thing sample: --even abc is not possible; allowed: a word of even length\n");
	parse(&sample, &p, "x", "--never", "y", NULL);
	says(&p, "thing sample: --never y: Permission denied\n");
	parse(&sample, &p, NULL);
	says(&p, "thing sample: WORD [WORD] is missing; try 'thing sample --help'\n");
	parse(&sample, &p, "a", "b", "c", NULL);
	says(&p, "thing sample: unexpected argument c; try 'thing sample --help'\n");
}

static void a_hostile_value_is_escaped(void **state)
{
	struct parsed p;

	(void)state;
	parse(&sample, &p, "x", "--net", "a\033[2J\nb\xff\xe2\x80\xae", NULL);
	says(&p, "thing sample: --net $'a\\x1b[2J\\nb\\xff\\u202e' is not possible; allowed: none, "
		 "host\n");
}

static void an_option_that_failed_frees_what_came_before(void **state)
{
	struct parsed p;

	(void)state;
	parse(&sample, &p, "--label", "a=1", "--nope", NULL);
	assert_int_equal(p.outcome, COMMAND_BAD);
	assert_int_equal(p.values.labels.count, 1);
	command_values_free(&sample, &p.values);
}

static char *written(void (*write)(FILE *out))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	write(out);
	fclose(out);
	return text;
}

static void write_help(FILE *out)
{
	manual_write_command(out, "thing sample", &sample);
}

static void write_page(FILE *out)
{
	manual_write_command_page(out, &program, &sample, 1);
}

static void write_completion(FILE *out)
{
	manual_write_completion(out, &program);
}

static void help_and_page_and_completion_have_every_option(void **state)
{
	char *help = written(write_help), *page = written(write_page);
	char *completion = written(write_completion);

	(void)state;
	for (const struct command_option *o = options; o->name; o++) {
		char form[64];

		snprintf(form, sizeof(form), "--%s", o->name);
		assert_non_null(strstr(help, form));
		assert_non_null(strstr(help, o->doc));
		assert_non_null(strstr(page, o->doc));
		assert_non_null(strstr(completion, form));
	}
	assert_non_null(strstr(help, "--net none|host"));
	assert_non_null(strstr(help, "[--label K=V]..."));
	assert_non_null(strstr(page, "\\-\\-no\\-tty"));
	assert_non_null(strstr(completion, "sample:--net) words='none host'"));
	free(help);
	free(page);
	free(completion);
}

static void text_cannot_become_a_request_of_roff(void **state)
{
	char *page = written(write_page);

	(void)state;
	assert_non_null(strstr(page, "\n\\&.dot and \\eback\n"));
	assert_non_null(strstr(page, ".nf\n  literal \\- line\n.fi\n"));
	free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_of_option_lands_in_its_place),
		cmocka_unit_test(options_may_follow_the_first_word),
		cmocka_unit_test(what_follows_a_command_is_its_own),
		cmocka_unit_test(bad_lines_are_refused_in_one_clear_line),
		cmocka_unit_test(a_hostile_value_is_escaped),
		cmocka_unit_test(an_option_that_failed_frees_what_came_before),
		cmocka_unit_test(help_and_page_and_completion_have_every_option),
		cmocka_unit_test(text_cannot_become_a_request_of_roff),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
