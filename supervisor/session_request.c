/*
 * Reads the messages session.run and session.start. Nothing of it is trusted: types, sizes, NUL
 * bytes in what becomes C strings.
 */
#include "session_request.h"

#include "control.h"
#include "grant.h"
#include "passed.h"
#include "record/jansson_cleanup.h"
#include "text_list.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static int refuse(struct fault *f, const char *key, const char *allowed)
{
	return fault_set(f, -EINVAL, "bad_request", "%s: bad value; allowed: %s", key, allowed);
}

void session_request_free(struct session_request *r)
{
	free(r->name);
	policy_free(&r->policy);
	text_list_free(r->env);
	exec_request_free(&r->command);
	json_decref(r->template);
	session_secrets_free(&r->secrets);
	passed_close(&r->workspace_fd, 1);
	*r = (struct session_request){.workspace_fd = -1};
}

static void cleanup_request(struct session_request *r)
{
	session_request_free(r);
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

/* ---- what it is called and made of ---- */

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

static int read_environment(const json_t *body, struct session_request *r, struct fault *f)
{
	int e = exec_request_add_env(r->policy.env, &r->env, f);

	if (e == 0)
		e = exec_request_add_env(json_object_get(body, "env"), &r->env, f);
	return e < 0 ? e
		     : session_secrets_read(json_object_get(body, "secrets"), r->policy.secrets,
					    &r->secrets, f);
}

struct exec_ground session_request_ground(const struct session_request *r)
{
	return (struct exec_ground){
		.user = r->policy.user,
		.has_workspace = r->policy.workspace != NULL,
		.env = r->env,
		.limits = r->policy.command_limits_given,
		.session_limits = &r->policy.limits,
	};
}

/* A session that is only started waits for its commands. */
static int read_command(const json_t *body, struct session_request *r, struct fault *f)
{
	const struct exec_ground ground = session_request_ground(r);
	const char *name = json_string_value(json_object_get(body, "request"));

	r->has_command = !name || strcmp(name, "session.start") != 0;
	return r->has_command ? exec_request_parse(body, &ground, &r->command, f) : 0;
}

int session_request_parse(const json_t *body, const struct grant *grant, int workspace_fd,
			  struct session_request *ret_request, struct fault *ret_fault)
{
	cleanup(request) struct session_request request = {.workspace_fd = workspace_fd};
	static int (*const steps[])(const json_t *, struct session_request *, struct fault *) = {
		read_name,
		read_template,
		read_environment,
		read_command,
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
