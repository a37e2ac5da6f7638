/*
 * All of it is what a session wrote: names are taken as they are, bounded by the event, and shown
 * by who prints them.
 */
#include "packages.h"

#include "../supervisor/record/printable.h"

#include <ctype.h>
#include <string.h>

/* ---- what is asked for ---- */

static const struct {
	const char *manager;
	const char *programs[4];
	const char *verbs[4];
	const char *valued[12]; /* options whose value is an argument of its own */
	const char *separators; /* what ends a name; one at its beginning belongs to it */
} callers[] = {
	{"pip",
	 {"pip", "pip3", "pipx", "uv"},
	 {"install", "download", "add"},
	 {"-r", "--requirement", "-c", "--constraint", "-i", "--index-url", "--extra-index-url",
	  "-f", "--find-links", "-t", "--target", "--prefix"},
	 "[=<>!~; "},
	{"npm",
	 {"npm", "yarn", "pnpm", "bun"},
	 {"install", "i", "add"},
	 {"--registry", "--prefix", "-w", "--workspace", "--tag", "-C"},
	 "@"},
	{"apt",
	 {"apt", "apt-get", "aptitude"},
	 {"install"},
	 {"-o", "--option", "-t", "--target-release", "-c", "--config-file"},
	 "=/"},
	{"apk",
	 {"apk"},
	 {"add"},
	 {"-t", "--virtual", "-X", "--repository", "-p", "--root"},
	 "=<>~@"},
	{"rpm",
	 {"dnf", "yum", "microdnf", "zypper"},
	 {"install", "in"},
	 {"-c", "--config", "--repo", "--enablerepo", "--disablerepo", "-x", "--exclude"},
	 "="},
	{"cargo",
	 {"cargo"},
	 {"install", "add"},
	 {"--version", "--vers", "--git", "--branch", "--rev", "--path", "--root", "-F",
	  "--features", "--registry", "--index", "-j"},
	 "@"},
	{"go", {"go"}, {"install", "get"}, {"-tags", "-ldflags", "-p", "-mod", "-C", "-o"}, "@"},
	{"gem",
	 {"gem"},
	 {"install"},
	 {"-v", "--version", "-s", "--source", "-i", "--install-dir", "-n", "--bindir"},
	 ":"},
};

#define CALLERS (sizeof(callers) / sizeof(callers[0]))
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is(struct bytes text, const char *word)
{
	return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

static bool is_one_of(struct bytes text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count && words[i]; i++)
		if (is(text, words[i]))
			return true;
	return false;
}

static bool begins_with(struct bytes text, const char *word)
{
	return text.size >= strlen(word) && memcmp(text.data, word, strlen(word)) == 0;
}

/* The last part of a path, without a version behind it: "pip3" of "/usr/bin/pip3.11". */
static struct bytes program_of(struct bytes path)
{
	const char *slash = memrchr(path.data, '/', path.size), *dot;

	if (slash) {
		path.size -= (size_t)(slash + 1 - (const char *)path.data);
		path.data = slash + 1;
	}
	dot = memchr(path.data, '.', path.size);
	if (dot && dot > (const char *)path.data && isdigit((unsigned char)dot[-1]))
		path.size = (size_t)(dot - (const char *)path.data);
	return path;
}

static bool is_interpreter(struct bytes program)
{
	static const char *const words[] = {"python", "python2", "python3", "node",
					    "nodejs", "ruby",	 "bun"};

	return is_one_of(program, words, COUNT(words));
}

/* The package manager that the arguments call; *cursor is behind its name. CALLERS: none. A script
 * is called by its interpreter, which the kernel puts before it. */
static size_t find_caller(struct bytes argv, size_t *cursor)
{
	struct bytes item;

	if (!bytes_next_item(argv, cursor, &item) || !item.size)
		return CALLERS;
	if (is_interpreter(program_of(item))) {
		do {
			if (!bytes_next_item(argv, cursor, &item) || is(item, "-c"))
				return CALLERS;
		} while (begins_with(item, "-"));
		/* The script of npm and its like is called npm-cli.js. */
		if (item.size > 7 &&
		    memcmp((const char *)item.data + item.size - 7, "-cli.js", 7) == 0)
			item.size -= 7;
	}
	for (size_t i = 0; item.size && i < CALLERS; i++)
		if (is_one_of(program_of(item), callers[i].programs, COUNT(callers[i].programs)))
			return i;
	return CALLERS;
}

/* True for an option; where its value is the next argument, that is passed over too. */
static bool pass_option(struct bytes argv, size_t *cursor, size_t caller, struct bytes item)
{
	if (!begins_with(item, "-"))
		return false;
	if (is_one_of(item, callers[caller].valued, COUNT(callers[caller].valued)))
		bytes_next_item(argv, cursor, &item);
	return true;
}

/* True if what comes is a verb by which packages are installed; `uv pip install` has two words. */
static bool find_verb(struct bytes argv, size_t *cursor, size_t caller)
{
	struct bytes item;

	while (bytes_next_item(argv, cursor, &item)) {
		if (pass_option(argv, cursor, caller, item) || is(item, "pip"))
			continue;
		return is_one_of(item, callers[caller].verbs, COUNT(callers[caller].verbs));
	}
	return false;
}

static int tell_asked(size_t caller, struct bytes spec, package_found *found, void *context)
{
	const char *text = spec.data;
	size_t length = 1;

	while (length < spec.size && !strchr(callers[caller].separators, text[length]))
		length++;
	/* "git+https://..." and paths are names as they are. */
	if (memmem(spec.data, spec.size, "://", 3))
		length = spec.size;
	const struct package p = {
		.manager = bytes_of(callers[caller].manager),
		.name = {text, length},
		.version = {text + length, spec.size - length},
	};
	return found(context, &p);
}

static int packages_asked(const struct event *e, package_found *found, void *context)
{
	struct bytes argv = event_bytes(e, FIELD_argv), item;
	size_t cursor = 0, caller = argv.data ? find_caller(argv, &cursor) : CALLERS;
	bool all_names = false;
	int r = 0;

	if (caller == CALLERS || !find_verb(argv, &cursor, caller))
		return 0;
	while (r == 0 && bytes_next_item(argv, &cursor, &item)) {
		if (!item.size || (!all_names && is(item, "--"))) {
			all_names |= item.size > 0;
			continue;
		}
		if (all_names || !pass_option(argv, &cursor, caller, item))
			r = tell_asked(caller, item, found, context);
	}
	return r;
}

/* ---- what arrives ---- */

enum split {
	SPLIT_NONE,
	SPLIT_DASH,  /* name-1.0 */
	SPLIT_COLON, /* name:amd64 */
	SPLIT_V,     /* example.org/name/@v/v1.0 */
};

static const struct {
	const char *manager;
	const char *before, *after; /* what stands around it in a path; .after ends the path */
	size_t slashes;		    /* in the name, at most */
	enum split split;
	bool is_last_part; /* only the last part of what is between them */
} databases[] = {
	{"pip", "-packages/", ".dist-info/METADATA", 0, SPLIT_DASH, false},
	{"npm", "/node_modules/", "/package.json", 1, SPLIT_NONE, false},
	{"apt", "/var/lib/dpkg/info/", ".list", 0, SPLIT_COLON, false},
	{"cargo", "/registry/cache/", ".crate", 0, SPLIT_DASH, true},
	{"go", "/pkg/mod/cache/download/", ".zip", SIZE_MAX, SPLIT_V, false},
	{"gem", "/specifications/", ".gemspec", 0, SPLIT_DASH, false},
};

static const char *find_last(struct bytes text, const char *word)
{
	const char *found = NULL, *at = text.data, *end = at + text.size;

	while ((at = memmem(at, (size_t)(end - at), word, strlen(word)))) {
		found = at;
		at++;
	}
	return found;
}

/* Where the version begins, and how long what stands before it is. */
static const char *version_in(struct bytes text, enum split split, size_t *ret_sign)
{
	const char *at = text.data, *end = at + text.size, *found = NULL;

	*ret_sign = split == SPLIT_V ? 4 : 1;
	if (split == SPLIT_V)
		return find_last(text, "/@v/");
	if (split == SPLIT_COLON)
		return memchr(at, ':', text.size);
	for (; split == SPLIT_DASH && at + 1 < end; at++)
		if (*at == '-' && isdigit((unsigned char)at[1]))
			found = at;
	return found;
}

static size_t count_slashes(struct bytes text)
{
	size_t count = 0;

	for (size_t i = 0; i < text.size; i++)
		count += ((const char *)text.data)[i] == '/';
	return count;
}

static bool read_row(size_t row, struct bytes path, struct package *p)
{
	size_t before = strlen(databases[row].before), after = strlen(databases[row].after), sign;
	const char *start = find_last(path, databases[row].before), *end, *at;

	if (!start || path.size < after)
		return false;
	start += before;
	end = (const char *)path.data + path.size - after;
	if (end <= start || memcmp(end, databases[row].after, after) != 0)
		return false;
	if (databases[row].is_last_part && (at = memrchr(start, '/', (size_t)(end - start))))
		start = at + 1;
	struct bytes name = {start, (size_t)(end - start)};
	at = version_in(name, databases[row].split, &sign);
	if (!at && databases[row].split != SPLIT_NONE && databases[row].split != SPLIT_COLON)
		return false;
	*p = (struct package){.manager = bytes_of(databases[row].manager), .is_installed = true};
	if (at && databases[row].split != SPLIT_COLON)
		p->version = (struct bytes){at + sign, (size_t)(end - at) - sign};
	if (at)
		name.size = (size_t)(at - start);
	p->name = name;
	size_t slashes = count_slashes(name);
	return name.size && slashes <= databases[row].slashes &&
	       (databases[row].slashes != 1 || (slashes == 1) == (*start == '@'));
}

static int packages_written(struct bytes path, package_found *found, void *context)
{
	struct package p;

	for (size_t row = 0; path.data && row < COUNT(databases); row++)
		if (read_row(row, path, &p))
			return found(context, &p);
	return 0;
}

int packages_in(const struct event *e, package_found *found, void *context)
{
	struct package told = {.manager = event_bytes(e, FIELD_manager),
			       .name = event_bytes(e, FIELD_name),
			       .version = event_bytes(e, FIELD_package_version),
			       .is_installed = true};

	switch (e->kind) {
	case EVENT_process_exec:
		return packages_asked(e, found, context);
	case EVENT_file_create:
	case EVENT_file_modify:
		return packages_written(event_bytes(e, FIELD_path), found, context);
	case EVENT_file_rename:
	case EVENT_file_link:
		return packages_written(event_bytes(e, FIELD_new_path), found, context);
	case EVENT_package_install:
		return told.name.data ? found(context, &told) : 0;
	default:
		return 0;
	}
}
