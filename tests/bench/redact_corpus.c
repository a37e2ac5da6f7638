/*
 * How much of what looks like a secret is found, and how much else goes: recall and precision of
 * the shape net over tests/golden/redact, by category, and over the lines that were written before
 * anybody looked at how the rules do on them. `bench-redact_corpus [-v]`; fails below what has to
 * hold.
 */
#include "../unit/redact_corpus.h"
#include "supervisor/redact/redactor.h"

#define HOLD_RECALL 0.95
#define HOLD_PRECISION 0.90

struct score {
	const char *category;
	size_t found, missed, false_alarms;
};

static struct score *score_of(struct score *scores, const char *category)
{
	while (scores->category && strcmp(scores->category, category) != 0)
		scores++;
	scores->category = category;
	return scores;
}

static const char *category_of(const struct redactor *r, const char *rule)
{
	const struct shapes *shapes = shape_search_shapes(r->shapes);
	size_t d = shapes_by_name(shapes, rule);

	return d == shapes_count(shapes) ? "(none)" : shapes_detector(shapes, d)->category;
}

/* @category: of all lines of a file; NULL: each has that of its rule. */
static void judge(struct redactor *r, const struct corpus_line *line, const char *category,
		  struct score *scores, bool is_verbose)
{
	bool is_found = false;

	if (redactor_find(r, (struct bytes){line->text, line->size}) < 0)
		exit(1);
	for (size_t i = 0; i < r->spans.count; i++) {
		const struct span *span = &r->spans.items[i];

		if (line->has_secret && span->start < line->end && span->end > line->start) {
			is_found |= span->start <= line->start && span->end >= line->end;
			continue;
		}
		score_of(scores, category ? category : category_of(r, redactor_rule(r, span->rule)))
			->false_alarms++;
		if (is_verbose)
			printf("false alarm of %s: %.*s\n\tin %s\n", redactor_rule(r, span->rule),
			       (int)(span->end - span->start), line->text + span->start,
			       line->text);
	}
	if (!line->has_secret)
		return;
	if (is_found)
		score_of(scores, category ? category : category_of(r, line->rule))->found++;
	else
		score_of(scores, category ? category : category_of(r, line->rule))->missed++;
	if (!is_found && is_verbose)
		printf("missed %s\n\tin %s\n", line->rule, line->text);
}

static double share(size_t part, size_t other)
{
	return part + other ? (double)part / (double)(part + other) : 1;
}

static bool print(const struct score *s)
{
	double recall = share(s->found, s->missed), precision = share(s->found, s->false_alarms);

	printf("%-10s %5zu found %4zu missed %4zu false alarms   recall %5.1f %%   precision %5.1f "
	       "%%\n",
	       s->category, s->found, s->missed, s->false_alarms, recall * 100, precision * 100);
	return recall >= HOLD_RECALL && precision >= HOLD_PRECISION;
}

int main(int argc, char **argv)
{
	static const uint8_t key[32];
	static struct corpus_line line;
	bool is_verbose = argc > 1 && !strcmp(argv[1], "-v"), is_good = true;
	struct score scores[32] = {0}, all = {"all"};
	struct shapes *shapes;
	struct redactor *r;

	if (shapes_new(SHAPES_READ, &shapes) < 0 || redactor_new(key, shapes, NULL, 0, &r) < 0)
		return 1;
	for (size_t i = 0; i < CORPUS_FILES; i++) {
		FILE *file = fopen(corpus_files[i], "re");

		if (!file) {
			perror(corpus_files[i]);
			return 1;
		}
		while (corpus_next(file, &line))
			judge(r, &line, strstr(corpus_files[i], "apart") ? "apart" : NULL, scores,
			      is_verbose);
		fclose(file);
	}
	for (const struct score *s = scores; s->category; s++) {
		is_good &= print(s);
		all.found += s->found;
		all.missed += s->missed;
		all.false_alarms += s->false_alarms;
	}
	is_good &= print(&all);
	printf("hold: recall >= %.0f %%, precision >= %.0f %% in each: %s\n", HOLD_RECALL * 100,
	       HOLD_PRECISION * 100, is_good ? "held" : "NOT HELD");
	redactor_free(r);
	shapes_free(shapes);
	return is_good ? 0 : 1;
}
