/*
 * vitrine search: a filter held against the records of all sessions.
 */
#include "commands.h"
#include "player.h"
#include "query.h"
#include "search.h"
#include "units.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/json.h"
#include "../supervisor/record/text_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#define CALLED "vitrine search"
#define STATUS_NONE 1
#define STATUS_TROUBLE 2
#define LIMIT_DEFAULT 1000

struct search_options {
	const char *state;
	struct moment since, until;
	uint64_t limit;
	bool json, rebuild, no_index;
	int color;
};

struct output {
	bool json;
	struct pen pen;
	struct json_buffer line;
};

/* A number of events; 0 for no limit. */
static int limit_parse(const char *text, void *ret_limit)
{
	uint64_t limit = 0;

	if (!*text)
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(limit, 10, &limit) ||
		    __builtin_add_overflow(limit, (uint64_t)(*text - '0'), &limit))
			return -EINVAL;
	}
	*(uint64_t *)ret_limit = limit;
	return 0;
}

static void write_text(const struct output *o, const struct manifest *m,
		       const struct origin *origin, const struct event *e)
{
	uint64_t elapsed_ns = origin_elapsed(origin, e);
	const struct event_value *pid = event_get(e, FIELD_pid);
	FILE *out = o->pen.out;
	bool known = e->kind != EVENT_KIND_NONE && e->kind < EVENT_KIND_COUNT;

	fprintf(out, "%s %8" PRIu64 " ", m->id, e->seq);
	write_wall_clock(out, e->time_ns, 6);
	fprintf(out, " %6" PRIu64 ".%06u", elapsed_ns / NS_PER_S,
		(unsigned int)(elapsed_ns % NS_PER_S / 1000));
	if (pid)
		fprintf(out, " %7" PRIu64 "  ", pid->u64);
	else
		fprintf(out, " %7s  ", "");
	if (known)
		pen_style(&o->pen, kind_style(e->kind));
	fprintf(out, "%-19s ", known ? kind_table[e->kind].name : "unknown");
	pen_style(&o->pen, STYLE_PLAIN);
	line_write(&o->pen, e);
	pen_style(&o->pen, STYLE_PLAIN);
	fputc('\n', out);
}

static int write_found(void *context, const struct manifest *m, const struct origin *origin,
		       const struct event *e)
{
	struct output *o = context;
	int r = 0;

	if (!o->json) {
		write_text(o, m, origin, e);
	} else {
		o->line.length = 0;
		r = json_write_event(&o->line, m->id, e);
		if (r == 0)
			fwrite(o->line.text, 1, o->line.length, stdout);
	}
	return ferror(stdout) ? -EIO : r;
}

/* On standard error: what was found may be piped on. */
static void write_summary(const struct search *s)
{
	fprintf(stderr,
		"%" PRIu64 " events in %" PRIu64 " of %" PRIu64 " sessions, %" PRIu64
		" records read\n",
		s->found_count, s->sessions_found, s->sessions, s->records);
	if (s->is_cut)
		fprintf(stderr, CALLED ": there is more; --limit 0 gives all\n");
	if (s->damaged)
		fprintf(stderr,
			CALLED ": the records of %" PRIu64
			       " sessions are damaged; what is whole was searched\n",
			s->damaged);
	if (s->unreadable)
		fprintf(stderr, CALLED ": %" PRIu64 " sessions cannot be read\n", s->unreadable);
}

/* The words of the command line as one text; malloc'ed. NULL: no memory. */
static char *join(int count, char **words)
{
	struct text_stream joined;

	if (text_stream_begin(&joined) < 0)
		return NULL;
	for (int i = 0; i < count; i++)
		fprintf(joined.out, "%s%s", i ? " " : "", words[i]);
	return text_stream_end(&joined) < 0 ? NULL : joined.text;
}

/* All of it, before a search that may end early. */
static int index_all(struct search *s, int state_fd)
{
	struct search all = {.index = s->index};
	int r = search_all(&all, state_fd);

	s->index = all.index;
	return r;
}

/* 0 or STATUS_TROUBLE. */
static int run_search(struct search *s, const struct search_options *options)
{
	cleanup(close_fd) int state_fd = -1;
	int r = state_open(options->state, CALLED, stderr, &state_fd);

	if (r < 0)
		return STATUS_TROUBLE;
	r = options->no_index ? 0 : search_index_open(options->state, options->rebuild, &s->index);
	if (r < 0 && options->rebuild) {
		fprintf(stderr,
			CALLED ": cannot write " SEARCH_INDEX_NAME " in the state directory: %s\n",
			strerror(-r));
		return STATUS_TROUBLE;
	}
	r = 0; /* a search does without */
	if (options->rebuild && s->filter.query)
		r = index_all(s, state_fd);
	if (r == 0)
		r = search_all(s, state_fd);
	search_end(s);
	if (r == 0 && fflush(stdout))
		r = -errno;
	if (r < 0)
		fprintf(stderr, CALLED ": %s\n", strerror(-r));
	return r < 0 ? STATUS_TROUBLE : 0;
}

static int parse_query(int count, char **words, struct query **ret_query)
{
	cleanup(free) char *text = join(count, words);

	if (text)
		return query_from_option(text, CALLED, stderr, ret_query);
	fprintf(stderr, CALLED ": %s\n", strerror(ENOMEM));
	return -ENOMEM;
}

static int search_run(const void *values, int argument_count, char **arguments)
{
	const struct search_options *options = values;
	cleanup(query) struct query *query = NULL;
	struct output output = {.json = options->json,
				.pen = pen_for(stdout, (enum color_choice)options->color)};
	struct search s = {.limit = options->limit, .found = write_found, .context = &output};

	if (!argument_count && !options->rebuild) {
		fputs(CALLED ": a filter is missing; or --rebuild\n", stderr);
		return STATUS_TROUBLE;
	}
	if (options->rebuild && options->no_index) {
		fputs(CALLED ": --rebuild and --no-index exclude each other\n", stderr);
		return STATUS_TROUBLE;
	}
	if (argument_count && parse_query(argument_count, arguments, &query) < 0)
		return STATUS_TROUBLE;
	s.filter =
		(struct filter){.query = query, .since = options->since, .until = options->until};
	int status = run_search(&s, options);
	json_buffer_free(&output.line);
	if (status)
		return status;
	write_summary(&s);
	if (s.damaged || s.unreadable)
		return STATUS_TROUBLE;
	return s.found_count || !query ? 0 : STATUS_NONE;
}

/* clang-format off */
#define OFFSET(member) offsetof(struct search_options, member)

const struct command command_search = {
	.name = "search",
	.summary = "search the records of all sessions",
	.positional = "FILTER...",
	.positional_min = 0,
	.positional_max = -1,
	.options = (const struct command_option[]){
		{"since", 0, "TIME", "only from then on", OPTION_PARSED, OFFSET(since), .parse = moment_parse,
		 .allowed = MOMENT_ALLOWED},
		{"until", 0, "TIME", "only up to then", OPTION_PARSED, OFFSET(until), .parse = moment_parse,
		 .allowed = MOMENT_ALLOWED},
		{"limit", 'n', "N", "stop after N events (1000); 0: never", OPTION_PARSED, OFFSET(limit), .parse = limit_parse,
		 .allowed = "a number; 0 for no limit"},
		{"rebuild", 0, NULL, "make the index anew first; a filter may be left out then", OPTION_FLAG, OFFSET(rebuild)},
		{"no-index", 0, NULL, "read every record, and leave the index alone", OPTION_FLAG, OFFSET(no_index)},
		{"json", 'j', NULL, "print the canonical JSON, one record a line", OPTION_FLAG, OFFSET(json)},
		{"color", 0, "WHEN", "colours: by itself on a terminal only", OPTION_CHOICE, OFFSET(color),
		 .choices = color_choices},
		{"state", 0, "DIR", "state directory (" STORE_DEFAULT_STATE ")", OPTION_TEXT, OFFSET(state)},
		{0},
	},
	.values_size = sizeof(struct search_options),
	.defaults = &(const struct search_options){.state = STORE_DEFAULT_STATE, .limit = LIMIT_DEFAULT},
	.description =
		"Prints the events of all sessions that the filter is true for, the newest session first, within a session "
		"in the order of its record: session, number of the record, wall clock, seconds since the session's start, "
		"pid, kind and what happened. How many there were is told on standard error.\n\n"
		"What is found is read in the journals, and checked there. Where the state directory can be written, an index "
		"(search.index) is kept of it, which says of each few thousand records what cannot be in them; they are not "
		"read then. It holds hashes, nothing that a session wrote, and is no evidence: it can be removed, is made "
		"while journals are read, and made anew for journals that changed otherwise than by growing. Terms of three "
		"bytes and more, kinds and fields make use of it; a not, numbers and times do not. --no-index does without "
		"it.\n\n"
		"--since and --until as wall clocks spare the sessions that lie outside; as times after the start they count "
		"from the start of each session.",
	.sections = (const struct command_section[]){
		QUERY_MANUAL,
		{"EXIT STATUS",
		 "0 if something was found, 1 if nothing was, 2 if a session cannot be read or its record is damaged (the "
		 "others were searched), or for a bad command line."},
		{"EXAMPLES",
		 "Who read an .env file, and who spoke with that network?\n\n"
		 "  vitrine search 'kind:file.read path~.env'\n"
		 "  vitrine search net.dst:203.0.113.0/24 --since 2024-05-01T00:00:00Z"},
		{0},
	},
	.reads = COMMAND_READS_ALL,
	.run = search_run,
};
/* clang-format on */
