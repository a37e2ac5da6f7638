/*
 * The loop of the recorder. One tick serves all rings: every 5 ms while there is something to
 * drain, seldomer when all are idle, never while no recording is open.
 */
#include "recordings.h"

#include "../../bpf/wire.h"
#include "../record/cleanup.h"
#include "../record/json.h"
#include "../redact/clean.h"
#include "../redact/shapes.h"
#include "clock.h"
#include "in_hand.h"
#include "kept_rings.h"
#include "metered.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#define BUSY_TICK_USEC 5000
#define IDLE_TICK_USEC 20000
#define KEEP_RINGS_NS 10000000000ULL
#define CLOCK_STEP_NS 1000000 /* what the wall clock may drift from tick to tick */

/* ---- the list ---- */

struct recording *recordings_find(const struct recordings *all, const char *session)
{
	for (size_t i = all->count; i-- > 0;) /* who asks is mostly one of the last that came */
		if (!strcmp(recording_session(all->list[i]), session))
			return all->list[i];
	return NULL;
}

void recordings_start_ticking(struct recordings *all)
{
	sd_event_source_set_time_relative(all->tick, BUSY_TICK_USEC);
	sd_event_source_set_enabled(all->tick, SD_EVENT_ONESHOT);
}

int recordings_add(struct recordings *all, struct recording *recording)
{
	if (recordings_find(all, recording_session(recording)))
		return -EEXIST;
	if (all->count == all->room) {
		size_t room = all->room ? 2 * all->room : 16;
		struct recording **list = reallocarray(all->list, room, sizeof(*list));

		if (!list)
			return -ENOMEM;
		all->list = list;
		all->room = room;
	}
	all->list[all->count++] = recording;
	return 0;
}

void recordings_remove(struct recordings *all, struct recording *recording)
{
	if (all->asked_of == recording)
		all->asked_of = NULL;
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i] == recording) {
			all->list[i] = all->list[--all->count];
			return;
		}
}

/* ---- messages ---- */

static void tell_unsent(const struct recordings *all, int e)
{
	if (e < 0)
		log_write(all->log, LOG_LEVEL_ERROR, "cannot answer vitrined: %s", strerror(-e));
}

void recordings_hold(struct recordings *all)
{
	all->held = json_array(); /* without memory each goes by itself */
	all->host.is_held = true;
}

static void send_held(struct recordings *all)
{
	json_t *held = take(all->held);

	if (json_array_size(held) > 1)
		recordings_send(all, json_pack("{s:O}", "messages", held));
	else if (json_array_size(held) == 1)
		recordings_send(all, json_incref(json_array_get(held, 0)));
	json_decref(held);
}

void recordings_ask(struct recordings *all, struct recording *recording)
{
	if (all->asked_of && all->asked_of != recording && recording_is_open(all->asked_of))
		(void)recording_commit(all->asked_of);
	all->asked_of = recording;
}

void recordings_release(struct recordings *all)
{
	all->host.is_held = false;
	recordings_ask(all, NULL);
	send_held(all);
}

void recordings_send(struct recordings *all, json_t *message)
{
	if (!all->held || json_array_append(all->held, message) < 0)
		tell_unsent(all, message ? control_send(all->socket, message, NULL, 0) : -ENOMEM);
	json_decref(message);
}

void recordings_send_text(struct recordings *all, const char *text, size_t size)
{
	send_held(all);
	tell_unsent(all, control_send_text(all->socket, text, size));
}

static void on_notice(void *context, const char *session, enum recording_notice what, int error,
		      uint32_t exec)
{
	struct recordings *all = context;

	if (what != RECORDING_TROUBLE)
		recordings_send(all, json_pack("{s:s, s:s, s:I}", "notice",
					       what == RECORDING_LOST ? "lost" : "output",
					       "session", session, "exec", (json_int_t)exec));
	else
		recordings_send(all,
				json_pack("{s:s, s:s, s:s, s:i}", "notice", "trouble", "session",
					  session, "what", "journal", "errno", error));
}

/* vitrined is gone: nobody tells us more, so every journal is closed with what is there. */
static void seal_all(struct recordings *all)
{
	for (size_t i = 0; i < all->count; i++) {
		if (recording_is_open(all->list[i]))
			recording_seal(all->list[i]);
		recording_free(all->list[i]);
	}
	all->count = 0;
}

static int on_socket(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct recordings *all = context;
	struct control_message m;
	(void)source;
	(void)fd;
	(void)events;

	int e = control_receive(all->socket, &m);
	if (e == -EAGAIN)
		return 0;
	if (e == -EBADMSG) {
		log_write(all->log, LOG_LEVEL_ERROR, "vitrined sent what is not a message");
		return 0;
	}
	if (e < 0)
		return sd_event_exit(all->loop, e == -ECONNRESET ? 0 : e);
	recordings_serve(all, &m);
	control_message_free(&m);
	return 0;
}

/* ---- time ---- */

static void look_at_clock(struct recordings *all)
{
	int64_t now = clock_wall_minus_boot_ns();
	int64_t step = now - all->host.wall_minus_boot_ns;

	all->host.wall_minus_boot_ns = now;
	if (step > -CLOCK_STEP_NS && step < CLOCK_STEP_NS)
		return;
	for (size_t i = 0; i < all->count; i++)
		if (recording_is_open(all->list[i]))
			recording_clock_step(all->list[i], step);
}

/* ---- what is counted ---- */

int recordings_count_on(struct recordings *all, int fd)
{
	size_t size = sizeof(struct metrics_recorder);
	struct metrics_page page;
	int e = fd < 0 ? metrics_page_new(size, false, &page)
		       : metrics_page_map(fd, size, true, &page);

	if (e < 0)
		return e;
	metrics_page_free(&all->metrics);
	all->metrics = page;
	all->host.metrics = page.cells;
	all->host.system = metered_system(all->host.metrics);
	return 0;
}

int recordings_share(struct recordings *all, int fd)
{
	struct metrics_page page;
	int e = fd < 0 ? metrics_page_new(IN_HAND_BYTES, false, &page)
		       : metrics_page_map(fd, IN_HAND_BYTES, true, &page);

	if (e < 0)
		return e;
	metrics_page_free(&all->in_hand);
	all->in_hand = page;
	all->host.in_hand = page.cells;
	return 0;
}

static void tell_gauges(struct recordings *all)
{
	struct metrics_recorder *m = all->host.metrics;
	struct recording_gauges sums = {0};
	size_t open = 0;

	for (size_t i = 0; i < all->count; i++)
		if (recording_is_open(all->list[i])) {
			recording_gauge(all->list[i], &sums);
			open++;
		}
	metric_set(m->recordings, open);
	metric_set(m->ring_size, sums.ring_size);
	metric_set(m->ring_used, sums.ring_used);
	metric_set(m->ring_fullest, sums.ring_fullest);
	metric_set(m->frozen_now, sums.frozen);
	metric_set(m->journals_waiting, sums.waiting);
	metric_set(m->cpu, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	metric_set(m->beat, clock_ns(CLOCK_REALTIME));
}

/* Without a session: let go of rings that no session has come for. */
static int keep_rings(struct recordings *all, sd_event_source *tick)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (!kept_rings_drop_old(all->host.rings,
				 now_ns > KEEP_RINGS_NS ? now_ns - KEEP_RINGS_NS : 0))
		return 0;
	sd_event_source_set_time_relative(tick, KEEP_RINGS_NS / 1000);
	return sd_event_source_set_enabled(tick, SD_EVENT_ONESHOT);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *context)
{
	struct recordings *all = context;
	bool had_some = false, has_any = false;
	(void)usec;

	tell_gauges(all);
	for (size_t i = 0; i < all->count; i++) {
		bool is_open = recording_is_open(all->list[i]);

		had_some |= is_open && recording_tick(all->list[i]);
		has_any |= is_open;
	}
	look_at_clock(all);
	for (size_t i = 0; i < all->count && !had_some; i++)
		if (recording_is_open(all->list[i]) && recording_tidy(all->list[i]))
			break;
	if (!has_any)
		return keep_rings(all, source);
	sd_event_source_set_time_relative(source, had_some ? BUSY_TICK_USEC : IDLE_TICK_USEC);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* ---- life ---- */

static int add_sources(struct recordings *all)
{
	sd_event_source *source = NULL;
	int e = sd_event_add_io(all->loop, &source, all->socket, EPOLLIN, on_socket, all);
	if (e < 0)
		return e;
	sd_event_source_set_priority(source, RECORDINGS_PRIORITY_SOCKET);
	sd_event_source_set_floating(source, true);
	sd_event_source_unref(source);

	e = sd_event_add_time_relative(all->loop, &all->tick, CLOCK_MONOTONIC, BUSY_TICK_USEC, 1000,
				       on_tick, all);
	if (e < 0)
		return e;
	sd_event_source_set_priority(all->tick, RECORDINGS_PRIORITY_TICK);
	return sd_event_source_set_enabled(all->tick, SD_EVENT_OFF);
}

static void release(struct recordings *all)
{
	recordings_let_go(all);
	sd_event_source_disable_unref(all->let_go);
	seal_all(all);
	closer_stop(all->closer);
	free(all->list);
	json_arena_free(all->about_arena);
	sd_event_source_disable_unref(all->tick);
	freezer_stop(all->host.freezer);
	kept_rings_free(all->host.rings);
	clean_free(all->clean);
	shapes_free(all->shapes);
	metrics_page_free(&all->metrics);
	metrics_page_free(&all->in_hand);
	cleanup_close_fd(&all->host.numbers_fd);
	cleanup_close_fd(&all->host.losses_fd);
	cleanup_close_fd(&all->host.written_files_fd);
	cleanup_close_fd(&all->host.file_counts_fd);
	if (all->host.exec_bytes)
		munmap((void *)all->host.exec_bytes, SESSION_SLOTS * sizeof(uint64_t));
	cleanup_close_fd(&all->host.names_fd);
	sd_event_unref(all->loop);
}

int recordings_run(int socket, const struct log *log)
{
	struct recordings all = {
		.log = log,
		.socket = socket,
		.metrics = METRICS_PAGE_NONE,
		.in_hand = METRICS_PAGE_NONE,
		.host = {.numbers_fd = -1,
			 .losses_fd = -1,
			 .written_files_fd = -1,
			 .file_counts_fd = -1,
			 .names_fd = -1,
			 .notice = on_notice,
			 .notice_context = &all,
			 .wall_minus_boot_ns = clock_wall_minus_boot_ns()},
	};

	int e = recordings_count_on(&all, -1);
	if (e == 0)
		e = recordings_share(&all, -1);
	if (e < 0)
		return e;
	e = sd_event_new(&all.loop);
	if (e >= 0) {
		all.host.loop = all.loop;
		e = add_sources(&all);
	}
	if (e >= 0)
		e = sd_event_loop(all.loop);
	release(&all);
	return e;
}
