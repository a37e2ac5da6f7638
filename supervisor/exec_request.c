/*
 * Reads what a message says of one command: session.run of its first one, exec.run of another.
 * Nothing of it is trusted: types, sizes, NUL bytes in what becomes C strings.
 */
#include "exec_request.h"

#include "control.h"
#include "record/jansson_cleanup.h"
#include "settings.h"
#include "text_list.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define ARGUMENTS_MAX (1 << 20)
#define ENV_MAX 8192

static int refuse(struct fault *f, const char *key, const char *allowed)
{
	return fault_set(f, -EINVAL, "bad_request", "%s: bad value; allowed: %s", key, allowed);
}

void exec_request_free(struct exec_request *r)
{
	text_list_free(r->argv);
	text_list_free(r->env);
	if (r->cwd)
		explicit_bzero(r->cwd, strlen(r->cwd));
	free(r->cwd);
	json_decref(r->limits_given);
	*r = (struct exec_request){0};
}

static void cleanup_request(struct exec_request *r)
{
	exec_request_free(r);
}

int exec_request_text(const json_t *value, char **ret_text)
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

/* ---- the command ---- */

static int read_command(const json_t *body, const struct exec_ground *ground,
			struct exec_request *r, struct fault *f)
{
	const json_t *command = json_object_get(body, "command");
	size_t count = json_array_size(command);

	(void)ground;
	if (count == 0 || count > ARGUMENTS_MAX)
		return refuse(f, "command", "an array of at least one argument");
	r->argv = calloc(count + 1, sizeof(*r->argv));
	if (!r->argv)
		return fault_set(f, -ENOMEM, "no_memory", "out of memory");
	for (size_t i = 0; i < count; i++)
		if (exec_request_text(json_array_get(command, i), &r->argv[i]) < 0)
			return refuse(f, "command", "arguments without NUL bytes");
	if (!*r->argv[0])
		return refuse(f, "command", "a program whose name is not empty");
	return 0;
}

/* Of a session that starts, the policy's user is the command's, and body and policy agree. */
static int read_user(const json_t *body, const struct exec_ground *ground, struct exec_request *r,
		     struct fault *f)
{
	static const char *const users[] = {"agent", "root"};
	const json_t *user = json_object_get(body, "user");
	const char *name = user ? json_string_value(user) : ground->user;

	for (size_t i = 0; name && i < sizeof(users) / sizeof(users[0]); i++)
		if (!strcmp(users[i], name)) {
			r->user = users[i];
			return 0;
		}
	return refuse(f, "user", "agent or root");
}

static int read_cwd(const json_t *body, const struct exec_ground *ground, struct exec_request *r,
		    struct fault *f)
{
	const json_t *cwd = json_object_get(body, "cwd");

	if (!cwd) {
		r->cwd = strdup(ground->has_workspace	       ? "/workspace"
				: strcmp(r->user, "root") == 0 ? "/root"
							       : "/home/agent");
		return r->cwd ? 0 : fault_set(f, -ENOMEM, "no_memory", "out of memory");
	}
	if (exec_request_text(cwd, &r->cwd) < 0 || *r->cwd != '/' || strlen(r->cwd) >= PATH_MAX)
		return refuse(f, "cwd", "an absolute path of the session");
	return 0;
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

static int read_terminal(const json_t *body, const struct exec_ground *ground,
			 struct exec_request *r, struct fault *f)
{
	const json_t *tty = json_object_get(body, "tty");

	(void)ground;
	if (tty && !json_is_boolean(tty))
		return refuse(f, "tty", "true or false");
	r->tty = json_is_true(tty);
	int e = read_size(body, "columns", 80, &r->columns, f);
	return e < 0 ? e : read_size(body, "rows", 24, &r->rows, f);
}

/* ---- its environment ---- */

static bool is_env_name(const char *name)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	return *name && strspn(name, letters) == strlen(name) && !(*name >= '0' && *name <= '9');
}

int exec_request_add_env(const json_t *env, char ***list, struct fault *ret_fault)
{
	json_t *value;
	const char *name;

	if (env && !json_is_object(env))
		return refuse(ret_fault, "env", "an object {\"NAME\": value}");
	if (json_object_size(env) > ENV_MAX)
		return refuse(ret_fault, "env", "at most 8192 variables");
	json_object_foreach ((json_t *)env, name, value) {
		cleanup(free) char *text = NULL;

		if (!is_env_name(name))
			return refuse(ret_fault, "env", "names of letters, digits and '_'");
		if (exec_request_text(value, &text) < 0)
			return refuse(ret_fault, "env", "values without NUL bytes");
		if (text_list_set_env(list, name, text) < 0)
			return fault_set(ret_fault, -ENOMEM, "no_memory", "out of memory");
	}
	return 0;
}

static int add_defaults(struct exec_request *r)
{
	bool root = strcmp(r->user, "root") == 0;
	const char *const defaults[][2] = {
		{"PATH", root ? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
			      : "/usr/local/bin:/usr/bin:/bin"},
		{"HOME", root ? "/root" : "/home/agent"},
		{"USER", r->user},
		{"LANG", "C.UTF-8"},
		{"TERM", r->tty ? "xterm" : "dumb"},
	};

	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (text_list_set_env(&r->env, defaults[i][0], defaults[i][1]) < 0)
			return -ENOMEM;
	return 0;
}

/* What stands in the session's own environment is not checked again. */
static int add_ground(struct exec_request *r, char *const *env)
{
	int e = 0;

	for (; e == 0 && env && *env; env++) {
		const char *equals = strchr(*env, '=');
		cleanup(free) char *name = strndup(*env, (size_t)(equals - *env));

		e = name ? text_list_set_env(&r->env, name, equals + 1) : -ENOMEM;
	}
	return e;
}

static int read_environment(const json_t *body, const struct exec_ground *ground,
			    struct exec_request *r, struct fault *f)
{
	if (add_defaults(r) < 0 || add_ground(r, ground->env) < 0)
		return fault_set(f, -ENOMEM, "no_memory", "out of memory");
	return exec_request_add_env(json_object_get(body, "env"), &r->env, f);
}

/* ---- its limits ---- */

static const struct setting limits_setting[] = {
	{"limits", SETTING_COMMAND_LIMITS, .doc = "What the command may use at most."},
	{NULL},
};

static int check_limits(json_t *own, const struct exec_ground *ground, struct fault *f)
{
	cleanup(json) json_t *settings = json_pack("{s:O}", "limits", own);

	if (!settings)
		return fault_set(f, -ENOMEM, "no_memory", "out of memory");
	int r = settings_check(limits_setting, settings, f);
	if (r < 0)
		return r;
	r = limit_settings_within(own, ground->session_limits, "of a command; the session has", f);
	if (r < 0)
		f->code = "bad_setting";
	return r < 0 ? -EINVAL : 0;
}

/* Those of the request in place of those that each command of the session has. */
static int read_limits(const json_t *body, const struct exec_ground *ground, struct exec_request *r,
		       struct fault *f)
{
	json_t *own = ground->may_limit ? json_object_get(body, "limits") : NULL;
	int e = own ? check_limits(own, ground, f) : 0;

	if (e < 0)
		return e;
	r->limits_given = ground->limits ? json_deep_copy(ground->limits) : json_object();
	if (!r->limits_given || (own && json_object_update(r->limits_given, own) < 0) ||
	    limit_settings_read(r->limits_given, &r->limits) < 0)
		return fault_set(f, -ENOMEM, "no_memory", "out of memory");
	return 0;
}

int exec_request_parse(const json_t *body, const struct exec_ground *ground,
		       struct exec_request *ret_request, struct fault *ret_fault)
{
	cleanup(request) struct exec_request request = {0};
	static int (*const steps[])(const json_t *, const struct exec_ground *,
				    struct exec_request *, struct fault *) = {
		read_command, read_user, read_cwd, read_terminal, read_environment, read_limits,
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int r = steps[i](body, ground, &request, ret_fault);

		if (r < 0)
			return r;
	}
	*ret_request = request;
	request = (struct exec_request){0};
	return 0;
}
