/*
 * The end of a session. When session.end is in the file its ground is cleaned and who asked for it
 * is told: no death of ours takes that back. Then the record gets onto the disk, is signed and
 * entered in the ledger, and its manifest says that it has ended; readers wait for that.
 */
#include "record/crash.h"
#include "session_state.h"

#include "record/jansson_cleanup.h"
#include "session_key.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define LET_GO_US 3000

/* What the client is told beside the verdict: why nothing ran, or what is wrong with the record. */
static const char *end_error(const struct session *s, int record_error, char *room, size_t size)
{
	if (record_error) {
		snprintf(room, size, "the record of session %s is not whole: %s", s->manifest.id,
			 strerror(record_error));
		return room;
	}
	if (s->verdict.limit) {
		snprintf(room, size, "session %s was killed: limit %s", s->manifest.id,
			 s->verdict.limit);
		return room;
	}
	if (s->verdict.reason == VERDICT_KILLED && s->verdict.by) {
		snprintf(room, size, "session %s was killed by %s", s->manifest.id, s->verdict.by);
		return room;
	}
	return s->verdict.text[0] ? s->verdict.text : NULL;
}

void session_tell_end(struct session *s, const json_t *verdict, const char *error)
{
	if (s->client.ended)
		s->client.ended(s->client.context, s->manifest.id, verdict,
				verdict_status(&s->verdict), error);
	s->client.ended = NULL;
}

/* The reason that stands in the record; a record that had its end already knows better than we. */
static int set_reason(struct manifest *manifest, const struct session *s, const json_t *verdict)
{
	const char *reason = json_string_value(json_object_get(verdict, "reason"));
	const json_t *code = json_object_get(verdict, "exit_code");
	const json_t *signal = json_object_get(verdict, "signal");
	char *copy = strdup(reason ? reason : verdict_reason_name(s->verdict.reason));

	if (!copy)
		return -ENOMEM;
	free(manifest->reason);
	manifest->reason = copy;
	manifest->exit_code = json_is_integer(code) ? json_integer_value(code) : -1;
	manifest->signal = json_is_integer(signal) ? json_integer_value(signal) : -1;
	return 0;
}

/*
 * A record that has no end is left as running, with the reason where there is room for it: the next
 * start finishes it.
 */
static int end_manifest(struct session *s, const struct recorder_message *m)
{
	struct manifest *manifest = &s->manifest;
	int r = set_reason(manifest, s, m->verdict);

	if (r < 0)
		return r;
	if (m->error) {
		manifest_write(s->dir_fd, manifest);
		return -m->error;
	}
	r = m->has_note ? session_key_end(s->host, s->manifest.id, m->note) : 0;
	if (r < 0) {
		metric_add(s->host->metrics->chain_errors, 1);
		return r;
	}
	manifest->state = SESSION_ENDED;
	manifest->ended_ns = session_clock_ns(CLOCK_REALTIME);
	manifest->records = m->records;
	manifest->lost = m->lost;
	return session_settle_end(s);
}

static void tell_phases(const struct session *s)
{
	char text[PHASES_TEXT];

	if (!s->phases)
		return;
	phases_write(s->phases, text);
	log_write(&s->host->log, LOG_LEVEL_DEBUG, "session %s: phases: %s", s->manifest.id, text);
}

/* The witness missed something, or somebody else was at work in the tree. */
static void tell_unexplained(const struct session *s, const json_t *verdict)
{
	json_int_t count = json_integer_value(
		json_object_get(json_object_get(verdict, "unexplained"), "count"));

	if (count <= 0)
		return;
	metric_add(s->host->metrics->unexplained, (uint64_t)count);
	log_write(&s->host->log, LOG_LEVEL_WARNING,
		  "session %s: %lld changes in its final tree that no record explains",
		  s->manifest.id, (long long)count);
}

/* What nobody waits for leaves the processors to who was told first. */
static int on_let_go(sd_event_source *source, uint64_t now_us, void *context)
{
	struct session *s = context;

	(void)source, (void)now_us;
	crash_point();
	session_tear_down(s);
	phases_mark(s->phases, "torn_down");
	return 0;
}

void session_closing(struct session *s, const struct recorder_message *m)
{
	char room[512];

	crash_point();
	phases_mark(s->phases, "written");
	tell_unexplained(s, m->verdict);
	if (m->error || s->is_adopted)
		return;
	session_clear(s);
	manifest_mark_ending(s->dir_fd, true); /* without it readers are only not made to wait */
	session_tell_end(s, m->verdict, end_error(s, 0, room, sizeof(room)));
	phases_mark(s->phases, "told");
	s->stage = SESSION_SEALING;
	crash_point();
	if (sd_event_add_time_relative(s->host->loop, &s->let_go, CLOCK_MONOTONIC, LET_GO_US, 1,
				       on_let_go, s) < 0)
		session_tear_down(s);
}

void session_count_end(struct session *s, enum verdict_reason reason, bool is_whole)
{
	metric_add(&s->host->metrics->sessions_ended[reason], 1);
	if (!is_whole)
		metric_add(s->host->metrics->records_incomplete, 1);
}

void session_closed(struct session *s, const struct recorder_message *m)
{
	char room[512];

	phases_mark(s->phases, "sealed");
	int error = -end_manifest(s, m);

	session_count_end(s, verdict_reason_by_name(s->manifest.reason), error == 0);
	if (s->stage != SESSION_SEALING) {
		session_tear_down(s);
		session_tell_end(s, m->verdict, end_error(s, error, room, sizeof(room)));
	} else if (error) {
		log_write(&s->host->log, LOG_LEVEL_ERROR,
			  "the record of session %s is not whole: %s", s->manifest.id,
			  strerror(error));
	}
	crash_point();
	manifest_mark_ending(s->dir_fd, false);
	crash_point();
	tell_phases(s);
	session_free(s);
}

/* The journal could not even be opened: there is no session. */
void session_refuse(struct session *s, const struct recorder_message *m)
{
	char text[sizeof(s->verdict.text)];

	snprintf(text, sizeof(text), "the journal cannot be written: %s%s%s", strerror(m->error),
		 m->text[0] ? ": " : "", m->text);
	session_tear_down(s);
	metric_add(s->host->metrics->sessions_refused, 1);
	if (!s->is_adopted)
		session_dir_remove(s->host->sessions_fd, s->dir_fd, s->manifest.id);
	s->verdict = (struct verdict){.reason = VERDICT_SETUP_FAILED, .error = m->error};
	session_tell_end(s, NULL, text);
	session_free(s);
}

/* The cgroup knows of all processes, where it counts; else what was reaped is what is known. */
static void measure(struct session *s, struct verdict *v)
{
	uint64_t cpu_ns = 0, memory_peak = 0;

	if (sandbox_usage(s->sandbox, &cpu_ns, &memory_peak) < 0)
		return;
	if (cpu_ns > v->cpu_ns)
		v->cpu_ns = cpu_ns;
	if (memory_peak > v->memory_peak)
		v->memory_peak = memory_peak;
}

void session_count_missed(struct session *s)
{
	if (!s->is_watched || s->has_missed)
		return;
	s->missed = host_missed(s->host) - s->missed_before;
	s->has_missed = true;
}

void session_close_record(struct session *s)
{
	struct host *h = s->host;

	session_sign(s);
	bool is_untouched = s->is_dead && session_look(s);

	if (s->sandbox) {
		if (!s->is_dead)
			sandbox_kill(s->sandbox, 0);
		measure(s, &s->verdict);
	}
	session_count_missed(s);
	if (s->missed > 0)
		recorder_missed(h->recorder, s->manifest.id, s->missed);
	if (!s->is_adopted)
		s->verdict.wall_ns = session_clock_ns(CLOCK_BOOTTIME) - s->started_boot_ns;
	phases_mark(s->phases, "measured");
	s->stage = SESSION_CLOSING;
	crash_point();
	recorder_close(h->recorder, s->manifest.id, verdict_fields(&s->verdict), is_untouched);

	/* While the recorder writes the end. */
	session_clear(s);
	phases_mark(s->phases, "cleared");
}

void session_say_failed(const struct session *s, struct verdict *v, const char *step, int error,
			const char *text)
{
	struct verdict failed = {.reason = VERDICT_SETUP_FAILED, .step = step, .error = -error};

	if (text && *text)
		snprintf(failed.text, sizeof(failed.text), "%s", text);
	else
		snprintf(failed.text, sizeof(failed.text), "%s: %s", step, strerror(-error));
	session_redact_words(s, failed.text, sizeof(failed.text));
	verdict_decide(v, &failed);
}

void session_decide_failed(struct session *s, const char *step, int error, const char *text)
{
	session_say_failed(s, &s->verdict, step, error, text);
}
