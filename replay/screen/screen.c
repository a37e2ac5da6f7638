/*
 * The loop: a key, some work on what is not read yet, a picture. Nothing waits for the whole
 * session, so that one of any size is there at once.
 */
#include "state.h"

#include "../../supervisor/record/cleanup.h"

#include <curses.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#define STEP_NS (12 * NS_PER_S / 1000)
#define DRAW_EVERY_NS (120 * NS_PER_S / 1000) /* while it works and nobody touches a key */
#define LIVE_EVERY_NS (300 * NS_PER_S / 1000)
#define PLAY_WAIT_MS 40
#define LIVE_WAIT_MS 300
#define WAIT_MS 2000

static volatile sig_atomic_t was_told_to_end;

static void on_signal(int number)
{
	(void)number;
	was_told_to_end = 1;
}

static void catch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction action = {.sa_handler = on_signal};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, NULL);
}

void say(struct screen *s, bool is_bad, const char *text, ...)
{
	va_list arguments;

	va_start(arguments, text);
	vsnprintf(s->said, sizeof(s->said), text, arguments);
	va_end(arguments);
	s->said_is_bad = is_bad;
}

/* Where the record begins, and how far it goes. */
static int find_ends(struct screen *s)
{
	struct event e;
	uint64_t first = 1;

	s->last = pages_last(s->pages);
	/* Where the first records are lost, time counts from the first that can be read. */
	while (first < s->last && !pages_get(s->pages, first, &e, NULL))
		first += first % 128 == 1 && first > 1 ? 128 : 1;
	if (pages_get(s->pages, first, &e, NULL))
		s->origin = (struct origin){e.time_ns, e.boot_ns};
	s->cursor = s->last ? 1 : 0;
	return 0;
}

static int screen_begin(struct screen *s, struct session *session,
			const struct screen_options *options)
{
	int r;

	s->session = session;
	s->options = options;
	s->speed = 1;
	r = pages_open(session->dir_fd, &s->pages);
	if (r == 0)
		r = survey_open(session->dir_fd, &s->survey);
	if (r == 0)
		r = message_open(&s->message);
	if (r == 0)
		r = notes_open(options->notes, &s->notes);
	if (r == 0) {
		s->picture = picture_new();
		r = s->picture ? find_ends(s) : -ENOMEM;
	}
	if (r == 0 && options->query) {
		prompt_set(&s->filter_text, options->query);
		r = rows_filter(s);
	}
	return r;
}

static void screen_free(struct screen *s)
{
	scan_close(&s->filter);
	scan_close(&s->search);
	notes_close(&s->notes);
	detail_clear(&s->detail);
	branches_free(&s->branches);
	picture_free(s->picture);
	message_close(&s->message);
	survey_close(&s->survey);
	pages_free(s->pages);
}

/* ---- work ---- */

/* Scans go first: that is what the person waits for. 1: there is more; 0: not for now; -errno. */
static int work(struct screen *s)
{
	int more = 0, r;

	if (scan_is_open(&s->filter)) {
		more = scan_step(&s->filter, &s->origin, STEP_NS);
		if (more)
			return more;
	}
	if (s->search_step && scan_is_open(&s->search)) {
		r = scan_step(&s->search, &s->origin, STEP_NS);
		rows_find_again(s);
		if (r)
			return s->search_step ? r : 1;
	}
	r = survey_step(&s->survey, STEP_NS);
	if (s->lower == LOWER_PICTURE && r >= 0 &&
	    picture_step(s->picture, s->pages, &s->survey.landmarks[LANDMARK_STREAM], s->cursor,
			 STEP_NS))
		return 1;
	return r;
}

/* A session that runs grows: look anew, now and then. */
static void grow(struct screen *s)
{
	bool was_at_end = s->cursor == s->last;

	if (s->survey.seq <= s->last)
		return;
	s->last = s->survey.seq;
	pages_refresh(s->pages);
	if (was_at_end && s->is_playing)
		s->clock_ns = elapsed_of(s, s->cursor);
}

static void refresh_manifest(struct screen *s)
{
	struct manifest fresh;

	if (manifest_read(s->session->dir_fd, &fresh) < 0)
		return;
	if (s->session->scratch[0])
		fresh.supervisor_pid = 0;
	manifest_free(&s->session->manifest);
	s->session->manifest = fresh;
}

static int take_keys(struct screen *s, int wait_ms, bool *ret_any)
{
	wint_t key;
	int r = 0, got;

	timeout(wait_ms);
	*ret_any = false;
	while (r == 0 && !s->wants_end && (got = get_wch(&key)) != ERR) {
		*ret_any = true;
		if (got == KEY_CODE_YES && key == KEY_RESIZE)
			detail_clear(&s->detail);
		else
			r = keys_take(s, (int)key, got == KEY_CODE_YES);
		timeout(0);
	}
	return r;
}

static int loop(struct screen *s)
{
	uint64_t drawn_ns = 0, looked_ns = 0;
	bool touched = true;
	int r = 0, more = 1;

	while (r >= 0 && !s->wants_end && !was_told_to_end) {
		uint64_t now;

		more = work(s);
		grow(s);
		rows_settle(s);
		time_tick(s);
		now = monotonic_ns();
		if (!s->survey.has_end && now - looked_ns > LIVE_EVERY_NS) {
			refresh_manifest(s);
			looked_ns = now;
		}
		if (touched || s->is_playing || !more || now - drawn_ns > DRAW_EVERY_NS) {
			draw(s);
			drawn_ns = now;
		}
		r = more < 0 ? more
			     : take_keys(s,
					 more		      ? 0
					 : s->is_playing      ? PLAY_WAIT_MS
					 : !s->survey.has_end ? LIVE_WAIT_MS
							      : WAIT_MS,
					 &touched);
	}
	return r;
}

int screen_run(struct session *session, const struct screen_options *options)
{
	struct screen *s = calloc(1, sizeof(*s));
	int r = s ? screen_begin(s, session, options) : -ENOMEM;
	bool is_open = false;

	if (r == 0) {
		r = paint_open(stdin, stdout);
		is_open = r == 0;
	}
	if (r == 0) {
		s->message.pen.printable.ascii = !paint_has_utf8();
		catch_signals();
		r = loop(s);
	}
	if (is_open)
		paint_close();
	if (s)
		screen_free(s);
	free(s);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", options->called,
			r == -ENOTTY ? "this terminal cannot be drawn on: TERM is not known"
				     : strerror(-r));
	return r < 0;
}
