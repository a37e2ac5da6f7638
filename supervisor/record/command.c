/*
 * Parses a command line by the rows of a command's table, and calls commands by name.
 */
#include "command.h"
#include "jansson_cleanup.h"

#include "manual.h"
#include "printable.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX 48
#define SECTION_OF_DAEMONS 8
#define CODE_HELP 1000
#define CODE_OPTION 1001 /* + index of the row */

#define SHOWN_MAX 200 /* bytes of a user's word in an error line */

/* What getopt_long wants to be told, made from the rows. */
struct getopt_tables {
	struct option longs[OPTIONS_MAX + 2];
	char letters[2 * OPTIONS_MAX + 4];
};

static void getopt_tables_init(struct getopt_tables *t, const struct command *c)
{
	size_t count = 0, letter = 0;

	if (c->stops_at_positional)
		t->letters[letter++] = '+';
	t->letters[letter++] = ':';
	for (const struct command_option *o = c->options; o && o->name && count < OPTIONS_MAX;
	     o++) {
		t->longs[count] = (struct option){
			.name = o->name,
			.has_arg = o->argument ? required_argument : no_argument,
			.val = CODE_OPTION + (int)count,
		};
		count++;
		if (!o->letter)
			continue;
		t->letters[letter++] = o->letter;
		if (o->argument)
			t->letters[letter++] = ':';
	}
	t->longs[count++] = (struct option){.name = "help", .val = CODE_HELP};
	t->longs[count] = (struct option){0};
	t->letters[letter] = 0;
}

static const struct command_option *option_by_code(const struct command *c, int code)
{
	if (code >= CODE_OPTION)
		return &c->options[code - CODE_OPTION];
	for (const struct command_option *o = c->options; o && o->name; o++) {
		if (o->letter && o->letter == code)
			return o;
	}
	return NULL;
}

static int append_text(struct option_texts *texts, const char *text)
{
	const char **items = realloc(texts->items, (texts->count + 2) * sizeof(*items));

	if (!items)
		return -ENOMEM;
	items[texts->count++] = text;
	items[texts->count] = NULL;
	texts->items = items;
	return 0;
}

static int choose(const struct command_option *o, const char *text, int *ret_index)
{
	for (int i = 0; o->choices[i]; i++) {
		if (!strcmp(o->choices[i], text)) {
			*ret_index = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* Store @text as the row says. 0 or -errno. */
static int store(const struct command_option *o, const char *text, void *values)
{
	void *where = (char *)values + o->offset;

	switch (o->type) {
	case OPTION_FLAG:
		*(bool *)where = true;
		return 0;
	case OPTION_SET:
		*(int *)where = o->value;
		return 0;
	case OPTION_TEXT:
		*(const char **)where = text;
		return 0;
	case OPTION_TEXTS:
		return append_text(where, text);
	case OPTION_CHOICE:
		return choose(o, text, where);
	case OPTION_PARSED:
		return o->parse(text, where);
	}
	return -EINVAL;
}

static void say_bad_value(FILE *errors, const char *called, const struct command_option *o,
			  const char *text, int r)
{
	struct printable printable = printable_for(errors, SHOWN_MAX);

	fprintf(errors, "%s: --%s ", called, o->name);
	printable_word(errors, &printable, bytes_of(text));
	if (r != -EINVAL) {
		fprintf(errors, ": %s\n", strerror(-r));
		return;
	}
	fputs(" is not possible; allowed: ", errors);
	for (size_t i = 0; o->choices && o->choices[i]; i++)
		fprintf(errors, "%s%s", i ? ", " : "", o->choices[i]);
	if (!o->choices)
		fputs(o->allowed ? o->allowed : o->argument, errors);
	fputc('\n', errors);
}

static void say_option(FILE *errors, const char *called, const char *what, const char *option,
		       const char *why)
{
	struct printable printable = printable_for(errors, SHOWN_MAX);

	fprintf(errors, "%s: %s ", called, what);
	printable_word(errors, &printable, bytes_of(option));
	fprintf(errors, "%s; try '%s --help'\n", why, called);
}

/* What getopt_long stopped at, as the user wrote it: -x, or --name without its argument. */
static void say_refused(FILE *errors, const char *called, char **argv, int code)
{
	char letter[] = {'-', (char)optopt, 0};
	const char *word = optind > 0 ? argv[optind - 1] : "";
	bool is_long = !optopt || optopt >= CODE_HELP;
	char *name = is_long ? strndup(word, strcspn(word, "=")) : NULL;
	const char *option = is_long ? (name ? name : word) : letter;

	if (code == ':')
		say_option(errors, called, "option", option, " needs an argument");
	else if (is_long && optopt)
		say_option(errors, called, "option", option, " takes no argument");
	else
		say_option(errors, called, "unknown option", option, "");
	free(name);
}

static enum command_parsed check_positionals(const struct command *c, const char *called, int argc,
					     char **argv, int first, FILE *errors)
{
	int count = argc - first;

	if (count < c->positional_min) {
		fprintf(errors, "%s: %s is missing; try '%s --help'\n", called, c->positional,
			called);
		return COMMAND_BAD;
	}
	if (c->positional_max >= 0 && count > c->positional_max) {
		say_option(errors, called, "unexpected argument", argv[first + c->positional_max],
			   "");
		return COMMAND_BAD;
	}
	return COMMAND_PARSED;
}

/* It was not "--" that getopt_long stopped at. */
static bool has_word(int argc, char **argv)
{
	return optind < argc && (optind <= 1 || strcmp(argv[optind - 1], "--") != 0);
}

enum command_parsed command_parse(const struct command *c, const char *called, int argc,
				  char **argv, void *values, int *ret_first, FILE *errors)
{
	struct getopt_tables tables;
	char *first = NULL;

	getopt_tables_init(&tables, c);
	opterr = 0;
	optind = 0; /* glibc: start anew */
	for (;;) {
		int code = getopt_long(argc, argv, tables.letters, tables.longs, NULL), r;
		const struct command_option *o;

		if (code == -1 && c->options_follow_first && !first && has_word(argc, argv)) {
			first = argv[optind++];
			continue;
		}
		if (code == -1)
			break;
		if (code == CODE_HELP)
			return COMMAND_HELP;
		if (code == '?' || code == ':') {
			say_refused(errors, called, argv, code);
			return COMMAND_BAD;
		}
		o = option_by_code(c, code);
		r = store(o, optarg, values);
		if (r < 0) {
			say_bad_value(errors, called, o, optarg, r);
			return COMMAND_BAD;
		}
	}
	if (first)
		argv[--optind] = first; /* what was there was parsed */
	*ret_first = optind;
	return check_positionals(c, called, argc, argv, optind, errors);
}

void command_values_free(const struct command *c, void *values)
{
	for (const struct command_option *o = c->options; o && o->name; o++) {
		struct option_texts *texts = (void *)((char *)values + o->offset);

		if (o->type != OPTION_TEXTS)
			continue;
		free(texts->items);
		*texts = (struct option_texts){0};
	}
}

const struct command *program_find(const struct program *p, const char *name)
{
	for (size_t i = 0; p->commands[i]; i++) {
		if (!strcmp(p->commands[i]->name, name))
			return p->commands[i];
	}
	return NULL;
}

static void put_defaults(const struct program *p, const struct command *c, void *values)
{
	for (const struct command_default *d = p->defaults; d && d->name; d++) {
		for (const struct command_option *o = c->options; o && o->name; o++) {
			const char **text = (const char **)((char *)values + o->offset);

			if (o->type == OPTION_TEXT && !strcmp(o->name, d->name) && *text)
				*text = d->text;
		}
	}
}

/* Parse and run. What went to standard output must have got there. */
static int call(const struct program *p, const struct command *c, const char *called, int argc,
		char **argv)
{
	void *values = calloc(1, c->values_size ? c->values_size : 1);
	void *kept = NULL;
	int first = 0, status = c->usage_status ? c->usage_status : COMMAND_STATUS_USAGE;

	json_set_up();
	if (!values) {
		fprintf(stderr, "%s: out of memory\n", called);
		return status;
	}
	if (c->defaults)
		memcpy(values, c->defaults, c->values_size);
	put_defaults(p, c, values);
	switch (command_parse(c, called, argc, argv, values, &first, stderr)) {
	case COMMAND_PARSED:
		status = p->before ? p->before(c, values, argc - first, argv + first, &kept) : 0;
		if (!status)
			status = c->run(values, argc - first, argv + first);
		if (p->after)
			p->after(kept);
		break;
	case COMMAND_HELP:
		manual_write_command(stdout, called, c);
		status = 0;
		break;
	case COMMAND_BAD:
		break;
	}
	command_values_free(c, values);
	free(values);
	if ((fflush(stdout) || ferror(stdout)) && !status) {
		fprintf(stderr, "%s: cannot write to standard output: %s\n", called,
			strerror(errno));
		status = 1;
	}
	return status;
}

int command_main(const char *program, const struct command *c, int argc, char **argv)
{
	const struct program alone = {.name = program, .version = VITRINE_VERSION};

	if (argc == 2 && !strcmp(argv[1], "--version")) {
		printf("%s %s\n", program, VITRINE_VERSION);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "--man")) {
		manual_write_command_page(stdout, &alone, c, SECTION_OF_DAEMONS);
		return 0;
	}
	return call(&alone, c, program, argc, argv);
}

int program_main(const struct program *p, int argc, char **argv)
{
	char called[128];
	const struct command *c;

	if (argc < 2) {
		manual_write_program(stderr, p);
		return COMMAND_STATUS_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		manual_write_program(stdout, p);
		return 0;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("%s %s\n", p->name, p->version);
		return 0;
	}
	c = program_find(p, argv[1]);
	if (!c) {
		say_option(stderr, p->name,
			   argv[1][0] == '-' ? "unknown option" : "unknown command", argv[1], "");
		return COMMAND_STATUS_USAGE;
	}
	snprintf(called, sizeof(called), "%s %s", p->name, c->name);
	return call(p, c, called, argc - 1, argv + 1);
}
