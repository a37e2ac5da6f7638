/* Patterns of paths. */
#include "../../supervisor/capture/glob.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void matches_patterns(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool is_match;
	} cases[] = {
		{"/etc/shadow", "/etc/shadow", true},
		{"/etc/shadow", "/etc/shadow-", false},
		{"/etc/shadow", "/etc/shado", false},
		{"", "", true},
		{"", "/", false},
		{"/a/*", "/a/b", true},
		{"/a/*", "/a/", true},
		{"/a/*", "/a/b/c", false},
		{"/a/*/c", "/a/b/c", true},
		{"/a/*/c", "/a/c", false},
		{"/*x*y", "/axby", true},
		{"/*x*y", "/axbz", false},
		{"/*x*y", "/ax/y", false},
		{"/a/?", "/a/b", true},
		{"/a/?", "/a/", false},
		{"/a?b", "/a/b", false},
		{"**", "/any/thing", true},
		{"/workspace/**", "/workspace/a/b", true},
		{"/workspace/**", "/workspace", false},
		{"**/.env", "/home/x/.env", true},
		{"**/.env", "/.env", true},
		{"**/.env", "/home/x.env", false},
		{"**/.ssh/**", "/root/.ssh/id", true},
		{"**/.ssh/**", "/root/.sshx/id", false},
		{"**/a*b/c", "/x/ab/ab/c", true},
		{"**/a*b/c", "/x/ab/ad/c", false},
		{"**/*.pem", "/x/y/z.pem", true},
		{"**/*.pem", "/x/y/z.pem/w", false},
		{"/[a-c]x", "/bx", true},
		{"/[a-c]x", "/dx", false},
		{"/[!a-c]x", "/dx", true},
		{"/[!a-c]x", "/ax", false},
		{"/a[!x]b", "/a/b", false},
		{"/[]]", "/]", true},
		{"/[a", "/[a", true},
		{"/[a", "/a", false},
		{"/\\*", "/*", true},
		{"/\\*", "/x", false},
		{"/a\\", "/a\\", true},
		{"/\xc3\xa4", "/\xc3\xa4", true},
		{"/?", "/\n", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* Exactly as large as it is, so that a sanitizer sees what reads beyond. */
		size_t size = strlen(cases[i].path);
		char *path = malloc(size ? size : 1);

		memcpy(path, cases[i].path, size);
		bool is_match = glob_match(cases[i].pattern, (struct bytes){path, size});
		free(path);
		if (is_match != cases[i].is_match)
			fail_msg("%s against %s", cases[i].path, cases[i].pattern);
	}
}

/* A star looks at one name only, however long the path. */
static void is_not_slow_on_hostile_paths(void **state)
{
	static char path[16384];

	(void)state;
	memset(path, 'a', sizeof(path));
	for (size_t i = 0; i < sizeof(path); i += 128)
		path[i] = '/';
	assert_false(glob_match("**/*a*a*a*b", (struct bytes){path, sizeof(path)}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_patterns),
		cmocka_unit_test(is_not_slow_on_hostile_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
