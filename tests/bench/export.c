/*
 * What projections cost, on the records of a real session (records.jsonl), and a journal of many of
 * them to measure sinks with:
 *
 *   bench-export [RECORDS]
 *   bench-export state DIRECTORY RECORDS
 */
#include "exporters/project/hide.h"
#include "exporters/project/projection.h"
#include "supervisor/record/cleanup.h"
#include "supervisor/record/journal.h"
#include "supervisor/record/store.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define RECORDS_FILE "tests/bench/records.jsonl"
#define RECORDS_MAX 256
#define SESSION "0123456789ab"

struct sample {
	struct redacted records[RECORDS_MAX];
	struct json_arena *arenas[RECORDS_MAX]; /* what the records point into */
	size_t count;
	size_t bytes; /* of the lines */
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void read_sample(struct sample *s)
{
	FILE *file = fopen(RECORDS_FILE, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t length;

	if (!file) {
		perror(RECORDS_FILE);
		exit(1);
	}
	while (s->count < RECORDS_MAX && (length = getline(&line, &room, file)) > 0) {
		const char *session, *error = "";

		s->arenas[s->count] = json_arena_new();
		if (json_read_event(s->arenas[s->count], line, (size_t)length,
				    &s->records[s->count].event, &session, &error)) {
			fprintf(stderr, "%s: %s\n", RECORDS_FILE, error);
			exit(1);
		}
		s->count++;
		s->bytes += (size_t)length;
	}
	fclose(file);
	free(line);
}

static void measure(const struct projection *projection, const struct sample *s, size_t records)
{
	static const struct hide_key no_key;
	struct session_facts facts = {"bench.example", "boot", "0.1.0", "build", "blue"};
	struct json_buffer out = {0}, scratch = {0};
	double begin = seconds(), took;
	uint64_t bytes = 0;

	for (size_t i = 0; i < records; i++) {
		struct event e = s->records[i % s->count].event;
		struct projected p = {SESSION, &facts, &e, &scratch};

		e.seq = i + 1;
		hide_data(&e, &no_key);
		if (projection->write(&out, &p) < 0)
			exit(1);
		if (out.length > 1 << 20) {
			bytes += out.length;
			out.length = 0;
		}
	}
	bytes += out.length;
	took = seconds() - begin;
	printf("projection %-8s %10.0f records/s %8.1f MiB/s a core  (%.0f bytes a record)\n",
	       projection->name, (double)records / took, (double)bytes / took / (1 << 20),
	       (double)bytes / (double)records);
	json_buffer_free(&out);
	json_buffer_free(&scratch);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int write_state(const char *directory, const struct sample *s, size_t records)
{
	cleanup(close_fd) int fd = -1;
	char path[4096];
	struct journal *j;

	mkdir(directory, 0755);
	snprintf(path, sizeof(path), "%s/sessions", directory);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/sessions/" SESSION, directory);
	mkdir(path, 0755);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || journal_open(fd, &(struct journal_options){.session = SESSION}, &j) < 0) {
		perror(path);
		return 1;
	}
	for (size_t i = 0; i < records; i++) {
		struct redacted record = s->records[i % s->count];

		record.event.time_ns = now_ns(CLOCK_REALTIME);
		if (journal_append(j, &record, NULL) < 0 ||
		    (i % 512 == 0 && journal_flush(j, now_ns(CLOCK_MONOTONIC)) < 0))
			return 1;
	}
	return journal_close(j) < 0;
}

int main(int argc, char **argv)
{
	static struct sample s;
	int status = 0;

	read_sample(&s);
	if (argc == 4 && !strcmp(argv[1], "state")) {
		status = write_state(argv[2], &s, strtoull(argv[3], NULL, 10));
	} else {
		size_t records = argc > 1 ? strtoull(argv[1], NULL, 10) : 300000;

		for (size_t i = 0; projections[i]; i++)
			measure(projections[i], &s, records);
	}
	for (size_t i = 0; i < s.count; i++)
		json_arena_free(s.arenas[i]);
	return status;
}
