/*
 * vitrine stats: a session in numbers.
 */
#include "commands.h"
#include "question.h"
#include "redactions.h"
#include "tally.h"
#include "tally_json.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_SHOWN_MAX 10

struct stats {
	struct answer answer;
	struct tally *tally;
	struct redactions *redactions;
	uint64_t *acts; /* by number of actor */
	size_t room;
	uint64_t second, in_second; /* the second that is counted */
	uint64_t peak_second, peak_records;
};

static void stats_free(void *state)
{
	struct stats *s = state;

	answer_free(&s->answer);
	tally_free(s->tally);
	redactions_free(s->redactions);
	free(s->acts);
	free(s);
}

static int stats_begin(const struct view_options *options, void **ret_state)
{
	struct stats *s = calloc(1, sizeof(*s));
	int r = s ? answer_begin(&s->answer, options) : -ENOMEM;

	if (!s)
		return r;
	if (r == 0)
		r = tally_new(&s->tally);
	if (r == 0)
		r = redactions_new(&s->redactions);
	if (r < 0) {
		stats_free(s);
		return r;
	}
	*ret_state = s;
	return 0;
}

static int count_act(struct stats *s, const struct event *e)
{
	struct bytes key = event_bytes(e, FIELD_proc);
	size_t count = actors_count(s->answer.actors), room = s->room ? s->room : 64, number;

	if (count > s->room) {
		uint64_t *grown;

		while (room < count)
			room *= 2;
		grown = realloc(s->acts, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memset(grown + s->room, 0, (room - s->room) * sizeof(*grown));
		s->acts = grown;
		s->room = room;
	}
	if (key.data && actors_find(s->answer.actors, key, &number) == 0)
		s->acts[number]++;
	return 0;
}

static void count_second(struct stats *s, uint64_t second)
{
	s->in_second = second == s->second ? s->in_second + 1 : 1;
	s->second = second;
	if (s->in_second <= s->peak_records)
		return;
	s->peak_records = s->in_second;
	s->peak_second = second;
}

static int stats_event(void *state, const struct event *e, const struct origin *origin, bool wanted)
{
	struct stats *s = state;
	int r = answer_add(&s->answer, e);

	if (r < 0 || !wanted)
		return r;
	r = tally_add(s->tally, e);
	if (r == 0)
		r = redactions_add(s->redactions, e);
	if (r == 0)
		r = count_act(s, e);
	count_second(s, origin_elapsed(origin, e) / NS_PER_S);
	return r;
}

static void stats_damage(void *state, const struct reader_damage *damage)
{
	struct stats *s = state;

	(void)damage;
	s->answer.damages++;
	tally_add_damage(s->tally);
}

/* The @limit processes with most acts, busiest first; their number. */
static size_t busiest(const struct stats *s, size_t *ret_list, size_t limit)
{
	size_t count = 0;

	for (size_t i = 0; i < s->room && i < actors_count(s->answer.actors); i++) {
		size_t at = count;

		if (!s->acts[i] || (count == limit && s->acts[i] <= s->acts[ret_list[count - 1]]))
			continue;
		if (count == limit)
			at--;
		else
			count++;
		for (; at && s->acts[ret_list[at - 1]] < s->acts[i]; at--)
			ret_list[at] = ret_list[at - 1];
		ret_list[at] = i;
	}
	return count;
}

static void write_kinds(const struct stats *s)
{
	const struct tally *t = s->tally;
	FILE *out = s->answer.pen.out;

	for (size_t i = 1; i < EVENT_KIND_COUNT; i++) {
		if (!t->kinds[i])
			continue;
		pen_style(&s->answer.pen, kind_style((enum event_kind)i));
		fprintf(out, "%-20s", kind_table[i].name);
		pen_style(&s->answer.pen, STYLE_PLAIN);
		fprintf(out, "%12" PRIu64 "  %5.1f %%\n", t->kinds[i],
			100.0 * (double)t->kinds[i] / (double)t->records);
	}
}

static void write_rest(const struct stats *s)
{
	const struct tally *t = s->tally;
	const struct pen *pen = &s->answer.pen;
	size_t list[BUSY_SHOWN_MAX], count = busiest(s, list, BUSY_SHOWN_MAX);

	fprintf(pen->out, "\n%" PRIu64 " records in ", t->records);
	write_duration(pen->out, t->last_boot_ns - t->first_boot_ns);
	fprintf(pen->out, ", at most %" PRIu64 " in a second (from %" PRIu64 " s on)\n",
		s->peak_records, s->peak_second);
	for (size_t i = 0; i < count; i++) {
		fprintf(pen->out, "%s%12" PRIu64 "  by ", i ? "" : "\nbusiest processes\n",
			s->acts[list[i]]);
		actor_write(s->answer.actors, list[i], pen);
		fputc('\n', pen->out);
	}
	for (size_t i = 0; i < keymap_count(s->redactions->rules); i++) {
		fprintf(pen->out, "%s%12" PRIu64 "  by ", i ? "" : "\nredactions\n",
			s->redactions->times[i]);
		printable_word(pen->out, &pen->printable, keymap_key(s->redactions->rules, i));
		fputc('\n', pen->out);
	}
	fputs("\nlost: ", pen->out);
	tally_write_lost(t, pen);
}

static int write_json(const struct stats *s, enum view_end how)
{
	size_t list[BUSY_SHOWN_MAX], count = busiest(s, list, BUSY_SHOWN_MAX);
	struct document d = {0};

	document_open(&d, NULL, '{');
	document_string(&d, "session", s->answer.session);
	document_bool(&d, "ended", how == VIEW_ENDED);
	document_u64(&d, "duration_ns", s->tally->last_boot_ns - s->tally->first_boot_ns);
	document_u64(&d, "peak_records_a_second", s->peak_records);
	tally_write_json(s->tally, &d);
	document_open(&d, "busiest", '[');
	for (size_t i = 0; i < count; i++) {
		const struct actor *actor = actors_get(s->answer.actors, list[i]);

		document_open(&d, NULL, '{');
		document_text(&d, "proc", actors_key(s->answer.actors, list[i]));
		if (actor->has_pid)
			document_u64(&d, "pid", actor->pid);
		document_text(&d, "program", (struct bytes){actor->program, actor->program_size});
		document_u64(&d, "records", s->acts[list[i]]);
		document_close(&d, '{');
	}
	document_close(&d, '[');
	document_open(&d, "redactions", '[');
	for (size_t i = 0; i < keymap_count(s->redactions->rules); i++) {
		document_open(&d, NULL, '{');
		document_text(&d, "rule", keymap_key(s->redactions->rules, i));
		document_u64(&d, "times", s->redactions->times[i]);
		document_close(&d, '{');
	}
	document_close(&d, '[');
	document_close(&d, '{');
	return document_finish(&d, s->answer.pen.out);
}

static int stats_end(void *state, enum view_end how)
{
	const struct stats *s = state;

	if (s->answer.asked->options->json)
		return write_json(s, how);
	write_kinds(s);
	write_rest(s);
	return 0;
}

static const struct view view_stats = {
	.begin = stats_begin,
	.event = stats_event,
	.damage = stats_damage,
	.end = stats_end,
	.free = stats_free,
};

static int stats_run(const void *values, int argument_count, char **arguments)
{
	struct question asked = {.options = values};

	(void)argument_count;
	return question_run("vitrine stats", &view_stats, &asked, arguments[0]);
}

/* clang-format off */
const struct command command_stats = {
	.name = "stats",
	.summary = "show a session in numbers",
	.positional = "SESSION",
	.positional_min = 1,
	.positional_max = 1,
	.options = (const struct command_option[]){
		QUESTION_OPTION_FILTER,
		QUESTION_OPTIONS,
	},
	.values_size = sizeof(struct question_options),
	.defaults = &(const struct question_options)QUESTION_DEFAULTS,
	.description =
		"Counts the records of each kind, the most in one second, the busiest processes, what was redacted by "
		"which rule, and what was lost.\n\n" QUESTION_SESSION,
	.sections = (const struct command_section[]){QUESTION_STATUS, {0}},
	.reads = COMMAND_READS_ONE,
	.run = stats_run,
};
/* clang-format on */
