/* What the supervisor itself says in a record: the fields of session.start and exec.start. */
#include "session_state.h"

#include "control.h"
#include "deployment_key.h"
#include "record/hash.h"
#include "record/jansson_cleanup.h"
#include "record/json.h"
#include "redact/redact.h"
#include "redact/rules.h"
#include "redact/shapes.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#define COMMAND_TEXT_MAX 4096
#define PASSWD_ROOM 4096
#define NAME_KEPT_NS 1000000000ull

uint64_t session_clock_ns(int clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static json_t *bytes_array(char *const *texts)
{
	json_t *array = json_array();

	for (; array && *texts; texts++)
		if (json_array_append_new(array, control_bytes(*texts, strlen(*texts))) < 0)
			return json_decref(array), NULL;
	return array;
}

static void put(json_t *fields, const char *name, const char *text)
{
	if (text)
		json_object_set_new(fields, name, control_bytes(text, strlen(text)));
}

/* NULL: that user has none. To look it up opens files, or asks a server: the last one is kept for a
 * second. */
static const char *user_name(uid_t uid)
{
	static char kept[PASSWD_ROOM];
	static uid_t kept_uid;
	static uint64_t kept_until_ns;
	uint64_t now_ns = session_clock_ns(CLOCK_BOOTTIME);
	struct passwd user, *found = NULL;
	char room[PASSWD_ROOM];

	if (uid != kept_uid || now_ns >= kept_until_ns) {
		if (getpwuid_r(uid, &user, room, sizeof(room), &found) != 0 || !found)
			return NULL;
		snprintf(kept, sizeof(kept), "%s", found->pw_name);
		kept_uid = uid;
		kept_until_ns = now_ns + NAME_KEPT_NS;
	}
	return kept;
}

static json_t *user_object(const struct ucred *asker)
{
	json_t *object = json_pack("{s:I}", "uid", (json_int_t)asker->uid);

	if (object)
		put(object, "name", user_name(asker->uid));
	return object;
}

static void put_boot_id(json_t *fields)
{
	char text[64];
	cleanup(close_fd) int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return;
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	put(fields, "boot_id", text);
}

static void put_host(json_t *fields)
{
	struct utsname host;

	if (uname(&host) == 0)
		put(fields, "host", host.nodename);
}

static json_t *versions_object(void)
{
	struct utsname host;
	json_t *versions = json_pack("{s:s}", "vitrine", VITRINE_VERSION);

	if (versions && uname(&host) == 0)
		put(versions, "kernel", host.release);
	return versions;
}

static void put_doctor(json_t *fields, const struct doctor_report *report)
{
	if (!report)
		return;
	put(fields, "doctor_sha256", doctor_report_digest(report));
	json_object_set_new(fields, "degraded", doctor_report_degraded(report));
}

static json_t *sensors_array(const struct sensors *sensors)
{
	json_t *array = json_array();

	for (const char *const *name = sensors_names(sensors); array && *name; name++)
		json_array_append_new(array, json_string(*name));
	return array;
}

/* Of the table that was compiled in, and of what the policy makes of it. */
static void put_rules(json_t *fields, const uint8_t digest[32], const struct policy *p)
{
	cleanup(free) char *off = json_dumps(p->redact_off, JSON_COMPACT | JSON_ENCODE_ANY);
	cleanup(free) char *changes =
		json_dumps(p->redact_rules, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
	uint8_t in_force[32];
	char hex[65];
	struct hash h;

	if (!off || !changes)
		return;
	hash_begin(&h);
	hash_add(&h, digest, 32);
	hash_add(&h, off, strlen(off));
	if (json_array_size(p->redact_rules))
		hash_add(&h, changes, strlen(changes));
	hash_end(&h, in_force);
	for (size_t i = 0; i < sizeof(in_force); i++)
		snprintf(hex + 2 * i, 3, "%02x", in_force[i]);
	put(fields, "redact_rules_sha256", hex);
}

json_t *session_about_fields(const struct host *h)
{
	char key_id[DEPLOYMENT_KEY_ID + 1];
	cleanup(json) json_t *fields =
		json_pack("{s:s, s:o, s:o}", "source", "tracepoint", "sensors",
			  sensors_array(h->sensors), "versions", versions_object());

	if (!fields)
		return NULL;
	deployment_key_id(h->key, key_id);
	put(fields, "redact_key", key_id);
	put_boot_id(fields);
	return take(fields);
}

json_t *session_start_fields(const struct session *s)
{
	const struct policy *p = &s->request.policy;
	cleanup(json) json_t *fields = json_object();

	if (!fields)
		return NULL;
	if (s->request.has_command)
		json_object_set_new(fields, "command", bytes_array(s->request.command.argv));
	put(fields, "name", s->request.name);
	put(fields, "tenant", p->tenant);
	if (json_object_size(p->labels) > 0)
		json_object_set(fields, "labels", (json_t *)p->labels);
	json_object_set_new(fields, "user", user_object(&s->asker));
	put(fields, "workspace", p->workspace);
	put(fields, "network", p->net);
	put(fields, "on_loss", p->on_loss);
	json_object_set_new(fields, "tty", json_boolean(s->request.command.tty));
	json_object_set_new(fields, "template",
			    json_pack("{s:s, s:s*}", "name", p->rootfs, "digest",
				      s->template.digest[0] ? s->template.digest : NULL));
	json_object_set_new(fields, "policy", json_loads(p->recorded, 0, NULL));
	put(fields, "policy_sha256", p->sha256);
	put_rules(fields, s->host->rules_digest, p);
	put_host(fields);
	put_doctor(fields, s->host->doctor);
	return take(fields);
}

/* Names of the command's environment, as it stands. */
static json_t *names_array(const char *const *env)
{
	json_t *array = json_array();

	for (; array && *env; env++)
		json_array_append_new(array, json_stringn(*env, strcspn(*env, "=")));
	return array;
}

json_t *session_exec_fields(const struct session_exec *x)
{
	const struct exec_request *r = x->request;
	cleanup(free) const char **env = session_secrets_env(&x->session->request.secrets, r->env);
	if (!env)
		return NULL;
	cleanup(json) json_t *fields = json_pack(
		"{s:I, s:o, s:o, s:s, s:b}", "exec", (json_int_t)x->number, "argv",
		bytes_array(r->argv), "env", names_array(env), "as_user", r->user, "tty", r->tty);

	if (!fields)
		return NULL;
	put(fields, "cwd", r->cwd);
	if (json_object_size(r->limits_given) > 0)
		json_object_set(fields, "limits", r->limits_given);
	if (r->tty) {
		json_object_set_new(fields, "columns", json_integer(r->columns));
		json_object_set_new(fields, "rows", json_integer(r->rows));
	}
	return take(fields);
}

/* ---- the texts of the manifest ---- */

static int write_command(struct json_buffer *out, struct bytes argv)
{
	struct bytes argument;
	size_t cursor = 0;
	int r = json_write_raw(out, "[", 1);

	while (r == 0 && bytes_next_item(argv, &cursor, &argument)) {
		if (out->length + argument.size > COMMAND_TEXT_MAX)
			argument = (struct bytes){"...", 3};
		if (out->length > 1)
			r = json_write_raw(out, ",", 1);
		if (r == 0)
			r = json_write_string(out, argument);
		if (out->length > COMMAND_TEXT_MAX)
			break;
	}
	return r < 0 ? r : json_write_raw(out, "]", 2); /* with its NUL */
}

static int copy_text(const struct event *e, enum event_field field, char **ret_text)
{
	struct bytes text = event_bytes(e, field);

	*ret_text = text.data ? strndup(text.data, text.size) : NULL;
	return text.data && !*ret_text ? -ENOMEM : 0;
}

static int take_texts(void *context, const struct redacted *record)
{
	struct manifest *m = context;
	const struct event *e = &record->event;
	struct json_buffer command = {0};
	struct bytes argv = event_bytes(e, FIELD_command);
	int r = argv.data ? write_command(&command, argv) : 0;

	if (r == 0)
		r = copy_text(e, FIELD_name, &m->name);
	if (r == 0)
		r = copy_text(e, FIELD_tenant, &m->tenant);
	if (r < 0) {
		json_buffer_free(&command);
		return r;
	}
	m->command = command.text;
	return 0;
}

static int redact_texts(struct redactor *redactor, const struct session_request *request,
			struct manifest *m)
{
	char *const none[] = {NULL}, *const *argv =
					     request->has_command ? request->command.argv : none;
	struct event e;
	size_t size = 0, at = 0;

	for (char *const *a = argv; *a; a++)
		size += strlen(*a) + 1;
	cleanup(free) char *packed = malloc(size + 1);
	if (!packed)
		return -ENOMEM;
	for (char *const *a = argv; *a; a++) {
		memcpy(packed + at, *a, strlen(*a) + 1);
		at += strlen(*a) + 1;
	}
	event_init(&e, EVENT_session_start, 0, 0);
	if (request->has_command)
		event_put_bytes(&e, FIELD_command, packed, size);
	event_put_text(&e, FIELD_name, request->name);
	event_put_text(&e, FIELD_tenant, request->policy.tenant);
	int r = redact_event(redactor, &e, take_texts, m);
	explicit_bzero(packed, size);
	return r;
}

/* A redactor of the session's own, which knows its secrets. */
static int new_redactor(const struct session *s, const struct shapes *shapes,
			struct redactor **ret_redactor)
{
	cleanup(free) struct redact_secret *list = session_secrets_list(&s->request.secrets);

	return list ? redactor_new(s->host->key, shapes, list, s->request.secrets.count,
				   ret_redactor)
		    : -ENOMEM;
}

/* What a session needs beside the host's redactor. */
struct own_redactor {
	struct shapes *changed;
	struct redactor *redactor;
};

static void cleanup_own_redactor(struct own_redactor *own)
{
	redactor_free(own->redactor);
	shapes_free(own->changed);
}

/* The host's, or for secrets and rules of its own one of its own. */
static int find_redactor(const struct session *s, struct own_redactor *own,
			 struct redactor **ret_redactor)
{
	const json_t *rules = s->request.policy.redact_rules;
	char why[RULES_WHY];
	int r = 0;

	*ret_redactor = s->host->redactor;
	if (!json_array_size(rules) && !s->request.secrets.count)
		return 0;
	if (json_array_size(rules))
		r = shapes_change(s->host->shapes, rules, &own->changed, why);
	if (r == 0)
		r = new_redactor(s, own->changed ? own->changed : s->host->shapes, &own->redactor);
	*ret_redactor = own->redactor;
	return r;
}

int session_manifest_texts(const struct session *s, struct manifest *m)
{
	cleanup(own_redactor) struct own_redactor own = {0};
	struct redactor *redactor;
	int r = find_redactor(s, &own, &redactor);

	return r < 0 ? r : redact_texts(redactor, &s->request, m);
}

/* ---- words for people ---- */

struct words {
	char *text;
	size_t room;
};

static int take_words(void *context, const struct redacted *record)
{
	struct bytes text = event_bytes(&record->event, FIELD_error);
	struct words *words = context;
	char room[FAULT_TEXT];
	size_t size = text.size < sizeof(room) ? text.size : sizeof(room) - 1;

	if (size)
		memcpy(room, text.data, size);
	memset(words->text, 0, words->room);
	memcpy(words->text, room, size < words->room ? size : words->room - 1);
	return 0;
}

void session_redact_words(const struct session *s, char *text, size_t room)
{
	cleanup(own_redactor) struct own_redactor own = {0};
	struct redactor *redactor;
	struct words words = {text, room};
	struct event e;

	if (!*text)
		return;
	int r = find_redactor(s, &own, &redactor);
	event_init(&e, EVENT_session_end, 0, 0);
	event_put_text(&e, FIELD_error, text);
	if (r == 0)
		r = redact_event(redactor, &e, take_words, &words);
	if (r < 0) {
		memset(text, 0, room);
		snprintf(text, room, "there is no memory to say it without secrets");
	}
}
