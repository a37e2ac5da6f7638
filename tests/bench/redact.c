/*
 * What redaction costs: how long its databases take to make, how fast both nets read a record and
 * the output of builds, beside PCRE2 and RE2 over the same text in the same run, and what it adds
 * to an event. `bench-redact [MEGABYTES]`; fails below what has to hold.
 */
#include "re2_peer.h"
#include "redact_texts.h"
#include "supervisor/redact/redactor.h"
#include "supervisor/redact/rules.h"

#include <stdio.h>
#include <time.h>

#define HOLD_SHAPE_MBS 200
#define HOLD_EXACT_MBS 1000
#define HOLD_EVENT_NS 1000
#define CHUNK 4096
/* Each pattern for itself is slow: it reads so much less. */
#define PEER_PART 64
#define ROUNDS 3

static bool is_good = true;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const char *held(bool holds)
{
	is_good &= holds;
	return holds ? "held" : "NOT HELD";
}

static const uint8_t key[32] = "an unguessable deployment key...";

/* ---- secrets ---- */

#define SECRET_SIZE 40

static char *secret_texts(size_t count)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	char *text = calloc(count + 1, SECRET_SIZE + 1);
	uint32_t state = 1;

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < SECRET_SIZE; k++)
			text[i * (SECRET_SIZE + 1) + k] = letters[chance(&state) % 62];
	}
	return text;
}

static struct redactor *make(const struct shapes *shapes, size_t count, double *ret_seconds)
{
	struct redact_secret *list = calloc(count + 1, sizeof(*list));
	char *texts = secret_texts(count);
	struct redactor *r = NULL;

	for (size_t i = 0; i < count; i++)
		list[i] = (struct redact_secret){"SECRET", texts + i * (SECRET_SIZE + 1),
						 SECRET_SIZE};

	double start = seconds();
	for (int i = 0; i < 20; i++) {
		redactor_free(r);
		if (redactor_new(key, shapes, list, count, &r) < 0)
			exit(1);
	}
	*ret_seconds = (seconds() - start) / 20;
	free(texts);
	free(list);
	return r;
}

/* ---- a text through something ---- */

struct text {
	const char *name;
	char *data;
	size_t size;
};

typedef void search_chunk(void *with, const char *text, size_t size);

/* Megabytes a second of @part bytes of the text, in chunks, the best of some rounds. */
static double rate(const struct text *text, size_t part, search_chunk *search, void *with)
{
	double best = 0;

	for (int i = 0; i < ROUNDS; i++) {
		double start = seconds(), now;
		size_t at = 0;

		for (; at + CHUNK <= part; at += CHUNK)
			search(with, text->data + at, CHUNK);
		now = (double)at / 1e6 / (seconds() - start);
		best = now > best ? now : best;
	}
	return best;
}

static void search_ours(void *with, const char *text, size_t size)
{
	if (redactor_find(with, (struct bytes){text, size}) < 0)
		exit(1);
}

struct pcre2_peer {
	pcre2_code *codes[512];
	size_t count;
	pcre2_match_data *match;
};

/* For itself: every pattern over the whole text, as machine code. */
static void search_pcre2(void *with, const char *text, size_t size)
{
	struct pcre2_peer *p = with;

	for (size_t i = 0; i < p->count; i++) {
		for (size_t at = 0; at < size;) {
			size_t *ends = pcre2_get_ovector_pointer(p->match);

			if (pcre2_match(p->codes[i], (const uint8_t *)text, size, at, 0, p->match,
					NULL) < 0)
				break;
			at = ends[1] > at ? ends[1] : at + 1;
		}
	}
}

static void search_re2(void *with, const char *text, size_t size)
{
	re2_peer_search(with, text, size);
}

static void add_pcre2(struct pcre2_peer *p, const char *pattern)
{
	int error;
	size_t at;
	pcre2_code *code = pcre2_compile((const uint8_t *)pattern, PCRE2_ZERO_TERMINATED,
					 PCRE2_NEVER_UTF, &error, &at, NULL);

	if (!code)
		exit(1);
	pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
	p->codes[p->count++] = code;
}

static void pcre2_peer_free(struct pcre2_peer *p)
{
	for (size_t i = 0; i < p->count; i++)
		pcre2_code_free(p->codes[i]);
	pcre2_match_data_free(p->match);
}

/* ---- the parts ---- */

static void bench_exact(const struct text *text)
{
	static const size_t counts[] = {1, 5, 50, 500};

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		double make_s, mbs;
		struct redactor *r = make(NULL, counts[i], &make_s);

		mbs = rate(text, text->size, search_ours, r);
		printf("exact net, %-9s %4zu secrets, %5zu literals: %7.0f MB/s, made in %.3f ms",
		       text->name, counts[i], secrets_literals(r->secrets), mbs, make_s * 1e3);
		if (counts[i] <= 50)
			printf("  (hold: >= %d MB/s: %s)", HOLD_EXACT_MBS,
			       held(mbs >= HOLD_EXACT_MBS));
		putchar('\n');
		redactor_free(r);
	}
}

static void bench_shape(const struct text *text, const struct shapes *shapes)
{
	const char *patterns[512];
	struct pcre2_peer pcre2 = {.match = pcre2_match_data_create(8, NULL)};
	size_t count = shapes_count(shapes), read;
	double make_s, mbs, both;
	struct redactor *r = make(shapes, 0, &make_s);

	for (size_t i = 0; i < count && i < 512; i++)
		add_pcre2(&pcre2, patterns[i] = shapes_detector(shapes, i)->pattern);
	mbs = rate(text, text->size, search_ours, r);
	redactor_free(r);
	r = make(shapes, 5, &make_s);
	both = rate(text, text->size, search_ours, r);
	redactor_free(r);
	printf("shape net, %-9s %zu detectors: %7.0f MB/s, with 5 secrets %.0f MB/s  (hold: >= %d "
	       "MB/s: %s)\n",
	       text->name, count, mbs, both, HOLD_SHAPE_MBS, held(mbs >= HOLD_SHAPE_MBS));
	printf("  PCRE2 alone, %zu patterns: %7.2f MB/s\n", pcre2.count,
	       rate(text, text->size / PEER_PART, search_pcre2, &pcre2));
	pcre2_peer_free(&pcre2);

	struct re2_peer *re2 = re2_peer_new(patterns, count, &read);
	if (re2)
		printf("  RE2::Set, %zu of the patterns: %7.2f MB/s\n", read,
		       rate(text, text->size / PEER_PART, search_re2, re2));
	re2_peer_free(re2);
}

static int take_nothing(void *context, const struct redacted *record)
{
	(void)context;
	(void)record;
	return 0;
}

static double time_event(struct redactor *r, const struct event *e)
{
	enum { TIMES = 100 };
	double start = seconds();

	for (int i = 0; i < TIMES; i++) {
		if (redact_event(r, e, take_nothing, NULL) < 0)
			exit(1);
	}
	return (seconds() - start) / TIMES * 1e9;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void bench_events(const struct shapes *shapes)
{
	enum { EVENTS = 2000 };
	static double added[EVENTS];
	double make_s;
	struct redactor *r = make(shapes, 5, &make_s), *none = make(NULL, 0, &make_s);
	char room[EVENT_ROOM];
	uint32_t state = 3;
	struct event e;

	for (size_t i = 0; i < EVENTS; i++) {
		make_event(&state, &e, room);
		added[i] = time_event(r, &e) - time_event(none, &e);
	}
	qsort(added, EVENTS, sizeof(*added), compare);
	printf("added to an event, both nets, 5 secrets: median %.0f ns, 90th %.0f ns, 99th %.0f "
	       "ns  (hold: median <= %d ns: %s)\n",
	       added[EVENTS / 2], added[EVENTS * 9 / 10], added[EVENTS * 99 / 100], HOLD_EVENT_NS,
	       held(added[EVENTS / 2] <= HOLD_EVENT_NS));
	redactor_free(r);
	redactor_free(none);
}

/* Where the time of making the shape net goes, and what a database kept in a file would save. */
static void bench_making(void)
{
	static pcre2_code *codes[512], *read[512];
	struct shapes *shapes = NULL, *changed = NULL;
	json_t *changes = json_array();
	char why[RULES_WHY];
	uint8_t *kept;
	size_t at, size;
	int error;
	double times[5], plain = seconds();

	if (shapes_new(SHAPES_READ, &shapes) < 0)
		exit(1);
	shapes_free(shapes);
	times[0] = seconds();
	if (shapes_new(SHAPES_MACHINE_CODE, &shapes) < 0)
		exit(1);
	times[1] = seconds();
	if (shapes_change(shapes, changes, &changed, why) < 0)
		exit(1);
	times[2] = seconds();
	for (size_t d = 0; d < detector_count; d++)
		codes[d] = rules_compile(detectors[d].pattern, &at, &error);
	times[3] = seconds();
	if (pcre2_serialize_encode((const pcre2_code **)codes, (int)detector_count, &kept, &size,
				   NULL) < 0)
		exit(1);
	double start = seconds();
	pcre2_serialize_decode(read, (int)detector_count, kept, NULL);
	times[4] = seconds() - start;
	printf("shape net: made in %.2f ms, without machine code %.2f ms; of that the patterns "
	       "%.2f "
	       "ms, which read from a serialised file (%zu kB) would be %.2f ms; for a policy's "
	       "own rules %.2f ms\n",
	       (times[1] - times[0]) * 1e3, (times[0] - plain) * 1e3, (times[3] - times[2]) * 1e3,
	       size / 1000, times[4] * 1e3, (times[2] - times[1]) * 1e3);
	for (size_t d = 0; d < detector_count; d++) {
		pcre2_code_free(codes[d]);
		pcre2_code_free(read[d]);
	}
	pcre2_serialize_free(kept);
	shapes_free(changed);
	shapes_free(shapes);
	json_decref(changes);
}

int main(int argc, char **argv)
{
	size_t size = (argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 32) << 20;
	struct text texts[] = {{.name = "record"}, {.name = "build log"}};
	struct shapes *shapes;

	texts[0].data = record_lines(size, &texts[0].size);
	texts[1].data = build_log(size, &texts[1].size);
	if (shapes_new(SHAPES_MACHINE_CODE, &shapes) < 0)
		return 1;
	bench_making();
	for (size_t i = 0; i < 2; i++) {
		bench_exact(&texts[i]);
		bench_shape(&texts[i], shapes);
		free(texts[i].data);
	}
	bench_events(shapes);
	shapes_free(shapes);
	return is_good ? 0 : 1;
}
