/*
 * vitrine template: the root file systems that sessions start from.
 */
#include "place.h"
#include "record/command.h"
#include "record/jansson_cleanup.h"
#include "record/printable.h"
#include "record/store.h"
#include "template_store.h"

#include <errno.h>

#define STATUS_FAILED 1
#define STATUS_CHANGED 3

struct template_options {
	const char *state;
	bool json, replace;
};

static int complain(const struct fault *f)
{
	fprintf(stderr, "vitrine template: %s\n", f->text);
	return STATUS_FAILED;
}

static int print_json(const struct template_info *t)
{
	cleanup(json) json_t *object = json_pack(
		"{s:s, s:s, s:s, s:s, s:I, s:I, s:I}", "name", t->name, "digest", t->sum.digest,
		"source", t->source, "added", t->added, "entries", (json_int_t)t->sum.entries,
		"bytes", (json_int_t)t->sum.bytes, "left_out", (json_int_t)t->left_out);

	if (!object || json_dumpf(object, stdout, JSON_COMPACT | JSON_ENSURE_ASCII) < 0)
		return STATUS_FAILED;
	putchar('\n');
	return 0;
}

static int print(const struct template_options *o, const struct template_info *t)
{
	const struct printable p = printable_for(stdout, 0);

	if (o->json)
		return print_json(t);
	printf("%-20s sha256:%s  %s  %llu files, %llu bytes", t->name, t->sum.digest, t->added,
	       (unsigned long long)t->sum.entries, (unsigned long long)t->sum.bytes);
	if (t->left_out)
		printf(", %llu devices and sockets left out", (unsigned long long)t->left_out);
	fputs("  from ", stdout);
	printable_text(stdout, &p, (struct bytes){t->source, strlen(t->source)});
	putchar('\n');
	return ferror(stdout) ? STATUS_FAILED : 0;
}

static int add(const struct template_options *o, int store_fd, char **arguments)
{
	struct template_info info;
	struct fault f;

	if (template_store_add(store_fd, arguments[0], arguments[1], o->replace, &info, &f) < 0)
		return complain(&f);
	return print(o, &info);
}

static int list_one(const struct template_options *o, int store_fd, const char *name)
{
	cleanup(close_fd) int root_fd = -1, lock_fd = -1;
	struct template_info info;
	struct fault f;

	if (template_store_load(store_fd, name, &info, &root_fd, &lock_fd, &f) < 0)
		return complain(&f);
	return print(o, &info);
}

static int list(const struct template_options *o, int store_fd, char **arguments)
{
	char **names = NULL;
	struct fault f;
	int status = 0;

	(void)arguments;
	if (template_store_list(store_fd, &names, &f) < 0)
		return complain(&f);
	for (char **n = names; *n; n++) {
		int one = list_one(o, store_fd, *n);

		status = one ? one : status;
		free(*n);
	}
	free(names);
	return status;
}

static int drop(const struct template_options *o, int store_fd, char **arguments)
{
	struct fault f;

	(void)o;
	return template_store_remove(store_fd, arguments[0], &f) < 0 ? complain(&f) : 0;
}

static int check(const struct template_options *o, int store_fd, char **arguments)
{
	struct template_info info;
	struct fault f;
	bool same;

	if (template_store_check(store_fd, arguments[0], &same, &info, &f) < 0)
		return complain(&f);
	if (same)
		return print(o, &info);
	fprintf(stderr, "vitrine template: %s: is no longer what was added (sha256:%s)\n",
		info.name, info.sum.digest);
	return STATUS_CHANGED;
}

static const struct act {
	const char *name;
	int arguments;
	bool makes; /* the store, if there is none */
	int (*act)(const struct template_options *o, int store_fd, char **arguments);
} acts[] = {
	{"add", 2, true, add},
	{"ls", 0, false, list},
	{"rm", 1, false, drop},
	{"check", 1, false, check},
};

static int template_run(const void *values, int argument_count, char **arguments)
{
	const struct template_options *o = values;
	cleanup(place) struct place place;

	place_read(&place);
	const char *state = o->state ? o->state : place.state;

	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		cleanup(close_fd) int store_fd = -1;
		struct fault f;

		if (strcmp(arguments[0], acts[i].name) != 0 ||
		    argument_count - 1 != acts[i].arguments)
			continue;
		int r = template_store_open(state, acts[i].makes, &store_fd, &f);
		if (r == -ENOENT && acts[i].act == list)
			return 0;
		if (r == -ENOENT)
			fault_say(&f, "template", "there is no template %s", arguments[1]);
		return r < 0 ? complain(&f) : acts[i].act(o, store_fd, arguments + 1);
	}
	fprintf(stderr, "vitrine template: allowed: add NAME DIR, ls, rm NAME, check NAME\n");
	return COMMAND_STATUS_USAGE;
}

/* clang-format off */
const struct command command_template = {
	.name = "template",
	.summary = "keep root file systems for sessions to start from",
	.positional = "add NAME DIR | ls | rm NAME | check NAME",
	.positional_min = 1,
	.positional_max = 3,
	.options = (const struct command_option[]){
		{"state", 0, "DIR", "the state directory (default: " STORE_DEFAULT_STATE ")", OPTION_TEXT,
		 offsetof(struct template_options, state)},
		{"replace", 0, NULL, "with add: in place of the template that has the name", OPTION_FLAG,
		 offsetof(struct template_options, replace)},
		{"json", 0, NULL, "one JSON object a line", OPTION_FLAG, offsetof(struct template_options, json)},
		{0},
	},
	.values_size = sizeof(struct template_options),
	.description =
		"A template is a tree of files that is the root file system of sessions in place of the host's programs: "
		"vitrine run --rootfs NAME. Each session sees it with ids of its own, and changes a layer of its own above it.\n\n"
		"add copies the tree at DIR into the state directory, with names, modes, owners, hard links and extended "
		"attributes, but without devices, sockets and what is mounted in it. ls lists the templates. rm removes one that no "
		"session uses. check reads all of one again and says whether it is still what was added.\n\n"
		"The digest identifies what a session starts from, and stands in its record. It is a SHA-256 over all names, types, "
		"modes, owners, contents, link targets and extended attributes; times are no part of it, so that two copies of one tree "
		"have the same.\n\n"
		"All owners have to be ids from 0 to 65535, which is what a session has. The file system of the state directory has to "
		"support idmapped mounts (ext4, xfs, btrfs). If the template's /etc/passwd knows neither the id 1000 nor the name agent, "
		"a session's has both.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS", "0; 1 when it was refused, 2 for a bad command line, 3 when check found a difference."},
		{"EXAMPLES",
		 "A Debian without the host's programs.\n\n"
		 "  debootstrap --variant=minbase stable /tmp/debian\n"
		 "  vitrine template add debian /tmp/debian\n"
		 "  vitrine run --rootfs debian -- cat /etc/os-release"},
		{0},
	},
	.run = template_run,
};
/* clang-format on */
