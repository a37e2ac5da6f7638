/*
 * Acts that know what they do. `acts GROUP...` performs each group and prints its own ground truth,
 * which the test compares with the record, both ways. Static, so that nothing but the acts is to be
 * seen.
 *
 * As `acts child CODE ...` it is the program that the exec acts run: it does nothing and exits with
 * CODE.
 */
#include "truth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int exit_of_child(const char *code)
{
	return (int)strtoul(code, NULL, 10);
}

int main(int argc, char *argv[])
{
	/* Behind an interpreter line the arguments come later, so the word is looked for. */
	for (int i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "child") && i + 1 < argc)
			return exit_of_child(argv[i + 1]);
		if (!strncmp(argv[i], "child ", 6))
			return exit_of_child(argv[i] + 6);
	}
	umask(022);
	truth("process.exec", getpid());
	truth_list("argv", argv);
	truth_text("exe.path", "/workspace/acts");
	truth_end();
	for (int i = 1; i < argc; i++) {
		const char *group = argv[i];

		if (!strcmp(group, "exec"))
			acts_exec(argv[0]);
		else if (!strcmp(group, "files"))
			acts_files();
		else if (!strcmp(group, "methods"))
			acts_write_methods();
		else if (!strcmp(group, "names"))
			acts_names();
		else if (!strcmp(group, "net"))
			acts_net();
		else if (!strcmp(group, "unix"))
			acts_unix();
		else if (!strcmp(group, "dns"))
			acts_dns();
		else if (!strcmp(group, "cred"))
			acts_cred();
		else if (!strcmp(group, "entry"))
			acts_entry();
		else if (!strncmp(group, "flood=", 6))
			acts_flood((int)strtoul(group + 6, NULL, 10));
		else if (!strncmp(group, "burst=", 6))
			acts_burst((int)strtoul(group + 6, NULL, 10));
		else if (!strncmp(group, "closes=", 7))
			acts_closes((int)strtoul(group + 7, NULL, 10));
		else if (!strncmp(group, "race=", 5))
			acts_race((int)strtoul(group + 5, NULL, 10));
		else
			acts_fail(group, __FILE__, __LINE__);
	}
	truth("process.exit", getpid());
	truth_number("exit_code", 0);
	truth_end();
	truth_print();
	return 0;
}
