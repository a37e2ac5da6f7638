/*
 * A host that is all pretence, for the test of sessions: every call that a session makes is written
 * down, and every one can be made to fail. The linker takes these instead of those of our
 * libraries.
 */
#pragma once

#include "../../supervisor/pool.h"
#include "../../supervisor/record/cleanup.h"
#include "../../supervisor/session_key.h"
#include "../../supervisor/session_state.h"
#include "../../supervisor/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct {
	char calls[4096];	       /* names of the calls, in order */
	const char *failing;	       /* the one that fails */
	int sandboxes, watches, slots; /* given and not given back */
	bool is_held;		       /* messages to the recorder wait */
	int told_started, told_ended, told_status;
	char told_error[256];
	bool has_verdict;
	uint64_t hits[SANDBOX_CONTROLLERS]; /* of limits, as the kernel counts them */
	uint64_t seen[WIRE_LIMIT_COUNT];    /* and as they were seen of processes */
	struct sandbox_limits exec_limits;  /* of the last command that has its own */
	struct death death;		    /* .ended 0: not known */
	bool has_pool;			    /* with one that is ready */
	bool is_pooled;			    /* the sandbox came from there */
	const char *step;		    /* of a command that could not be started */
	struct sandbox_status status;	    /* the next one */
	int status_fd;
	int ready_fd;			    /* readable: nothing is waited for */
	json_t *exec_end, *session_end;	    /* fields of the last one sent */
	uint64_t numbers[WIRE_CLASS_COUNT]; /* that the kernel has given out */
	char gaps[512];			    /* their fields, one a line */
} fake;

static int call(const char *name)
{
	strcat(fake.calls, name);
	strcat(fake.calls, " ");
	return fake.failing && !strcmp(fake.failing, name) ? -EIO : 0;
}

struct sandbox {
	struct sandbox_info info;
};

int slot_take(const char *file, uint32_t count, uint32_t hint, uint32_t *ret_slot, int *ret_fd)
{
	(void)file, (void)hint;
	assert_int_equal(count, 1024);
	int r = call("slot");
	if (r < 0)
		return r;
	*ret_slot = 7;
	*ret_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return 0;
}

int host_watch(struct host *h, struct fault *f)
{
	h->watched++;
	int r = call("watch");
	if (r == 0)
		return 0;
	h->watched--;
	return fault_set(f, r, "sensors", "no sensors here");
}

void host_unwatch(struct host *h)
{
	h->watched--;
}

static struct sandbox *new_sandbox(void)
{
	struct sandbox *s = calloc(1, sizeof(*s));

	s->info = (struct sandbox_info){
		.cgroup = 1,
		.freeze_fd = -1,
		.fanotify_fd = -1,
		.root_mount_fd = -1,
		.stage_fd = 0, /* no directory: what is looked at is the recorder's business */
		.lower_fd = -1,
		.workspace_fd = -1,
		.uid_base = geteuid(),
	};
	fake.sandboxes++;
	return s;
}

bool pool_take(struct pool *p, struct pool_lease *ret_lease)
{
	(void)p;
	if (!fake.has_pool)
		return false;
	call("lease");
	fake.is_pooled = true;
	fake.slots++;
	*ret_lease = (struct pool_lease){
		.pipes = STREAMS_PIPES_NONE,
		.id = "0123456789ab",
		.slot = 7,
		.slot_fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
		.sandbox = new_sandbox(),
		.watch = {.slot = 3, .ring_fd = -1, .ring_bytes = 4 << 20},
		.dir = SPARE_DIR_NONE,
		.exec_cgroup = 2,
	};
	return true;
}

int sandbox_dress(struct sandbox *s, const struct sandbox_options *options,
		  struct sandbox_error *ret_error)
{
	(void)s, (void)ret_error;
	assert_string_equal(options->id, "0123456789ab");
	assert_int_equal(options->slot, 7);
	return call("dress");
}

int sandbox_begin(struct launcher *l, const struct cgroup_root *root,
		  const struct sandbox_options *options, struct sandbox **ret_sandbox,
		  struct sandbox_error *ret_error)
{
	(void)l, (void)root;
	assert_int_equal(options->slot, 7);
	int r = call("create");
	if (r < 0) {
		ret_error->step = "mount";
		ret_error->error = -r;
		snprintf(ret_error->text, sizeof(ret_error->text), "overlay: not today");
		return r;
	}
	*ret_sandbox = new_sandbox();
	fake.is_pooled = false;
	return 0;
}

int sandbox_launched(struct sandbox *s, struct sandbox_error *ret_error)
{
	(void)s, (void)ret_error;
	return 0;
}

int sandbox_ready(struct sandbox *s, struct sandbox_error *ret_error)
{
	(void)s, (void)ret_error;
	return 0;
}

int sandbox_ready_fd(const struct sandbox *s)
{
	(void)s;
	return fake.ready_fd;
}

bool sandbox_is_current(struct sandbox *s)
{
	(void)s;
	return true;
}

const struct sandbox_info *sandbox_info(const struct sandbox *s)
{
	return &s->info;
}

void sandbox_free(struct sandbox *s)
{
	fake.sandboxes -= s != NULL;
	free(s);
}

int sandbox_prepare_exec(struct sandbox *s, uint32_t exec, uint64_t *ret_cgroup)
{
	(void)s;
	*ret_cgroup = 1 + exec;
	return call("prepare");
}

int sandbox_begin_exec(struct sandbox *s, uint32_t exec, bool as_root)
{
	(void)s, (void)exec, (void)as_root;
	return call("begin");
}

int sandbox_exec(struct sandbox *s, const struct sandbox_command *command,
		 struct sandbox_error *ret_error)
{
	(void)s, (void)ret_error;
	assert_string_equal(command->argv[0], "true");
	assert_true(command->stdin_fd >= 0 && command->stdout_fd >= 0 && command->stderr_fd >= 0);
	return call("exec");
}

int sandbox_status_fd(const struct sandbox *s)
{
	(void)s;
	return fake.status_fd;
}

int sandbox_next_status(struct sandbox *s, struct sandbox_status *ret_status)
{
	uint64_t count;

	(void)s;
	if (read(fake.status_fd, &count, sizeof(count)) < 0)
		return 0;
	*ret_status = fake.status;
	return 1;
}

int sandbox_kill(struct sandbox *s, uint32_t exec)
{
	(void)s;
	return call(exec ? "kill-exec" : "kill");
}

int sandbox_kill_all(struct sandbox *s)
{
	(void)s;
	return 0;
}

int sandbox_end(struct sandbox *s)
{
	(void)s;
	return call("end");
}

void sandbox_clear(struct sandbox *s)
{
	(void)s;
}

int sandbox_signal(struct sandbox *s, uint32_t exec, int signal)
{
	(void)s, (void)exec, (void)signal;
	return call("signal");
}

int sandbox_resize(struct sandbox *s, uint32_t exec, uint16_t columns, uint16_t rows)
{
	(void)s, (void)exec, (void)columns, (void)rows;
	return call("resize");
}

int sandbox_usage(struct sandbox *s, uint64_t *ret_cpu_ns, uint64_t *ret_memory_peak)
{
	(void)s;
	*ret_cpu_ns = 11;
	*ret_memory_peak = 22;
	return 0;
}

int sandbox_exec_usage(const struct sandbox *s, uint32_t exec, uint64_t *ret_cpu_ns,
		       uint64_t *ret_memory_peak)
{
	(void)s;
	*ret_cpu_ns = exec;
	*ret_memory_peak = 10 * exec;
	return 0;
}

int sandbox_limit_exec(struct sandbox *s, uint32_t exec, const struct sandbox_limits *limits,
		       struct sandbox_error *ret_error)
{
	(void)s, (void)exec, (void)ret_error;
	fake.exec_limits = *limits;
	return call("limit-exec");
}

int sandbox_limit_hits(const struct sandbox *s, uint32_t exec, enum sandbox_controller c,
		       uint64_t *ret_hits)
{
	(void)s;
	if (exec)
		return -ENODATA;
	*ret_hits = fake.hits[c];
	return 0;
}

bool sandbox_is_full(const struct sandbox *s, bool *ret_inodes)
{
	(void)s, (void)ret_inodes;
	return false;
}

void sensors_deny(struct sensors *s, const struct syscall_set *denied)
{
	(void)s;
	(void)denied;
}

int sensors_take_slot(struct sensors *s, struct sensors_session *ret_session)
{
	(void)s;
	int r = call("ring");
	if (r < 0)
		return r;
	*ret_session = (struct sensors_session){.slot = 3, .ring_fd = -1, .ring_bytes = 4 << 20};
	fake.slots++;
	return 0;
}

void sensors_give_slot(struct sensors *s, uint32_t slot)
{
	(void)s;
	assert_int_equal(slot, 3);
	fake.slots--;
}

int sensors_open_session(struct sensors *s, const struct sensors_subject *subject,
			 const struct sensors_session *session)
{
	(void)s, (void)subject;
	assert_int_equal(session->slot, 3);
	fake.watches++;
	return 0;
}

int sensors_numbers(struct sensors *s, uint32_t slot, uint64_t ret_numbers[WIRE_CLASS_COUNT])
{
	(void)s, (void)slot;
	memcpy(ret_numbers, fake.numbers, sizeof(fake.numbers));
	return 0;
}

void sensors_close_session(struct sensors *s, uint64_t cgroup, uint32_t slot)
{
	(void)cgroup;
	fake.watches--;
	sensors_give_slot(s, slot);
}

uint64_t sensors_hits(struct sensors *s, const struct sensors_session *session,
		      enum wire_limit limit)
{
	(void)s, (void)session;
	return fake.seen[limit];
}

int sensors_limit_command(struct sensors *s, uint64_t cgroup,
			  const uint64_t limits[WIRE_LIMIT_COUNT])
{
	(void)s, (void)cgroup, (void)limits;
	return 0;
}

uint64_t sensors_command_hits(struct sensors *s, uint64_t cgroup, enum wire_limit limit)
{
	(void)s, (void)cgroup, (void)limit;
	return 0;
}

void sensors_forget_command(struct sensors *s, uint64_t cgroup)
{
	(void)s, (void)cgroup;
}

int sensors_death(struct sensors *s, uint64_t cgroup, struct death *ret_death)
{
	(void)s, (void)cgroup;
	*ret_death = fake.death;
	return fake.death.ended ? 0 : -ENOENT;
}

void sensors_forget_death(struct sensors *s, uint64_t cgroup)
{
	(void)s, (void)cgroup;
}

uint64_t host_missed(struct host *h)
{
	(void)h;
	return 0;
}

struct session_dir_owner host_session_owner(const struct host *h)
{
	return (struct session_dir_owner){.uid = h->recorder_uid, .gid = h->recorder_gid};
}

const char *const *sensors_names(const struct sensors *s)
{
	static const char *const names[] = {"process", NULL};

	(void)s;
	return names;
}

int session_key_make(const struct host *h, const char *session, json_t **ret_key)
{
	(void)h, (void)session;
	*ret_key = json_object();
	return 0;
}

int session_key_end(const struct host *h, const char *session, const uint8_t note[32])
{
	(void)h, (void)session, (void)note;
	return call("sign-end");
}

int recorder_open(struct recorder *r, const struct recorder_open *open)
{
	(void)r;
	if (fake.is_pooled)
		assert_null(open->ground);
	else
		assert_int_equal(open->ground->slot, 3);
	/* The key is made while the launcher is at work; without that, while the command runs. */
	assert_true((open->key == NULL) == fake.is_pooled);
	return call("open");
}

int recorder_open_journal(struct recorder *r, const char *session, int journal_fd,
			  const struct session_secrets *secrets, const json_t *key)
{
	(void)r, (void)session, (void)secrets;
	assert_non_null(key);
	assert_true(journal_fd >= 0);
	return call("open-journal");
}

int recorder_sign(struct recorder *r, const char *session, const json_t *key)
{
	(void)r, (void)session;
	assert_non_null(key);
	return call("sign");
}

int recorder_event(struct recorder *r, const char *session, const char *kind, json_t *fields)
{
	(void)r, (void)session;
	assert_non_null(fields);
	if (!strcmp(kind, "gap")) {
		cleanup(free) char *text = json_dumps(fields, JSON_SORT_KEYS | JSON_COMPACT);
		strcat(strcat(fake.gaps, text), "\n");
	}
	json_decref(fields);
	return call(kind);
}

int recorder_exec(struct recorder *r, const char *session, const struct recorder_command *command,
		  const struct streams *streams)
{
	(void)r, (void)session;
	assert_int_equal(command->cgroup, 1 + command->exec);
	assert_true(streams->from[0] >= 0 && streams->to[1] >= 0);
	return call("tell-exec");
}

int recorder_start_exec(struct recorder *r, const char *session, uint32_t exec, json_t *fields,
			int gate_fd)
{
	(void)r, (void)session, (void)exec;
	assert_non_null(fields);
	assert_true(gate_fd >= 0);
	json_decref(fields);
	return call("exec.start");
}

void recorder_hold(struct recorder *r)
{
	(void)r;
	fake.is_held = true;
}

int recorder_release(struct recorder *r)
{
	(void)r;
	fake.is_held = false;
	return 0;
}

int recorder_prepare(struct recorder *r, const char *session, const struct recorder_ground *ground)
{
	(void)r, (void)session, (void)ground;
	return call("prepare-record");
}

int recorder_forget(struct recorder *r, const char *session)
{
	(void)r, (void)session;
	return call("forget");
}

int recorder_tty(struct recorder *r, const char *session, uint32_t exec, int master,
		 const struct streams *streams)
{
	(void)r, (void)session, (void)exec, (void)master, (void)streams;
	return call("tty");
}

int recorder_resize(struct recorder *r, const char *session, uint32_t exec, uint16_t columns,
		    uint16_t rows)
{
	(void)r, (void)session, (void)exec, (void)columns, (void)rows;
	return call("tell-resize");
}

int recorder_discard(struct recorder *r, const char *session, uint32_t exec)
{
	(void)r, (void)session, (void)exec;
	return call("discard");
}

int recorder_close_exec(struct recorder *r, const char *session, uint32_t exec, json_t *fields,
			bool is_last)
{
	(void)r, (void)session, (void)exec;
	json_decref(fake.exec_end);
	fake.exec_end = fields;
	return call(is_last ? "exec.end-last" : "exec.end");
}

int recorder_look(struct recorder *r, const char *session, const struct recorder_look *look)
{
	(void)r, (void)session, (void)look;
	return call("look");
}

int recorder_missed(struct recorder *r, const char *session, uint64_t count)
{
	(void)r, (void)session, (void)count;
	return call("missed");
}

int recorder_close(struct recorder *r, const char *session, json_t *fields, bool is_untouched)
{
	(void)r, (void)session;
	assert_false(is_untouched);
	json_decref(fake.session_end);
	fake.session_end = fields;
	return call("session.end");
}

void recorder_message_free(struct recorder_message *m)
{
	json_decref(m->verdict);
}
