/*
 * Two files that only grow: the ledger says which texts count, and in which order.
 */
#include "deeds.h"

#include "../supervisor/record/acts.h"
#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define LINES_MOST 4096 /* of the ledger at one call: others have their turn */

struct growing {
	const char *path; /* from the directory of sessions */
	FILE *in;	  /* NULL: not open yet */
	char *line;	  /* the last one that was read */
	size_t room;
};

struct deeds {
	int sessions_fd;
	struct cursor_acts place;
	struct growing ledger, texts;
	struct json_arena *arena;
	struct session_facts facts;
	char session[LEDGER_NAME_MAX];
	struct event event;
};

int deeds_new(int sessions_fd, const struct cursor_acts *place, struct deeds **ret_deeds)
{
	struct deeds *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->sessions_fd = sessions_fd;
	d->place = *place;
	d->ledger.path = "../" LEDGER_FILE;
	d->texts.path = "../" ACTS_FILE;
	d->arena = json_arena_new();
	if (!d->arena) {
		deeds_free(d);
		return -ENOMEM;
	}
	*ret_deeds = d;
	return 0;
}

static void end_growing(struct growing *g)
{
	if (g->in)
		fclose(g->in);
	free(g->line);
	*g = (struct growing){.path = g->path};
}

void deeds_free(struct deeds *d)
{
	if (!d)
		return;
	end_growing(&d->ledger);
	end_growing(&d->texts);
	if (d->arena)
		json_arena_free(d->arena);
	free(d);
}

const struct cursor_acts *deeds_place(const struct deeds *d)
{
	return &d->place;
}

/* ---- files ---- */

/* Go to @at. 0, -EBADMSG (the file is shorter: it is another one) or -errno. */
static int go_to(const struct deeds *d, struct growing *g, uint64_t at)
{
	struct stat st;

	if (!g->in) {
		int fd = openat(d->sessions_fd, g->path,
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

		g->in = fd < 0 ? NULL : fdopen(fd, "r");
		if (!g->in && fd >= 0)
			close(fd);
	}
	if (!g->in || fstat(fileno(g->in), &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size < at)
		return -EBADMSG;
	clearerr(g->in);
	return fseeko(g->in, (off_t)at, SEEK_SET) < 0 ? -errno : 0;
}

/* The next whole line without its newline. False: there is none yet. */
static bool next_line(struct growing *g, struct bytes *ret_line)
{
	ssize_t n = getline(&g->line, &g->room, g->in);

	if (n < 1 || g->line[n - 1] != '\n')
		return false;
	*ret_line = (struct bytes){g->line, (size_t)n - 1};
	return true;
}

/* ---- acts ---- */

/* HOST/SESSION */
static void take_name(struct deeds *d, const char *name)
{
	const char *slash = strrchr(name, '/');

	d->facts = (struct session_facts){0};
	if (slash)
		snprintf(d->facts.host, sizeof(d->facts.host), "%.*s", (int)(slash - name), name);
	snprintf(d->session, sizeof(d->session), "%s", slash ? slash + 1 : name);
}

/* The text that @line commits to, from the place on; *ret_end is where it ends. */
static bool find_text(struct deeds *d, const struct ledger_line *line, struct bytes *ret_text,
		      uint64_t *ret_end)
{
	uint64_t at = d->place.text;
	uint8_t hash[HASH_SIZE];
	struct bytes text;

	while (next_line(&d->texts, &text)) {
		at += text.size + 1;
		hash_bytes(text, hash);
		if (memcmp(hash, line->detail, HASH_SIZE) != 0)
			continue;
		*ret_text = text;
		*ret_end = at;
		return true;
	}
	return false;
}

/* An act, or what is to be said where its text is gone. False: it cannot be looked for now. */
static bool take_act(struct deeds *d, const struct ledger_line *line)
{
	const char *session, *error;
	struct bytes text;
	uint64_t end;
	int r = go_to(d, &d->texts, d->place.text);

	if (r < 0 && r != -ENOENT && r != -EBADMSG)
		return false;
	take_name(d, line->name);
	if (r == 0 && find_text(d, line, &text, &end) &&
	    json_read_event(d->arena, text.data, text.size, &d->event, &session, &error) == 0) {
		d->place.text = end;
		return true;
	}
	event_init(&d->event, EVENT_gap, line->time_ns, 0);
	event_put_text(&d->event, FIELD_class, "acts");
	event_put_u64(&d->event, FIELD_count, 1);
	event_put_text(&d->event, FIELD_reason, "removed");
	return true;
}

bool deeds_next(struct deeds *d, struct deed *ret_deed)
{
	struct ledger_line line;
	struct bytes text;
	int r = go_to(d, &d->ledger, d->place.ledger);

	if (r == -EBADMSG) {
		d->place = (struct cursor_acts){0, 0};
		end_growing(&d->ledger);
		end_growing(&d->texts);
		r = go_to(d, &d->ledger, 0);
	}
	for (size_t i = 0; r == 0 && i < LINES_MOST && next_line(&d->ledger, &text); i++) {
		bool is_act = ledger_line_read(text, &line) == 0 && ledger_kind_is_act(line.kind);

		if (is_act && !take_act(d, &line))
			return false;
		d->place.ledger += text.size + 1;
		if (!is_act)
			continue;
		*ret_deed = (struct deed){d->session, &d->facts, &d->event};
		return true;
	}
	return false;
}
