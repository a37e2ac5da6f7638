/*
 * What the redaction stage reads all day, made by chance but always the same: the output of builds
 * and tests, and the events of a session that builds.
 */
#pragma once

#include "supervisor/record/event.h"
#include "supervisor/record/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline uint32_t chance(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* In a template: %w a word, %d a number, %h eight hexadecimal digits. */
static const char *const log_lines[] = {
	"gcc -std=gnu17 -O2 -g -Wall -Wextra -I. -Ibuild/include -MMD -MP -c -o build/%w/%w.o "
	"src/%w/%w.c\n",
	"  CC      supervisor/%w/%w.c\n",
	"src/%w/%w.c:%d:%d: warning: unused variable '%w' [-Wunused-variable]\n",
	"src/%w.c: In function '%w_%w':\n",
	"/usr/bin/ld: build/%w.o: in function `%w_%w':\n",
	"   Compiling %w v1.%d.%d\n",
	"    Finished release [optimized] target(s) in %d.%ds\n",
	"go: downloading github.com/%w/%w v0.%d.0\n",
	"npm WARN deprecated %w@%d.1.0: this version is no longer supported\n",
	"added %d packages, and audited %d packages in %ds\n",
	"    resolved \"https://registry.npmjs.org/%w/-/%w-%d.2.0.tgz#%h%h%h%h%h\"\n",
	"    integrity sha512-%h%h%h%h/%h%h%h+%h%h%h%h==\n",
	"Collecting %w==%d.%d.2\n",
	"  Downloading https://files.pythonhosted.org/packages/%h/%w-%d.0-py3-none-any.whl (%d "
	"kB)\n",
	"tests/test_%w.py::test_%w_%w PASSED                             [ %d%%]\n",
	"tests/test_%w.py::test_token_of_%w_is_refreshed PASSED        [ %d%%]\n",
	"ok %d - %w %w of the %w\n",
	"--- PASS: Test%w (%d.%ds)\n",
	"2026-01-02T03:04:05.%dZ INFO  %w: handled request id=%h-%h method=GET path=/api/v1/%w "
	"status=200 in %dms\n",
	"2026-01-02T03:04:05.%dZ DEBUG %w: cache key=%w/%w hit=true\n",
	"    at %w.%w (/app/node_modules/%w/lib/%w.js:%d:%d)\n",
	"  File \"/usr/lib/python3/dist-packages/%w/%w.py\", line %d, in %w\n",
	"Step %d/%d : RUN apt-get install -y --no-install-recommends %w %w\n",
	" ---> %h%h\n",
	"drwxr-xr-x 2 root root  %d Jan  2 03:04 %w\n",
	"diff --git a/src/%w.c b/src/%w.c\nindex %h..%h 100644\n",
	"+	if (%w->%w == NULL || %w_%w(%w) < 0)\n+		return -EINVAL;\n",
	"remote: Counting objects: 100% (%d/%d), done.\n",
	"commit %h%h%h%h%h\nAuthor: %w <%w@example.org>\n",
	"[%d/%d] Linking CXX executable bin/%w\n",
	"%w: error while loading shared libraries: lib%w.so.%d: cannot open shared object file\n",
	"Get:%d http://deb.debian.org/debian bookworm/main amd64 %w amd64 %d.%d-1 [%d kB]\n",
};

static const char *const log_words[] = {
	"record",  "journal", "parser", "session", "buffer",	"index",   "client", "server",
	"engine",  "reader",  "writer", "config",  "test",	"stream",  "table",  "lookup",
	"request", "model",   "render", "commit",  "transport", "state",   "policy", "event",
	"react",   "serde",   "tokio",	"numpy",   "webpack",	"monitor", "handle", "path",
};

/* Write one line; returns its size, 400 bytes at most. */
static inline size_t log_line(uint32_t *state, char *out)
{
	size_t lines = sizeof(log_lines) / sizeof(*log_lines), at = 0;
	const char *t = log_lines[chance(state) % lines];

	for (; *t && at < 380; t++) {
		if (*t != '%') {
			out[at++] = *t;
			continue;
		}
		t++;
		if (*t == 'w') {
			const char *word = log_words[chance(state) % 32];
			size_t size = strlen(word);

			memcpy(out + at, word, size);
			at += size;
		} else {
			at += (size_t)snprintf(out + at, 10, *t == 'h' ? "%08x" : "%u",
					       *t == 'h' ? chance(state) * 251
							 : chance(state) % 900);
		}
	}
	return at;
}

/* The output of builds and tests: *ret_size bytes or a little more. */
static inline char *build_log(size_t size, size_t *ret_size)
{
	char *text = malloc(size + 512);
	uint32_t state = 7;
	size_t at = 0;

	while (at < size)
		at += log_line(&state, text + at);
	*ret_size = at;
	return text;
}

#define EVENT_ROOM 1024

/* An event of a build, its texts in @room (EVENT_ROOM bytes). Returns how many bytes they are. */
static inline size_t make_event(uint32_t *state, struct event *e, char *room)
{
	static const enum event_kind files[] = {EVENT_file_create, EVENT_file_modify,
						EVENT_file_read, EVENT_file_delete};
	uint32_t which = chance(state) % 20;
	size_t size = log_line(state, room), path;

	if (which < 10) {
		path = (size_t)snprintf(room, EVENT_ROOM, "/workspace/project/build/%s/%s-%08x.o",
					log_words[chance(state) % 32], log_words[which],
					chance(state));
		event_init(e, files[which % 4], 1, 1);
		event_put_bytes(e, FIELD_path, room, path);
		return path;
	}
	if (which < 14) {
		for (size_t i = 0; i < size; i++)
			room[i] = room[i] == ' ' || room[i] == '\n' ? 0 : room[i];
		memcpy(room + size, "/usr/bin/cc\0/workspace/project", 31);
		event_init(e, EVENT_process_exec, 1, 1);
		event_put_bytes(e, FIELD_argv, room, size);
		event_put_bytes(e, FIELD_requested, room + size, 11);
		event_put_bytes(e, FIELD_cwd, room + size + 12, 18);
		return size + 29;
	}
	if (which < 16) {
		size = (size_t)snprintf(room, EVENT_ROOM, "%s.example.org",
					log_words[chance(state) % 32]);
		event_init(e, EVENT_dns_query, 1, 1);
		event_put_bytes(e, FIELD_name, room, size);
		return size;
	}
	if (which < 18) {
		event_init(e, EVENT_process_exit, 1, 1);
		return 0;
	}
	event_init(e, EVENT_output, 1, 1);
	event_put_text(e, FIELD_stream, "stdout");
	event_put_bytes(e, FIELD_data, room, size);
	return size;
}

/* Lines of a record, as replay --json prints them: *ret_size bytes or a little more. */
static inline char *record_lines(size_t size, size_t *ret_size)
{
	struct json_buffer out = {0};
	char room[EVENT_ROOM];
	uint32_t state = 11;
	struct event e;

	for (uint64_t seq = 1; out.length < size; seq++) {
		make_event(&state, &e, room);
		e.seq = seq;
		if (json_write_event(&out, "2026-01-02-abcdef", &e) < 0)
			exit(1);
		json_write_raw(&out, "\n", 1);
	}
	*ret_size = out.length;
	return out.text;
}
