/*
 * Reads the message session.run. Nothing of it is trusted: types, sizes, NUL bytes in what becomes
 * C strings.
 */
#include "session_request.h"

#include "control.h"
#include "grant.h"
#include "record/jansson_cleanup.h"
#include "text_list.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define ARGUMENTS_MAX (1 << 20)
#define ENV_MAX 8192

static int refuse(struct fault *f, const char *key, const char *allowed)
{
	return fault_set(f, -EINVAL, "bad_request", "%s: bad value; allowed: %s", key, allowed);
}

void session_request_free(struct session_request *r)
{
	free(r->name);
	policy_free(&r->policy);
	text_list_free(r->argv);
	text_list_free(r->env);
	if (r->cwd)
		explicit_bzero(r->cwd, strlen(r->cwd));
	free(r->cwd);
	json_decref(r->template);
	session_secrets_free(&r->secrets);
	if (r->workspace_fd >= 0)
		close(r->workspace_fd);
	*r = (struct session_request){.workspace_fd = -1};
}

static void cleanup_request(struct session_request *r)
{
	session_request_free(r);
}

/* Bytes without NUL. */
static int get_text(const json_t *value, char **ret_text)
{
	cleanup(free) char *text = NULL;
	size_t size = 0;
	int r = control_get_bytes(value, &text, &size);

	if (r < 0)
		return r;
	if (!text || memchr(text, 0, size))
		return -EBADMSG;
	*ret_text = take(text);
	return 0;
}

/* ---- the policy in force ---- */

/* Fields of the request that override keys of the policy. */
static const char *const overrides[] = {"net",	  "on_loss", "user",	     "workspace",
					"tenant", "rootfs",  "redact_output"};

/* Members of an object of the request stand beside those of the policy's. */
static int merge(const json_t *body, json_t *given, const char *key)
{
	json_t *own = json_object_get(body, key);

	if (!own)
		return 0;
	json_t *merged = json_deep_copy(json_object_get(given, key));
	if (json_is_object(merged) && json_is_object(own))
		json_object_update(merged, own);
	else
		merged = (json_decref(merged), json_deep_copy(own));
	return json_object_set_new(given, key, merged);
}

static int apply_overrides(const json_t *body, json_t *given)
{
	for (size_t i = 0; i < sizeof(overrides) / sizeof(overrides[0]); i++) {
		json_t *value = json_object_get(body, overrides[i]);

		if (value && json_object_set(given, overrides[i], value) < 0)
			return -ENOMEM;
	}

	int r = merge(body, given, "labels");
	return r < 0 ? r : merge(body, given, "limits");
}

static int read_policy(const json_t *body, const struct grant *grant, struct session_request *r,
		       struct fault *f)
{
	const json_t *policy = json_object_get(body, "policy");
	cleanup(json) json_t *given = policy ? json_copy((json_t *)policy) : json_object();

	if (!json_is_object(given))
		return refuse(f, "policy", "an object");
	if (apply_overrides(body, given) < 0)
		return fault_set(f, -ENOMEM, "no_memory", "out of memory");
	int e = grant_apply(grant, given, f);
	if (e < 0)
		return e;
	const json_t *env = json_object_get(body, "env");
	if (env && !json_is_object(env))
		return refuse(f, "env", "an object {\"NAME\": value}");
	return policy_make(given, env, &r->policy, f);
}

/* A name is the record's, the descriptor is what is bound: they have to be of one directory. */
static int check_workspace(struct session_request *r, struct fault *f)
{
	char link[64], path[PATH_MAX];

	if (r->workspace_fd < 0)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", r->workspace_fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = 0;
	if (!r->policy.workspace || strcmp(r->policy.workspace, path) != 0)
		return refuse(f, "workspace", "the path of the directory whose descriptor comes");
	return 0;
}

/* ---- the command ---- */

static int read_command(const json_t *body, struct session_request *r, struct fault *f)
{
	const json_t *command = json_object_get(body, "command");
	size_t count = json_array_size(command);

	if (count == 0 || count > ARGUMENTS_MAX)
		return refuse(f, "command", "an array of at least one argument");
	r->argv = calloc(count + 1, sizeof(*r->argv));
	if (!r->argv)
		return fault_set(f, -ENOMEM, "no_memory", "out of memory");
	for (size_t i = 0; i < count; i++)
		if (get_text(json_array_get(command, i), &r->argv[i]) < 0)
			return refuse(f, "command", "arguments without NUL bytes");
	if (!*r->argv[0])
		return refuse(f, "command", "a program whose name is not empty");
	return 0;
}

static int read_cwd(const json_t *body, struct session_request *r, struct fault *f)
{
	const json_t *cwd = json_object_get(body, "cwd");

	if (!cwd) {
		r->cwd = strdup(r->policy.workspace		      ? "/workspace"
				: strcmp(r->policy.user, "root") == 0 ? "/root"
								      : "/home/agent");
		return r->cwd ? 0 : fault_set(f, -ENOMEM, "no_memory", "out of memory");
	}
	if (get_text(cwd, &r->cwd) < 0 || *r->cwd != '/' || strlen(r->cwd) >= PATH_MAX)
		return refuse(f, "cwd", "an absolute path of the session");
	return 0;
}

static bool is_name(const char *text)
{
	size_t length =
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return length > 0 && length <= 64 && !text[length] && strcmp(text, "last") != 0;
}

static int read_name(const json_t *body, struct session_request *r, struct fault *f)
{
	const json_t *name = json_object_get(body, "name");

	if (!name)
		return 0;
	if (!json_is_string(name) || !is_name(json_string_value(name)))
		return refuse(f, "name",
			      "1 to 64 letters, digits, '.', '_' and '-', but not \"last\"");
	r->name = strdup(json_string_value(name));
	return r->name ? 0 : fault_set(f, -ENOMEM, "no_memory", "out of memory");
}

/* Sizes of a terminal; one that nobody has told is 80 by 24. */
static int read_size(const json_t *body, const char *key, uint16_t otherwise, uint16_t *ret_size,
		     struct fault *f)
{
	const json_t *value = json_object_get(body, key);

	*ret_size = otherwise;
	if (!value)
		return 0;
	if (!json_is_integer(value) || json_integer_value(value) < 1 ||
	    json_integer_value(value) > UINT16_MAX)
		return refuse(f, key, "an integer from 1 to 65535");
	*ret_size = (uint16_t)json_integer_value(value);
	return 0;
}

static int read_terminal(const json_t *body, struct session_request *r, struct fault *f)
{
	const json_t *tty = json_object_get(body, "tty");

	if (tty && !json_is_boolean(tty))
		return refuse(f, "tty", "true or false");
	r->tty = json_is_true(tty);
	int e = read_size(body, "columns", 80, &r->columns, f);
	return e < 0 ? e : read_size(body, "rows", 24, &r->rows, f);
}

/* What root read of the directory that is the root file system. */
static int read_template(const json_t *body, struct session_request *r, struct fault *f)
{
	json_t *template = json_object_get(body, "template");

	if (template && !json_is_object(template))
		return refuse(f, "template", "an object {\"digest\": text, \"stamp\": text}");
	r->template = json_incref(template);
	return 0;
}

/* ---- environment and secrets ---- */

static bool is_env_name(const char *name)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	return *name && strspn(name, letters) == strlen(name) && !(*name >= '0' && *name <= '9');
}

static int add_env(const json_t *env, struct session_request *r, struct fault *f)
{
	json_t *value;
	const char *name;

	json_object_foreach ((json_t *)env, name, value) {
		cleanup(free) char *text = NULL;

		if (!is_env_name(name))
			return refuse(f, "env", "names of letters, digits and '_'");
		if (get_text(value, &text) < 0)
			return refuse(f, "env", "values without NUL bytes");
		if (text_list_set_env(&r->env, name, text) < 0)
			return fault_set(f, -ENOMEM, "no_memory", "out of memory");
	}
	return 0;
}

static int add_defaults(struct session_request *r)
{
	bool root = strcmp(r->policy.user, "root") == 0;
	const char *const defaults[][2] = {
		{"PATH", root ? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
			      : "/usr/local/bin:/usr/bin:/bin"},
		{"HOME", root ? "/root" : "/home/agent"},
		{"USER", r->policy.user},
		{"LANG", "C.UTF-8"},
		{"TERM", r->tty ? "xterm" : "dumb"},
	};

	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (text_list_set_env(&r->env, defaults[i][0], defaults[i][1]) < 0)
			return -ENOMEM;
	return 0;
}

static int read_environment(const json_t *body, struct session_request *r, struct fault *f)
{
	if (json_object_size(json_object_get(body, "env")) > ENV_MAX)
		return refuse(f, "env", "at most 8192 variables");

	if (add_defaults(r) < 0)
		return fault_set(f, -ENOMEM, "no_memory", "out of memory");
	int e = add_env(r->policy.env, r, f);
	if (e == 0)
		e = add_env(json_object_get(body, "env"), r, f);
	return e < 0 ? e
		     : session_secrets_read(json_object_get(body, "secrets"), r->policy.secrets,
					    &r->secrets, f);
}

int session_request_parse(const json_t *body, const struct grant *grant, int workspace_fd,
			  struct session_request *ret_request, struct fault *ret_fault)
{
	cleanup(request) struct session_request request = {.workspace_fd = workspace_fd};
	static int (*const steps[])(const json_t *, struct session_request *, struct fault *) = {
		read_command, read_name, read_cwd, read_terminal, read_template, read_environment,
	};

	int r = read_policy(body, grant, &request, ret_fault);
	if (r == 0)
		r = check_workspace(&request, ret_fault);
	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		r = steps[i](body, &request, ret_fault);
		if (r < 0)
			return r;
	}

	*ret_request = request;
	request = (struct session_request){.workspace_fd = -1};
	return 0;
}
