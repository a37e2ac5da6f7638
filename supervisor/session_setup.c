/*
 * What a session needs before its command can run, made in order, and given back in any state. A
 * failed step names itself in the verdict; nothing of the steps before it is left but the
 * directory, which holds the record of the failure.
 */
#include "record/crash.h"
#include "session_state.h"

#include "control.h"
#include "pool.h"
#include "process_start.h"
#include "record/cleanup.h"
#include "record/jansson_cleanup.h"
#include "session_key.h"
#include "session_loss.h"
#include "slot.h"
#include "spare_dirs.h"
#include "template_store.h"
#include "workspace.h"

#include <errno.h>
#include <fnmatch.h>
#include <poll.h>
#include <string.h>
#include <time.h>

/* The step, the error and the words of a failure, for the client and for the record. */
static int fail(struct session *s, struct fault *f, const char *step, int error, const char *text)
{
	struct verdict failed = {.reason = VERDICT_SETUP_FAILED, .step = step, .error = -error};

	if (text && *text)
		fault_say(f, "setup_failed", "%s", text);
	else
		fault_say(f, "setup_failed", "%s: %s", step, strerror(-error));
	session_redact_words(s, f->text, sizeof(f->text));
	snprintf(failed.text, sizeof(failed.text), "%.*s", (int)sizeof(failed.text) - 1, f->text);
	verdict_decide(&s->verdict, &failed);
	return error;
}

static int make_manifest(struct session *s)
{
	struct manifest *m = &s->manifest;
	struct host *h = s->host;

	int r = session_manifest_texts(s, m);

	if (r < 0)
		return r;
	m->state = SESSION_RUNNING;
	m->exit_code = m->signal = -1;
	m->uid = (int64_t)s->asker.uid;
	m->started_ns = session_clock_ns(CLOCK_REALTIME);
	m->supervisor_pid = getpid();
	if (h->process_start == 0)
		r = process_start(getpid(), &h->process_start);
	m->supervisor_start = h->process_start;
	return r;
}

/* It gets the session's name when its manifest is in it. */
static int fill_directory(struct session *s, struct spare_dir *dir)
{
	int r = s->manifest.id[0] ? 0 : session_dir_make_id(s->manifest.id);

	s->dir_fd = dir->dir.fd;
	s->manifest_fd = take_fd(dir->dir.manifest_fd);
	if (r == 0)
		r = make_manifest(s);
	if (r == 0)
		r = session_settle_start(s);
	return r < 0 ? r : spare_dir_name(dir, s->host->sessions_fd, s->manifest.id);
}

static int make_directory(struct session *s, struct fault *f)
{
	struct host *h = s->host;
	const struct session_dir_owner owner = host_session_owner(h);
	int r = s->dir.dir.fd >= 0
			? 0
			: spare_dirs_take(h->spare_dirs, h->sessions_fd, &owner, &s->dir);

	if (r == 0)
		r = fill_directory(s, &s->dir);
	if (r < 0 && s->dir_fd >= 0)
		session_dir_remove(h->sessions_fd, s->dir_fd, s->dir.name);
	s->dir = (struct spare_dir)SPARE_DIR_NONE;
	return r < 0 ? fault_set(f, r, "state", "state directory %s: %s", h->config.state,
				 strerror(-r))
		     : 0;
}

/* A directory is read as root reads it, so only root may give one. */
static int take_template(struct session *s, struct fault *f)
{
	const char *rootfs = s->request.policy.rootfs;
	struct fault why = {0};
	int r = 0;

	if (strcmp(rootfs, TEMPLATE_HOST) == 0)
		return 0;
	if (*rootfs == '/' && s->asker.uid != 0)
		r = fault_set(&why, -EPERM, "template",
			      "%s: only root may use a directory as root file system; a template "
			      "that root added may be used by its name",
			      rootfs);
	if (r == 0)
		r = templates_take(&s->host->templates, s->host->config.state, rootfs,
				   s->request.template, &s->template, &why);
	return r < 0 ? fail(s, f, "template", r, why.text) : 0;
}

static int make_secrets(struct session *s, struct fault *f)
{
	struct fault why = {0};
	int r = session_make_secrets(s, &why);

	return r < 0 ? fail(s, f, "secrets", r, why.text) : 0;
}

/* Nothing that vitrine keeps may be in reach of a session. */
static int check_workspace(struct session *s, struct fault *f)
{
	const struct config *c = &s->host->config;
	const char *path = s->request.policy.workspace;
	char keys[PATH_MAX];
	struct fault why = {0};

	if (!path)
		return 0;
	const char *slash = strrchr(c->key_file, '/');
	snprintf(keys, sizeof(keys), "%.*s", slash > c->key_file ? (int)(slash - c->key_file) : 1,
		 c->key_file);
	const struct kept_place kept[] = {{c->state, true}, {keys, false}, {RUN_DIR, true}};
	int r = workspace_check(path, kept, sizeof(kept) / sizeof(kept[0]), &why);
	return r < 0 ? fail(s, f, "workspace", r, why.text) : 0;
}

static struct sandbox_options options_of(const struct session *s)
{
	const struct policy *p = &s->request.policy;

	return (struct sandbox_options){
		.id = s->manifest.id,
		.slot = s->slot,
		.secrets_fd = s->secret_files ? secret_files_mount(s->secret_files) : 0,
		.phases = s->phases,
		.workspace = p->workspace,
		.workspace_fd = s->request.workspace_fd < 0 ? NULL : &s->request.workspace_fd,
		.syscalls = p->syscalls,
		.net = strcmp(p->net, "host") == 0 ? SANDBOX_NET_HOST : SANDBOX_NET_NONE,
		.workspace_for_root = p->workspace && strcmp(p->user, "root") == 0,
		.upper_bytes = p->limits.disk_bytes,
		.upper_inodes = p->limits.inodes,
		.limits =
			{
				.memory_bytes = p->limits.memory_bytes,
				.pids = p->limits.pids,
				.cpu_milli = p->limits.cpu_milli,
				.cpu_weight = p->limits.cpu_weight,
				.io_bytes = p->limits.io_bytes,
				.files = p->limits.files,
				.file_size_bytes = p->limits.file_size_bytes,
			},
	};
}

/* What could not be dressed is made anew: it may have been its own fault. */
static void discard_lease(struct session *s)
{
	recorder_forget(s->host->recorder, s->manifest.id);
	s->is_prepared = false;
	sandbox_free(s->sandbox);
	s->sandbox = NULL;
	if (s->main)
		s->main->cgroup = 0;
}

static int make_sandbox(struct session *s, struct fault *f)
{
	struct host *h = s->host;
	struct sandbox_error error = {0};
	const struct sandbox_template template = {s->template.root_fd, s->request.policy.rootfs};
	struct sandbox_options options = options_of(s);
	int r;

	if (s->sandbox && sandbox_dress(s->sandbox, &options, &error) == 0) {
		metric_add(h->metrics->sessions_pooled, 1);
		return 0;
	}
	if (s->sandbox)
		discard_lease(s);
	options.template = s->template.root_fd < 0 ? NULL : &template;
	r = sandbox_begin(h->launcher, &h->cgroups, &options, &s->sandbox, &error);
	return r < 0 ? fail(s, f, error.step ? error.step : "sandbox", r, error.text) : 0;
}

/* Its processes are there; pid 1 still makes itself at home. */
static int wait_launched(struct session *s, struct fault *f)
{
	struct sandbox_error error = {0};
	int r = sandbox_launched(s->sandbox, &error);

	phases_mark(s->phases, "launched");
	return r < 0 ? fail(s, f, error.step ? error.step : "sandbox", r, error.text) : 0;
}

static void take_ready(struct session *s)
{
	struct sandbox_error error = {0};
	int r = sandbox_ready(s->sandbox, &error);

	phases_mark(s->phases, "ready");
	if (r < 0)
		session_decide_failed(s, error.step ? error.step : "sandbox", r, error.text);
}

static int on_ready(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct session *s = context;

	(void)source, (void)fd, (void)events;
	s->building = sd_event_source_disable_unref(s->building);
	take_ready(s);
	session_go_on(s);
	return 0;
}

/* One that was made ahead has mostly been dressed by now. */
void session_follow_building(struct session *s)
{
	if (s->is_bare)
		return;
	struct pollfd told = {.fd = sandbox_ready_fd(s->sandbox), .events = POLLIN};
	if (poll(&told, 1, 0) == 1) {
		take_ready(s);
		return;
	}
	int r = sd_event_add_io(s->host->loop, &s->building, told.fd, EPOLLIN, on_ready, s);
	if (r < 0)
		session_decide_failed(s, "sandbox", r, NULL);
}

/* Reads below the directories of programs and kernel interfaces are looked at only where a pattern
 * leads there from the root; "**" in front means the rest of the tree. */
static uint32_t watch_flags(const json_t *watch_reads)
{
	static const char *const quiet[] = {"usr", "lib",  "lib32", "lib64", "libx32",
					    "bin", "sbin", "proc",  "sys",   "dev"};
	const json_t *pattern;
	size_t i;

	json_array_foreach (watch_reads, i, pattern) {
		const char *text = json_string_value(pattern);
		if (*text != '/')
			continue;

		char top[64];
		snprintf(top, sizeof(top), "%.*s", (int)strcspn(text + 1, "/"), text + 1);
		for (size_t q = 0; q < sizeof(quiet) / sizeof(*quiet); q++)
			if (fnmatch(top, quiet[q], 0) == 0)
				return SESSION_READS_EVERYWHERE;
	}
	return 0;
}

static struct sensors_subject subject_of(const struct session *s)
{
	const struct policy *p = &s->request.policy;
	const struct sandbox_info *info = sandbox_info(s->sandbox);

	return (struct sensors_subject){
		.cgroup = info->cgroup,
		.flags = watch_flags(p->watch_reads),
		.workspace_dev = info->workspace_dev,
		.limits =
			{
				[WIRE_LIMIT_memory] = p->limits.memory_bytes,
				[WIRE_LIMIT_pids] = p->limits.pids,
				[WIRE_LIMIT_disk] = info->upper_bytes,
				[WIRE_LIMIT_inodes] = info->upper_inodes,
				[WIRE_LIMIT_files] = p->limits.files,
				[WIRE_LIMIT_file_size] = p->limits.file_size_bytes,
			},
	};
}

static int start_watch(struct session *s, struct fault *f)
{
	struct host *h = s->host;
	struct sensors_subject subject = subject_of(s);
	struct fault why = {0};
	int r = host_watch(h, &why);
	if (r < 0)
		return fail(s, f, "sensors", r, why.text);

	s->cgroup = sandbox_info(s->sandbox)->cgroup;
	s->missed_before = h->missed_seen;
	sensors_deny(h->sensors, &s->request.policy.syscalls.denied);
	r = s->has_slot ? 0 : sensors_take_slot(h->sensors, &s->watch);
	s->has_slot = r == 0;
	if (r == 0)
		r = sensors_open_session(h->sensors, &subject, &s->watch);
	if (r < 0) {
		host_unwatch(h);
		return fail(s, f, "sensors", r,
			    r == -ENOSPC ? "as many sessions as there are slots are alive" : NULL);
	}
	s->is_watched = true;
	r = session_loss_begin(s);
	if (r < 0)
		return fail(s, f, "sensors", r, NULL);
	if (s->request.policy.ring_bytes > s->watch.ring_bytes)
		return fail(s, f, "ring_bytes", -ERANGE,
			    "the policy asks for a larger ring than the daemon has; set ring_bytes "
			    "in its configuration");
	return 0;
}

static bool take_from_pool(struct session *s)
{
	const struct policy *p = &s->request.policy;
	struct pool_lease lease;

	/* Both are what a sandbox is made of. */
	if (strcmp(p->rootfs, TEMPLATE_HOST) != 0 || strcmp(p->net, "host") == 0 ||
	    !pool_take(s->host->pool, &lease))
		return false;
	memcpy(s->manifest.id, lease.id, sizeof(lease.id));
	s->slot = lease.slot;
	s->slot_fd = lease.slot_fd;
	s->sandbox = lease.sandbox;
	s->watch = lease.watch;
	s->dir = lease.dir;
	s->pipes = lease.pipes;
	s->has_slot = s->is_prepared = true;
	if (s->main)
		s->main->cgroup = lease.exec_cgroup;
	else
		sandbox_kill(s->sandbox, SESSION_EXEC);
	return true;
}

static int take_slot(struct session *s, struct fault *f)
{
	struct host *h = s->host;
	int r = slot_take(SLOT_FILE, SESSION_SLOTS, h->slot_hint, &s->slot, &s->slot_fd);

	if (r < 0)
		return fault_set(f, r, r == -EAGAIN || r == -ENOSPC ? "capacity" : "slot",
				 "no slot for a session: %s", strerror(-r));
	h->slot_hint = s->slot + 1;
	return 0;
}

/* While the launcher is at work. */
static int make_key(struct session *s, struct fault *f)
{
	int r = session_key_make(s->host, s->manifest.id, &s->key);

	phases_mark(s->phases, "key");
	return r < 0 ? fail(s, f, "key", r, NULL) : 0;
}

static int measure_workspace(struct session *s, struct fault *f)
{
	int r = session_limits_measure(s);

	return r < 0 ? fail(s, f, "limits", r, NULL) : 0;
}

/* What the host lacks refuses a session, before anything of it is there. */
static int check_host(struct doctor_report *report, struct fault *f)
{
	struct finding lack;
	const char *name;

	if (!report)
		return 0;
	doctor_report_refresh(report);
	if (!doctor_report_lacks(report, &name, &lack))
		return 0;
	return fault_set(f, -EOPNOTSUPP, "unfit_host", "%s: %s%s%s; see vitrine doctor", name,
			 lack.found, lack.mend[0] ? ": " : "", lack.mend);
}

/* The recorder is told of its cgroup with the opening: what comes out of the ring by then is known.
 */
static int begin_command(struct session *s, struct fault *f)
{
	struct fault why = {0};
	int r = s->main ? exec_begin(s->main, &why) : 0;

	phases_mark(s->phases, "begun");
	return r < 0 ? fail(s, f, why.code, r, why.text) : 0;
}

int session_set_up(struct session *s, struct fault *f)
{
	int r = s->request.has_command && !s->main
			? fault_set(f, -ENOMEM, "no_memory", "out of memory")
			: check_host(s->host->doctor, f);
	if (r == 0)
		r = take_from_pool(s) ? 0 : take_slot(s, f);
	if (r < 0)
		return r;
	phases_mark(s->phases, "slot");
	r = make_directory(s, f);
	crash_point();
	phases_mark(s->phases, "directory");
	if (r == 0)
		r = check_workspace(s, f);
	if (r == 0)
		r = take_template(s, f);
	if (r == 0)
		r = make_secrets(s, f);
	if (r == 0)
		r = make_sandbox(s, f);
	if (r == 0 && s->is_prepared)
		r = wait_launched(s, f);
	if (r == 0)
		r = start_watch(s, f);
	crash_point();
	phases_mark(s->phases, "watch");
	if (r == 0 && !s->is_prepared)
		r = make_key(s, f);
	if (r == 0 && !s->is_prepared)
		r = wait_launched(s, f);
	if (r == 0)
		r = begin_command(s, f);
	if (r == 0)
		r = measure_workspace(s, f);
	return r;
}

void session_clear(struct session *s)
{
	crash_point();
	s->building = sd_event_source_disable_unref(s->building); /* given up while it was made */
	if (s->sandbox)
		sandbox_clear(s->sandbox);
	crash_point();
	secret_files_free(s->secret_files);
	s->secret_files = NULL;
	template_use_end(&s->template);
}

void session_tear_down(struct session *s)
{
	struct host *h = s->host;

	s->statuses = sd_event_source_disable_unref(s->statuses);
	s->disk_wait = sd_event_source_disable_unref(s->disk_wait);
	s->let_go = sd_event_source_disable_unref(s->let_go);
	session_limits_stop(s);
	session_limits_free(s);
	session_clear(s);
	while (s->execs)
		exec_abandon(s->execs);
	streams_close_pipes(&s->pipes);
	if (s->is_watched) {
		sensors_close_session(h->sensors, s->cgroup, s->watch.slot);
		host_unwatch(h);
	} else if (s->has_slot) {
		sensors_give_slot(h->sensors, s->watch.slot);
	}
	s->is_watched = s->has_slot = false;
	sandbox_free(s->sandbox);
	s->sandbox = NULL;
	if (s->slot_fd >= 0)
		close(s->slot_fd);
	s->slot_fd = -1;
}

static int key_missing(struct session *s, int error)
{
	metric_add(s->host->metrics->chain_errors, 1);
	log_write(&s->host->log, LOG_LEVEL_ERROR, "session %s: no key to sign with: %s",
		  s->manifest.id, strerror(-error));
	return error;
}

static int open_bare(struct session *s)
{
	cleanup(json) json_t *key = NULL;
	int r = session_key_make(s->host, s->manifest.id, &key);

	if (r < 0)
		return key_missing(s, r);
	s->is_prepared = false;
	return recorder_open_journal(s->host->recorder, s->manifest.id, s->dir_fd,
				     &s->request.secrets, key);
}

/* What can be done while the recorder opens the record. */
void session_sign(struct session *s)
{
	cleanup(json) json_t *key = NULL;

	if (s->is_bare || s->is_signed)
		return;
	s->is_signed = true;
	int r = session_key_make(s->host, s->manifest.id, &key);
	r = r < 0 ? key_missing(s, r) : recorder_sign(s->host->recorder, s->manifest.id, key);
	phases_mark(s->phases, "signed");
	if (r == 0)
		return;
	session_decide_failed(s, "key", r, NULL);
	if (s->stage == SESSION_WORKING)
		session_finish(s);
}

struct recorder_ground session_ground_of(struct sandbox *sandbox,
					 const struct sensors_session *watch, int dir_fd)
{
	const struct sandbox_info *info = sandbox_info(sandbox);

	return (struct recorder_ground){
		.slot = watch->slot,
		.ring_id = watch->ring_id,
		.ring_bytes = watch->ring_bytes,
		.high_water = watch->high_water,
		.uid_base = info->uid_base,
		.uid_count = info->uid_count,
		.journal_fd = dir_fd,
		.ring_fd = watch->ring_fd,
		.freeze_fd = info->freeze_fd,
		.fanotify_fd = info->fanotify_fd,
		.root_mount_fd = info->root_mount_fd,
	};
}

int session_open_record(struct session *s)
{
	cleanup(json) json_t *key = take(s->key);

	if (s->is_bare)
		return open_bare(s);

	const struct recorder_ground ground = session_ground_of(s->sandbox, &s->watch, s->dir_fd);
	const struct recorder_open open = {
		.session = s->manifest.id,
		.ground = s->is_prepared ? NULL : &ground,
		.policy = &s->request.policy,
		.secrets = &s->request.secrets,
		.key = key,
		.exec = s->main ? s->main->number : 0,
		.exec_cgroup = s->main ? s->main->cgroup : 0,
	};
	int r = recorder_open(s->host->recorder, &open);
	if (r < 0)
		return r;
	s->is_prepared = false;
	s->is_signed = key != NULL;
	return 0;
}
