/*
 * vitrine search: a filter held against the records of all sessions.
 */
#include "commands.h"
#include "player.h"
#include "query.h"
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
	bool json;
	int color;
};

struct search {
	const struct search_options *options;
	struct query *query;
	struct pen pen;
	struct json_buffer line;
	uint64_t found, sessions_found, sessions, records;
	uint64_t damaged, unreadable;
	bool is_cut;
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

static void write_text(const struct search *s, const struct manifest *m,
		       const struct origin *origin, const struct event *e)
{
	uint64_t elapsed_ns = origin_elapsed(origin, e);
	const struct event_value *pid = event_get(e, FIELD_pid);
	FILE *out = s->pen.out;
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
		pen_style(&s->pen, kind_style(e->kind));
	fprintf(out, "%-19s ", known ? kind_table[e->kind].name : "unknown");
	pen_style(&s->pen, STYLE_PLAIN);
	line_write(&s->pen, e);
	pen_style(&s->pen, STYLE_PLAIN);
	fputc('\n', out);
}

static int write_found(struct search *s, const struct manifest *m, const struct origin *origin,
		       const struct event *e)
{
	int r = 0;

	if (!s->options->json) {
		write_text(s, m, origin, e);
	} else {
		s->line.length = 0;
		r = json_write_event(&s->line, m->id, e);
		if (r == 0)
			fwrite(s->line.text, 1, s->line.length, stdout);
	}
	return ferror(stdout) ? -EIO : r;
}

/* One record. 0, 1 (enough was found) or -errno. */
static int take_record(struct search *s, const struct manifest *m, const struct origin *origin,
		       const struct event *e, uint64_t *found)
{
	struct filter times = {
		.query = s->query, .since = s->options->since, .until = s->options->until};

	s->records++;
	if (!filter_match(&times, origin, e))
		return 0;
	if (s->options->limit && s->found == s->options->limit) {
		s->is_cut = true;
		return 1;
	}
	s->found++;
	++*found;
	return write_found(s, m, origin, e);
}

static int read_session(struct search *s, const struct manifest *m, struct reader *reader)
{
	struct origin origin = {0};
	bool begun = false, damaged = false;
	uint64_t found = 0;
	struct event e;
	int r = 0;

	while (r == 0) {
		enum reader_state at = reader_next(reader, &e);

		if (at == READER_END)
			break;
		if (at == READER_STOPPED) {
			damaged = true;
			if (!reader_skip_damage(reader))
				break;
			continue;
		}
		if (!begun)
			origin = (struct origin){e.time_ns, e.boot_ns};
		begun = true;
		r = take_record(s, m, &origin, &e, &found);
	}
	s->damaged += damaged;
	s->sessions_found += found > 0;
	return r;
}

static int search_session(struct search *s, int state_fd, const struct manifest *m)
{
	cleanup(close_fd) int dir_fd = -1;
	struct reader *reader;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "sessions/%s", m->id);
	dir_fd = openat(state_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd < 0 || reader_open(dir_fd, &reader) < 0) {
		s->unreadable++;
		return 0;
	}
	s->sessions++;
	r = read_session(s, m, reader);
	reader_free(reader);
	return r;
}

/* A session whose whole time lies outside of what was asked for needs no look. */
static bool can_match(const struct search *s, const struct manifest *m)
{
	const struct moment *since = &s->options->since, *until = &s->options->until;

	if (since->given && since->absolute && m->state == SESSION_ENDED &&
	    m->ended_ns + NS_PER_S < since->ns)
		return false;
	return !(until->given && until->absolute && m->started_ns > until->ns + NS_PER_S);
}

static int search_all(struct search *s, int state_fd)
{
	struct manifest *list;
	size_t count, unreadable;
	int r = store_list(state_fd, &list, &count, &unreadable);

	if (r < 0)
		return r;
	s->unreadable = unreadable;
	for (size_t i = count; r == 0 && i--;) {
		if (can_match(s, &list[i]))
			r = search_session(s, state_fd, &list[i]);
	}
	store_list_free(list, count);
	return r < 0 ? r : 0;
}

/* On standard error: what was found may be piped on. */
static void write_summary(const struct search *s)
{
	fprintf(stderr,
		"%" PRIu64 " events in %" PRIu64 " of %" PRIu64 " sessions, %" PRIu64
		" records read\n",
		s->found, s->sessions_found, s->sessions, s->records);
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

static int search_run(const void *values, int argument_count, char **arguments)
{
	const struct search_options *options = values;
	cleanup(free) char *text = join(argument_count, arguments);
	cleanup(query) struct query *query = NULL;
	cleanup(close_fd) int state_fd = -1;
	struct search s = {.options = options,
			   .pen = pen_for(stdout, (enum color_choice)options->color)};
	int r;

	if (!text) {
		fprintf(stderr, CALLED ": %s\n", strerror(ENOMEM));
		return STATUS_TROUBLE;
	}
	if (query_from_option(text, CALLED, stderr, &query) < 0)
		return STATUS_TROUBLE;
	if (state_open(options->state, CALLED, stderr, &state_fd) < 0)
		return STATUS_TROUBLE;
	s.query = query;
	r = search_all(&s, state_fd);
	json_buffer_free(&s.line);
	if (r == 0 && fflush(stdout))
		r = -errno;
	if (r < 0) {
		fprintf(stderr, CALLED ": %s\n", strerror(-r));
		return STATUS_TROUBLE;
	}
	write_summary(&s);
	if (s.damaged || s.unreadable)
		return STATUS_TROUBLE;
	return s.found ? 0 : STATUS_NONE;
}

/* clang-format off */
#define OFFSET(member) offsetof(struct search_options, member)

const struct command command_search = {
	.name = "search",
	.summary = "search the records of all sessions",
	.positional = "FILTER...",
	.positional_min = 1,
	.positional_max = -1,
	.options = (const struct command_option[]){
		{"since", 0, "TIME", "only from then on", OPTION_PARSED, OFFSET(since), .parse = moment_parse,
		 .allowed = MOMENT_ALLOWED},
		{"until", 0, "TIME", "only up to then", OPTION_PARSED, OFFSET(until), .parse = moment_parse,
		 .allowed = MOMENT_ALLOWED},
		{"limit", 'n', "N", "stop after N events (1000); 0: never", OPTION_PARSED, OFFSET(limit), .parse = limit_parse,
		 .allowed = "a number; 0 for no limit"},
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
		"Journals are read from beginning to end; there is no index. --since and --until as wall clocks spare the "
		"sessions that lie outside; as times after the start they count from the start of each session.",
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
