/*
 * Loop, signals, and what is told about it all.
 */
#include "exporter.h"
#include "export_metrics.h"
#include "roster.h"
#include "status.h"

#include "sinks/http.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#define TURN_MS 100	/* how often journals are looked at */
#define SCAN_TURNS 5	/* and, among how many of those once, the list of sessions */
#define STATUS_TURNS 10 /* and the status is written */
#define TELL_TURNS 600	/* and it is told that a sink cannot be opened */

#define SINKS_MAX 128 /* of a configuration, and those that leave */

struct exporter {
	const char *file;	     /* of the configuration */
	struct export_config config; /* in force */
	struct hide_key own_key;     /* for who has no other */
	sd_event *event;
	struct http_engine *http;
	struct roster *roster;
	struct export_metrics *metrics;
	int state_fd, sessions_fd, directory_fd, lock_fd;
	sd_event_source *timer;
	unsigned turns;
	bool is_draining;
	uint64_t deadline_ms;
};

static void say(const char *sink, const char *text)
{
	struct printable printable = {.ascii = true, .limit = 900};

	fputs("vitrine-export: ", stderr);
	if (sink) {
		printable_text(stderr, &printable, bytes_of(sink));
		fputs(": ", stderr);
	}
	printable_text(stderr, &printable, bytes_of(text));
	fputc('\n', stderr);
}

static void say_of(void *context, const char *sink, const char *text)
{
	(void)context;
	say(sink, text);
}

/* ---- turns ---- */

static uint64_t now_ms(const struct exporter *x)
{
	uint64_t now_us;

	sd_event_now(x->event, CLOCK_MONOTONIC, &now_us);
	return now_us / 1000;
}

static void write_status(struct exporter *x)
{
	struct lane_status list[SINKS_MAX];
	size_t count = roster_status(x->roster, list, SINKS_MAX);
	int r = status_write(x->directory_fd, list, count);

	export_metrics_tell(x->metrics, list, count);
	if (r < 0)
		export_metrics_status_error(x->metrics);
	if (r < 0 && r != -ENOSPC)
		say(NULL, "cannot write the status");
}

/* What a new configuration names, once what it replaces has left. */
static void open_sinks(struct exporter *x)
{
	struct knob_fault f = {0};
	int r = roster_open(x->roster, &f);

	if (r < 0 && x->turns % TELL_TURNS == 0)
		say(NULL, f.text);
}

static int on_turn(sd_event_source *source, uint64_t usec, void *context)
{
	struct exporter *x = context;

	(void)usec;
	export_metrics_beat(x->metrics);
	if (!x->is_draining)
		open_sinks(x);
	if (x->config.metrics)
		roster_measure(x->roster);
	roster_turn(x->roster, x->turns % SCAN_TURNS == 0 && !x->is_draining, now_ms(x));
	if (x->turns++ % STATUS_TURNS == 0)
		write_status(x);
	if (x->is_draining && (roster_drain(x->roster) || now_ms(x) >= x->deadline_ms))
		return sd_event_exit(x->event, 0);
	sd_event_source_set_time_relative(source, TURN_MS * 1000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_end(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
	struct exporter *x = context;

	(void)source, (void)info;
	if (x->is_draining)
		return sd_event_exit(x->event, 0);
	sd_notify(0, "STOPPING=1");
	x->is_draining = true;
	x->deadline_ms = now_ms(x) + x->config.drain_ms;
	return roster_drain(x->roster) ? sd_event_exit(x->event, 0) : 0;
}

/* ---- a new configuration ---- */

static void take_own_key(const struct exporter *x, struct export_config *config)
{
	if (!config->key.size)
		config->key = x->own_key;
}

/* What a process cannot change while it lives. */
static bool can_follow(const struct exporter *x, const struct export_config *next,
		       struct knob_fault *f)
{
	const struct export_config *c = &x->config;

	if (!strcmp(c->state, next->state) && !strcmp(c->directory, next->directory) &&
	    !strcmp(c->metrics ? c->metrics : "", next->metrics ? next->metrics : ""))
		return true;
	knob_fault_set(f, "",
		       "%s: state, directory and metrics cannot change in a process that runs: "
		       "restart it",
		       x->file);
	return false;
}

static int reload(struct exporter *x, struct knob_fault *f)
{
	struct export_config next, before;
	int r = export_config_read(x->file, &next, f);

	if (r < 0)
		return r;
	before = x->config;
	take_own_key(x, &next);
	r = can_follow(x, &next, f) ? 0 : -EINVAL;
	if (r == 0) {
		x->config = next;
		r = roster_apply(x->roster, &x->config, now_ms(x));
		x->config = r < 0 ? before : next;
	}
	export_config_free(r < 0 ? &next : &before);
	return r;
}

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
	struct exporter *x = context;
	struct knob_fault f = {0};
	int r;

	(void)source, (void)info;
	if (x->is_draining)
		return 0;
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)now_ms(x) * 1000);
	r = reload(x, &f);
	if (r < 0) {
		say(NULL, f.text[0] ? f.text : strerror(-r));
		say(NULL, "the configuration of before stays in force");
	} else {
		say(NULL, "the configuration was read again");
	}
	roster_reopen(x->roster);
	sd_notify(0, "READY=1");
	return 0;
}

/* ---- life ---- */

static int fail(const char *what, const char *name, int r)
{
	char text[4500];

	snprintf(text, sizeof(text), "%s %s: %s", what, name, strerror(-r));
	say(NULL, text);
	return r;
}

static int open_directories(struct exporter *x)
{
	const struct export_config *c = &x->config;

	/* To pass through it is enough: only what is in "sessions" is listed. */
	x->state_fd = open(c->state, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (x->state_fd < 0)
		return fail("cannot open the state directory", c->state, -errno);
	x->sessions_fd = openat(x->state_fd, "sessions", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (x->sessions_fd < 0)
		return fail("cannot open the sessions of", c->state, -errno);
	if (mkdir(c->directory, 0700) < 0 && errno != EEXIST)
		return fail("cannot make", c->directory, -errno);
	x->directory_fd = open(c->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (x->directory_fd < 0)
		return fail("cannot open", c->directory, -errno);
	x->lock_fd =
		openat(x->directory_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (x->lock_fd < 0 || flock(x->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return fail("another vitrine-export may be at work in", c->directory, -errno);
	return 0;
}

/* A lane holds each session that is open by a few descriptors. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int open_own_key(struct exporter *x)
{
	int r = hide_key_own(x->directory_fd, &x->own_key);

	if (r < 0)
		return fail("cannot read or make the key of digests in", x->config.directory, r);
	take_own_key(x, &x->config);
	return 0;
}

static int open_loop(struct exporter *x)
{
	sigset_t signals;
	int r;

	raise_descriptors();
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	r = sd_event_new(&x->event);
	if (r >= 0)
		r = sd_event_add_signal(x->event, NULL, SIGTERM, on_end, x);
	if (r >= 0)
		r = sd_event_add_signal(x->event, NULL, SIGINT, on_end, x);
	if (r >= 0)
		r = sd_event_add_signal(x->event, NULL, SIGHUP, on_hangup, x);
	if (r >= 0)
		r = sd_event_add_time_relative(x->event, &x->timer, CLOCK_MONOTONIC, 0, 1000,
					       on_turn, x);
	if (r >= 0)
		r = http_engine_new(x->event, &x->http);
	return r < 0 ? fail("cannot make", "the loop", r) : 0;
}

static void say_of_metrics(void *context, const char *text)
{
	(void)context;
	say(NULL, text);
}

static int open_metrics(struct exporter *x)
{
	struct knob_fault f = {0};
	int r = export_metrics_new(x->config.metrics, x->event, say_of_metrics, x, &x->metrics, &f);

	if (r < 0)
		say(NULL, f.text[0] ? f.text : strerror(-r));
	return r;
}

static int open_roster(struct exporter *x)
{
	const struct lane_setup setup = {
		.event = x->event,
		.http = x->http,
		.sessions_fd = x->sessions_fd,
		.directory_fd = x->directory_fd,
		.say = say_of,
	};
	struct knob_fault f = {0};
	int r = roster_new(&setup, &x->roster);

	if (r == 0)
		r = roster_apply(x->roster, &x->config, now_ms(x));
	if (r == 0)
		r = roster_open(x->roster, &f);
	if (r < 0)
		say(NULL, f.text[0] ? f.text : strerror(-r));
	return r;
}

static void free_all(struct exporter *x)
{
	roster_free(x->roster);
	export_metrics_free(x->metrics);
	http_engine_free(x->http);
	sd_event_source_disable_unref(x->timer);
	sd_event_unref(x->event);
	export_config_free(&x->config);
	explicit_bzero(&x->own_key, sizeof(x->own_key));
	const int fds[] = {x->state_fd, x->sessions_fd, x->directory_fd, x->lock_fd};
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int exporter_run(const char *file, struct export_config *config)
{
	struct exporter x = {.file = file,
			     .config = *config,
			     .state_fd = -1,
			     .sessions_fd = -1,
			     .directory_fd = -1,
			     .lock_fd = -1};
	int r = open_directories(&x);

	*config = (struct export_config){0};
	if (r == 0)
		r = open_own_key(&x);
	if (r == 0)
		r = open_loop(&x);
	if (r == 0)
		r = open_metrics(&x);
	if (r == 0)
		r = open_roster(&x);
	if (r == 0) {
		sd_notify(0, "READY=1");
		r = sd_event_loop(x.event);
		roster_save(x.roster);
		write_status(&x);
	}
	free_all(&x);
	return r < 0;
}
