/*
 * The requests that open a recording. What it stands on may be prepared ahead of the session, which
 * then asks for the rest; a session that comes to nothing prepared has both at once.
 */
#include "../../bpf/wire.h"
#include "../record/cleanup.h"
#include "call.h"
#include "secret_list.h"

#include <errno.h>
#include <string.h>

static int read_secrets(struct call *c, struct redact_secret **ret_secrets, size_t *ret_count)
{
	int e = secret_list_read(json_object_get(c->body, "secrets"), ret_secrets, ret_count);

	if (e == -E2BIG)
		return call_refuse(c, e, "too many secrets");
	return e < 0 ? call_refuse(c, e, "a secret has no name or no value") : 0;
}

/* The key that signs the record; without one it goes unsigned. */
int call_signing(struct call *c, uint8_t seed[SIGN_SEED_SIZE], struct checkpoints_key *key,
		 const struct checkpoints_key **ret_key)
{
	const json_t *given = json_object_get(c->body, "key");
	cleanup(free) char *bytes = NULL;
	size_t size = 0;

	if (!json_is_object(given))
		return 0;
	int e = control_get_bytes(json_object_get(given, "seed"), &bytes, &size);
	*key = (struct checkpoints_key){
		.origin = json_string_value(json_object_get(given, "origin")),
		.opened = json_string_value(json_object_get(given, "opened")),
		.seed = seed,
	};
	if (e < 0 || size != SIGN_SEED_SIZE || !key->origin || !key->opened)
		return call_refuse(c, -EINVAL, "what signs the record is no key");
	memcpy(seed, bytes, size);
	explicit_bzero(bytes, size);
	*ret_key = key;
	return 0;
}

/* A name that the table does not know is none of ours to refuse. */
static void read_calls(const json_t *names, struct syscall_set *ret_calls)
{
	const json_t *value;
	size_t i;

	json_array_foreach (names, i, value) {
		const char *name = json_string_value(value);
		int call = name ? syscall_number(name) : -1;

		if (call >= 0)
			syscall_set_add(ret_calls, (uint32_t)call);
	}
}

static int read_ground(struct call *c, struct recording_ground *g)
{
	uint64_t slot = 0, base = 0, count = 0;
	int e = call_number(c, "slot", SESSION_SLOTS - 1, 0, &slot);

	if (e == 0)
		e = call_number(c, "ring_id", INT64_MAX, 0, &g->ring_id);
	if (e == 0)
		e = call_number(c, "ring_bytes", 1ULL << 30, 0, &g->ring_bytes);
	if (e == 0)
		e = call_number(c, "high_water", 1ULL << 30, 0, &g->high_water);
	if (e == 0)
		e = call_number(c, "uid_base", UINT32_MAX, 0, &base);
	if (e == 0)
		e = call_number(c, "uid_count", UINT32_MAX, 0, &count);
	if (e < 0)
		return e;

	g->slot = slot;
	g->uid_base = base;
	g->uid_count = count;
	g->journal_fd = call_borrow_fd(c, "journal");
	g->ring_fd = call_borrow_fd(c, "ring");
	g->freeze_fd = call_borrow_fd(c, "freeze");
	g->fanotify_fd = call_borrow_fd(c, "fanotify");
	g->root_mount_fd = call_borrow_fd(c, "root_mount");
	return g->journal_fd < 0 ? call_refuse(c, -EINVAL, "no journal") : 0;
}

static int read_options(struct call *c, struct recording_options *o)
{
	static const char *const losses[] = {"freeze", "count", "kill", NULL};
	static const char *const outputs[] = {"full", "meta", "none", NULL};
	uint64_t wait_s = 0, exec = 0;
	int on_loss = 0, output = 0;
	int e = call_number(c, "disk_wait_s", UINT32_MAX, 60, &wait_s);

	if (e == 0)
		e = call_number(c, "output_cap", INT64_MAX, 64ULL << 20, &o->output_cap);
	if (e == 0)
		e = call_number(c, "output_limit", INT64_MAX, 0, &o->output_limit);
	if (e == 0)
		e = call_number(c, "exec", UINT32_MAX, 0, &exec);
	if (e == 0)
		e = call_number(c, "cgroup", INT64_MAX, 0, &o->exec_cgroup);
	if (e == 0)
		e = call_word(c, "on_loss", losses, &on_loss);
	if (e == 0)
		e = call_word(c, "output", outputs, &output);
	if (e < 0)
		return e;

	o->is_bare = json_is_true(json_object_get(c->body, "bare"));
	o->exec = exec;
	o->disk_wait_ns = wait_s * 1000000000ULL;
	o->on_loss = on_loss;
	o->output = output;
	o->watch_reads = json_object_get(c->body, "watch_reads");
	o->is_explained = json_is_true(json_object_get(c->body, "explain"));
	o->redact_output = json_is_true(json_object_get(c->body, "redact_output"));
	o->redact_off = json_object_get(c->body, "redact_off");
	o->redact_rules = json_object_get(c->body, "redact_rules");
	read_calls(json_object_get(c->body, "seccomp_deny"), &o->syscalls.denied);
	read_calls(json_object_get(c->body, "seccomp_allow"), &o->syscalls.allowed);
	return 0;
}

/* The recording has them now. */
static void give_descriptors(struct call *c)
{
	static const char *const given[] = {"ring", "freeze", "fanotify", "root_mount"};

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		(void)call_take_fd(c, given[i]);
}

/* The recording is in the list then. */
static int prepare(struct call *c, const char *session, const struct checkpoints_key *key)
{
	struct recording_ground ground = {.session = session, .key = key};
	int e = read_ground(c, &ground);

	if (e == 0)
		e = recording_prepare(&c->all->host, &ground, &c->recording, &c->why);
	if (e < 0)
		return e;
	give_descriptors(c);
	e = recordings_add(c->all, c->recording);
	if (e < 0) {
		recording_free(take(c->recording));
		return call_refuse(c, e, "out of memory");
	}
	return 0;
}

int call_serve_prepare(struct call *c)
{
	const char *session = json_string_value(json_object_get(c->body, "session"));

	if (!session)
		return call_refuse(c, -EINVAL, "no session");
	if (recordings_find(c->all, session))
		return call_refuse(c, -EEXIST, "the session is there already");
	return prepare(c, session, NULL);
}

static void drop(struct call *c)
{
	recordings_remove(c->all, c->recording);
	recording_free(c->recording);
}

int call_serve_forget(struct call *c)
{
	if (recording_is_open(c->recording))
		return call_refuse(c, -EBUSY, "the session is open");
	drop(c);
	return 0;
}

/* What was not prepared is so now. */
static int open_recording(struct call *c, const char *session, struct recording_options *options)
{
	const struct checkpoints_key *given = NULL;
	uint8_t seed[SIGN_SEED_SIZE] = {0};
	struct checkpoints_key key;
	int e = call_signing(c, seed, &key, &given);

	if (e == 0 && !c->recording)
		e = prepare(c, session, given);
	else if (e == 0 && given)
		e = recording_sign(c->recording, given, &c->why);
	explicit_bzero(seed, sizeof(seed));
	if (e == 0)
		e = recording_open(c->recording, options, &c->why);
	if (e < 0 && c->recording)
		drop(c);
	return e;
}

int call_serve_open(struct call *c)
{
	const char *session = json_string_value(json_object_get(c->body, "session"));
	struct recording_options options = {0};
	struct redact_secret *secrets = NULL;
	size_t count = 0;

	if (!session)
		return call_refuse(c, -EINVAL, "no session");
	c->recording = recordings_find(c->all, session);
	recordings_ask(c->all, c->recording);
	if (c->recording && recording_is_open(c->recording))
		return call_refuse(c, -EEXIST, "the session is open already");
	int e = read_options(c, &options);
	if (e == 0)
		e = read_secrets(c, &secrets, &count);
	if (e < 0)
		return e;

	options.secrets = secrets;
	options.secret_count = count;
	e = open_recording(c, session, &options);
	secret_list_free(secrets, count);
	if (e < 0)
		return e;
	recordings_start_ticking(c->all);
	if (recording_is_ended(c->recording))
		json_object_set_new(c->reply, "ended", json_true());
	return 0;
}
