/*
 * How a session's secrets are given to it, and what the record says of that: names, places and
 * times, never a value.
 */
#include "session_state.h"

#include <errno.h>

static void on_denied(void *context, const struct session_secret *secret, pid_t pid)
{
	struct session *s = context;

	recorder_event(s->host->recorder, s->manifest.id, "attempt",
		       json_pack("{s:i, s:s, s:s, s:i, s:s, s:s}", "host_pid", (int)pid, "syscall",
				 "open", "arguments", secret->path, "errno", EPERM, "error",
				 "EPERM", "reason", "secret_only"));
}

static void on_expired(void *context, const struct session_secret *secret)
{
	struct session *s = context;

	recorder_event(s->host->recorder, s->manifest.id, "secret.expire",
		       json_pack("{s:s, s:s}", "name", secret->name, "path", secret->path));
}

int session_make_secrets(struct session *s, struct fault *f)
{
	return secret_files_make(&s->request.secrets, sandbox_uid_base(s->slot), &s->secret_files,
				 f);
}

int session_guard_secrets(struct session *s, struct fault *f)
{
	const struct secret_files_watcher watcher = {s, on_denied, on_expired};

	return secret_files_guard(s->secret_files, s->host->loop,
				  sandbox_info(s->sandbox)->init_pid, &watcher, f);
}

static json_t *fields_of(const struct session_secret *secret)
{
	const struct secret_delivery *d = &secret->delivery;
	json_t *fields =
		json_pack("{s:s, s:s}", "name", secret->name, "as", d->as_file ? "file" : "env");

	if (!fields || !d->as_file)
		return fields;
	json_object_set_new(fields, "path", json_string(secret->path));
	json_object_set_new(fields, "mode", json_integer(d->mode));
	json_object_set_new(fields, "as_user", json_string(d->for_root ? "root" : "agent"));
	if (d->only)
		json_object_set_new(fields, "only", json_string(d->only));
	if (d->ttl_ms)
		json_object_set_new(fields, "ttl_ns",
				    json_integer((json_int_t)d->ttl_ms * 1000000));
	return fields;
}

int session_record_secrets(struct session *s)
{
	const struct session_secrets *secrets = &s->request.secrets;
	int r = 0;

	for (size_t i = 0; r == 0 && i < secrets->count; i++)
		r = recorder_event(s->host->recorder, s->manifest.id, "secret.give",
				   fields_of(&secrets->items[i]));
	if (r < 0)
		session_decide_failed(s, "record", r, NULL);
	return r;
}
