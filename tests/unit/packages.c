/* Packages, from the arguments of managers and from what they write. */
#include "../../replay/packages.h"
#include "../../supervisor/record/printable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct list {
	char text[512];
	size_t length;
};

static int add(void *context, const struct package *p)
{
	struct list *l = context;

	l->length += (size_t)snprintf(
		l->text + l->length, sizeof(l->text) - l->length, "%s%.*s|%.*s|%.*s%s",
		l->length ? " " : "", (int)p->manager.size, (const char *)p->manager.data,
		(int)p->name.size, (const char *)p->name.data, (int)p->version.size,
		p->version.size ? (const char *)p->version.data : "", p->is_installed ? "!" : "");
	return 0;
}

/* @words: parted by blanks. */
static void asked(const char *words, const char *want)
{
	struct list l = {.length = 0};
	char argv[512];
	struct event e;
	size_t size = (size_t)snprintf(argv, sizeof(argv), "%s", words);

	for (size_t i = 0; i < size; i++)
		argv[i] = argv[i] == ' ' ? 0 : argv[i];
	event_init(&e, EVENT_process_exec, 0, 0);
	event_put_bytes(&e, FIELD_argv, argv, size + 1);
	assert_int_equal(packages_in(&e, add, &l), 0);
	if (strcmp(l.text, want) != 0)
		fail_msg("%s: '%s', not '%s'", words, l.text, want);
}

static void written(enum event_kind kind, const char *path, const char *want)
{
	struct list l = {.length = 0};
	struct event e;

	event_init(&e, kind, 0, 0);
	event_put_text(&e, kind == EVENT_file_rename ? FIELD_new_path : FIELD_path, path);
	assert_int_equal(packages_in(&e, add, &l), 0);
	if (strcmp(l.text, want) != 0)
		fail_msg("%s: '%s', not '%s'", path, l.text, want);
}

static void managers_are_understood(void **state)
{
	(void)state;
	asked("pip install requests==2.31.0 flask", "pip|requests|==2.31.0 pip|flask|");
	asked("/usr/bin/python3 /usr/bin/pip3.11 install -q six>=1,<2", "pip|six|>=1,<2");
	asked("python3 -I -m pip --no-input install -r req.txt -i https://x/ uvicorn[standard]",
	      "pip|uvicorn|[standard]");
	asked("pip install git+https://example.org/a@v1", "pip|git+https://example.org/a@v1|");
	asked("uv pip install rich", "pip|rich|");
	asked("node /usr/bin/npm install --save-dev @types/node@20 left-pad",
	      "npm|@types/node|@20 npm|left-pad|");
	asked("npm i --registry http://r x@1.0", "npm|x|@1.0");
	asked("node /usr/lib/node_modules/npm/bin/npm-cli.js i x", "npm|x|");
	asked("apt-get -y -o A=b install curl=7.88 jq", "apt|curl|=7.88 apt|jq|");
	asked("apk add --no-cache -t .deps gcc", "apk|gcc|");
	asked("dnf install -y vim", "rpm|vim|");
	asked("cargo install --version 14.0 ripgrep", "cargo|ripgrep|");
	asked("cargo add serde@1", "cargo|serde|@1");
	asked("go install example.org/tool/cmd@v1.2.3", "go|example.org/tool/cmd|@v1.2.3");
	asked("ruby /usr/bin/gem install -v 3.0 rails", "gem|rails|");
	asked("pip install -- -odd", "pip|-odd|");
}

static void what_installs_nothing_is_left_alone(void **state)
{
	static const char *const none[] = {
		"pip list",
		"pip",
		"echo pip install x",
		"python3 -c pip install",
		"python3",
		"npm run install",
		"apt-get update",
		"go build ./...",
		"cargo build",
		"pip uninstall x",
		"/opt/pip/install a",
		"pip install",
		"pip install -q",
		"pip install -r a",
		"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		asked(none[i], "");
}

static void what_managers_write_is_understood(void **state)
{
	(void)state;
	written(EVENT_file_create,
		"/usr/lib/python3/dist-packages/requests-2.31.0.dist-info/METADATA",
		"pip|requests|2.31.0!");
	written(EVENT_file_modify,
		"/v/lib/python3.11/site-packages/typing_extensions-4.9.0rc1.dist-info/METADATA",
		"pip|typing_extensions|4.9.0rc1!");
	written(EVENT_file_create, "/a/site-packages/requests-2.31.0.dist-info/RECORD", "");
	written(EVENT_file_create, "/w/node_modules/left-pad/package.json", "npm|left-pad|!");
	written(EVENT_file_create, "/w/node_modules/a/node_modules/@s/b/package.json",
		"npm|@s/b|!");
	written(EVENT_file_create, "/w/node_modules/a/lib/package.json", "");
	written(EVENT_file_create, "/w/node_modules/@s/package.json", "");
	written(EVENT_file_rename, "/var/lib/dpkg/info/curl.list", "apt|curl|!");
	written(EVENT_file_rename, "/var/lib/dpkg/info/libc6:amd64.list", "apt|libc6|!");
	written(EVENT_file_create, "/var/lib/dpkg/info/curl.list-new", "");
	written(EVENT_file_create,
		"/root/.cargo/registry/cache/index.crates.io-6f17/serde-1.0.1.crate",
		"cargo|serde|1.0.1!");
	written(EVENT_file_create, "/root/go/pkg/mod/cache/download/golang.org/x/net/@v/v0.1.0.zip",
		"go|golang.org/x/net|v0.1.0!");
	written(EVENT_file_create, "/var/lib/gems/3.1/specifications/rails-7.0.1.gemspec",
		"gem|rails|7.0.1!");
	written(EVENT_file_delete, "/var/lib/dpkg/info/curl.list", "");
}

/* Paths and arguments are the session's: nothing of them leads out of the event. */
static void odd_ones_are_survived(void **state)
{
	static const char *const odd[] = {
		"/node_modules//package.json",
		"/node_modules/package.json",
		"-packages/.dist-info/METADATA",
		"/a-packages/-1.dist-info/METADATA",
		"/var/lib/dpkg/info/.list",
		"/var/lib/dpkg/info/:x.list",
		"/pkg/mod/cache/download//@v/.zip",
		"/pkg/mod/cache/download/@v/v1.zip",
		"/registry/cache/.crate",
		"/registry/cache/a/.crate",
		"/specifications/-.gemspec",
		".list",
		"/",
		"",
	};
	struct event e;
	struct list l = {.length = 0};

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		event_init(&e, EVENT_file_create, 0, 0);
		event_put_text(&e, FIELD_path, odd[i]);
		assert_int_equal(packages_in(&e, add, &l), 0);
	}
	event_init(&e, EVENT_process_exec, 0, 0);
	event_put_bytes(&e, FIELD_argv, "\0\0\0", 3);
	assert_int_equal(packages_in(&e, add, &l), 0);
	event_init(&e, EVENT_process_exec, 0, 0);
	assert_int_equal(packages_in(&e, add, &l), 0);
	event_init(&e, EVENT_file_rename, 0, 0);
	assert_int_equal(packages_in(&e, add, &l), 0);
}

static void a_record_of_an_install_is_one(void **state)
{
	struct list l = {.length = 0};
	struct event e;

	(void)state;
	event_init(&e, EVENT_package_install, 0, 0);
	event_put_text(&e, FIELD_manager, "pip");
	event_put_text(&e, FIELD_name, "six");
	event_put_text(&e, FIELD_package_version, "1.16");
	assert_int_equal(packages_in(&e, add, &l), 0);
	assert_string_equal(l.text, "pip|six|1.16!");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(managers_are_understood),
		cmocka_unit_test(what_installs_nothing_is_left_alone),
		cmocka_unit_test(what_managers_write_is_understood),
		cmocka_unit_test(odd_ones_are_survived),
		cmocka_unit_test(a_record_of_an_install_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
