/*
 * What redaction costs: how long the database of a session takes to make, and how fast both nets
 * read. `bench-redact [MEGABYTES]`.
 */
#include "supervisor/redact/redactor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint32_t chance(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

#define SECRET_SIZE 40
static const uint8_t key[32] = "an unguessable deployment key...";

static struct redactor *make(const struct shapes *shapes, size_t count, double *ret_seconds)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	struct redact_secret *list = calloc(count, sizeof(*list));
	char *text = malloc(count * SECRET_SIZE);
	struct redactor *r = NULL;
	uint32_t state = 1;

	for (size_t i = 0; i < count * SECRET_SIZE; i++)
		text[i] = letters[chance(&state) % 62];
	for (size_t i = 0; i < count; i++)
		list[i] = (struct redact_secret){"SECRET", text + i * SECRET_SIZE, SECRET_SIZE};

	double start = seconds();
	for (int i = 0; i < 20; i++) {
		redactor_free(r);
		if (redactor_new(key, shapes, list, count, &r) < 0)
			exit(1);
	}
	*ret_seconds = (seconds() - start) / 20;
	free(text);
	free(list);
	return r;
}

/* The output of builds: words, paths, numbers, lines. */
static char *build_log(size_t size)
{
	static const char *const words[] = {
		"gcc -O2 -c ",
		"supervisor/record/journal.c",
		" -o ",
		"build/obj/",
		"warning: ",
		"unused value",
		"\n",
		"CC ",
		"tests/unit/x",
		"Compiling ",
		"serde v1.0.188",
		"\n",
		"  ",
		"0x7ffd3a2b",
		"2026-01-02T03:04:05Z ",
		"INFO ",
		"done in 1.25s",
		"\n",
		"node_modules/",
		"index.js",
	};
	char *text = malloc(size + 64);
	uint32_t state = 7;
	size_t at = 0;

	while (at < size) {
		const char *word = words[chance(&state) % (sizeof(words) / sizeof(*words))];

		memcpy(text + at, word, strlen(word));
		at += strlen(word);
	}
	return text;
}

int main(int argc, char **argv)
{
	static const size_t counts[] = {1, 5, 50, 500};
	size_t size = (argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 64) << 20;
	char *text = build_log(size);

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		double make_s, start;
		struct redactor *r = make(NULL, counts[i], &make_s);

		start = seconds();
		for (size_t at = 0; at + 4096 <= size; at += 4096)
			if (redactor_find(r, (struct bytes){text + at, 4096}) < 0)
				exit(1);
		double took = seconds() - start;
		printf("%4zu secrets: %6zu literals, made in %8.3f ms, read at %6.0f MB/s\n",
		       counts[i], secrets_literals(r->secrets), make_s * 1e3,
		       (double)size / 1e6 / took);
		redactor_free(r);
	}

	struct shapes *shapes;
	struct redactor *r;
	double start = seconds(), make_s;

	if (shapes_new(&shapes) < 0)
		return 1;
	printf("shape net: made in %.3f ms\n", (seconds() - start) * 1e3);
	r = make(shapes, 5, &make_s);
	start = seconds();
	for (size_t at = 0; at + 4096 <= size; at += 4096)
		if (redactor_find(r, (struct bytes){text + at, 4096}) < 0)
			exit(1);
	printf("both nets, 5 secrets, build log: %.0f MB/s\n",
	       (double)size / 1e6 / (seconds() - start));
	redactor_free(r);
	shapes_free(shapes);
	free(text);
	return 0;
}
