/*
 * The command line of our programs, as tables: a program has commands, a command has options.
 *
 * Everything a user sees of them is derived from the rows: what is accepted (command_parse), usage,
 * help, manual pages and completion (manual.h). A command lives in one file that holds one
 * `const struct command command_NAME` and what it needs; to add one, write the file and list it in
 * the program's table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Every argument that an OPTION_TEXTS was given, in order; closed by a NULL when count is not 0. */
struct option_texts {
	const char **items; /* owned; the texts are those of argv */
	size_t count;
};

enum option_type {
	OPTION_FLAG,   /* bool: true once given */
	OPTION_SET,    /* int: becomes .value once given */
	OPTION_TEXT,   /* const char *: the argument, borrowed from argv */
	OPTION_TEXTS,  /* struct option_texts: may be given again and again */
	OPTION_CHOICE, /* int: the argument's index in .choices */
	OPTION_PARSED, /* whatever .parse makes of the argument */
};

struct command_option {
	const char *name;     /* without the dashes; NULL closes a table */
	char letter;	      /* short form, 0 if there is none */
	const char *argument; /* name of the argument in usage ("DIR"); NULL: it takes none */
	const char *doc;      /* half a sentence, lower case, no full stop */
	enum option_type type;
	size_t offset; /* where it goes in the command's struct of values */
	int value;
	const char *const *choices; /* NULL-terminated */
	/* 0, -EINVAL (not a value: the message says .allowed) or another -errno. */
	int (*parse)(const char *text, void *ret_value);
	const char *allowed; /* what .parse takes, in words */
};

/* A part of the manual page. Paragraphs are parted by an empty line; lines that begin with two
 * spaces are shown as they are. */
struct command_section {
	const char *heading; /* "EXIT STATUS"; NULL closes a list */
	const char *text;
};

/* Whose records a command reads: of the sessions that its first arguments name, or of all. */
enum command_reads {
	COMMAND_READS_NOTHING,
	COMMAND_READS_ONE,
	COMMAND_READS_TWO,
	COMMAND_READS_ALL,
	COMMAND_READS_LIST,   /* which there are, and nothing of them */
	COMMAND_READS_UNTOLD, /* the first one's, and shows nothing of it */
};

#define COMMAND_STATUS_USAGE                                                                       \
	2 /* exit status for a bad command line, where the row says nothing                        \
	   */

struct command {
	const char *name;    /* NULL where it is the whole program */
	const char *summary; /* half a sentence, lower case, no full stop */
	const char
		*positional; /* usage of what is not an option: "SESSION"; NULL if there is none */
	int positional_min, positional_max; /* how many of them; max -1: any number */
	bool stops_at_positional;  /* what follows the first one belongs to somebody else, dashes
				      and all */
	bool options_follow_first; /* with it: the first one is ours, and options may follow it */
	const struct command_option *options; /* NULL if there are none; --help is always there */
	size_t values_size;		      /* size of the struct that options are stored in */
	const void *defaults;		      /* what it holds before; NULL: zeroes */
	enum command_reads reads;
	int usage_status;	 /* exit status for a bad command line; 0: COMMAND_STATUS_USAGE */
	const char *description; /* text of the manual page, as in command_section; NULL: no page */
	const struct command_section *sections;

	/* Do it; returns the exit status. @values and @arguments are borrowed. */
	int (*run)(const void *values, int argument_count, char **arguments);
};

/* A default that is only known where the program runs. */
struct command_default {
	const char *name, *text; /* of an OPTION_TEXT */
};

struct program {
	const char *name;
	const char *version;
	const char *summary;
	const char *description;
	const struct command *const *commands; /* NULL-terminated */
	/*
	 * Called before a command runs and, if it was, after; another result than 0 is the exit
	 * status. *ret_kept goes from one to the other, which may be called with NULL. NULL: none.
	 */
	int (*before)(const struct command *c, void *values, int argument_count, char **arguments,
		      void **ret_kept);
	void (*after)(void *kept);
	/* Texts that options of these names have before they are given, where the command's own
	 * default is not NULL; closed by a name of NULL. NULL: none. */
	const struct command_default *defaults;
	const struct command_section *sections;
};

enum command_parsed {
	COMMAND_PARSED, /* @values and *ret_first are set */
	COMMAND_HELP,	/* --help was given */
	COMMAND_BAD,	/* one line on @errors says what is wrong and what is allowed */
};

/*
 * Parse @argv (argv[0] is skipped) into @values, which holds the defaults. @called is how the user
 * called the command ("vitrine ps"), for messages. *ret_first is the index in @argv, which gets
 * permuted, of the first positional. What was allocated is released by command_values_free, in any
 * case.
 */
enum command_parsed command_parse(const struct command *c, const char *called, int argc,
				  char **argv, void *values, int *ret_first, FILE *errors);
void command_values_free(const struct command *c, void *values);

/* The command of @p called @name, or NULL. */
const struct command *program_find(const struct program *p, const char *name);

/* main() of a program with commands, and of one that is a single command. Return the exit status.
 */
int program_main(const struct program *p, int argc, char **argv);
int command_main(const char *program, const struct command *c, int argc, char **argv);
