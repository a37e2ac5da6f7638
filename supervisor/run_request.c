/*
 * Makes a request of the options of `vitrine run`. Secrets go from where they are into the message
 * and nowhere else: not on a command line, not into the environment of another process.
 */
#include "run_request.h"

#include "control.h"
#include "place.h"
#include "policy.h"
#include "record/jansson_cleanup.h"
#include "secret_setting.h"
#include "template_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET_FILE_MAX (64 * 1024)

const char *const run_nets[] = {"none", "host", NULL};
const char *const run_losses[] = {"freeze", "count", "kill", NULL};
const char *const run_users[] = {"root", "agent", NULL};

char *run_absolute_path(const char *path)
{
	char here[PATH_MAX], *absolute = NULL;

	if (*path == '/')
		return strdup(path);
	if (!getcwd(here, sizeof(here)) || asprintf(&absolute, "%s/%s", here, path) < 0)
		return NULL;
	return absolute;
}

static json_t *text_value(const char *text)
{
	return control_bytes(text, strlen(text));
}

/* Split NAME=VALUE; the name has to be one. */
static int split(const char *option, const char *text, const char *form, char **ret_name,
		 const char **ret_value, struct fault *f)
{
	const char *equals = strchr(text, '=');

	if (!equals || equals == text)
		return fault_set(f, -EINVAL, "usage", "%s: %s: bad value; allowed: %s", option,
				 text, form);
	*ret_name = strndup(text, equals - text);
	*ret_value = equals + 1;
	return *ret_name ? 0 : fault_set(f, -ENOMEM, "no_memory", "out of memory");
}

static int add_map(json_t *message, const char *key, const char *option,
		   const struct option_texts *texts, struct fault *f)
{
	json_t *map = json_object();

	json_object_set_new(message, key, map);
	for (size_t i = 0; i < texts->count; i++) {
		cleanup(free) char *name = NULL;
		const char *value = NULL;
		int r = split(option, texts->items[i], "NAME=VALUE", &name, &value, f);

		if (r < 0)
			return r;
		if (json_object_set_new(map, name, text_value(value)) < 0)
			return fault_set(f, -EINVAL, "usage", "%s: %s: not text", option,
					 texts->items[i]);
	}
	return 0;
}

/* ---- secrets ---- */

/* Read all of @fd, which is what @where calls it. */
static int read_secret_from(const char *name, const char *where, int fd, json_t **ret_value,
			    struct fault *f)
{
	char text[SECRET_FILE_MAX + 1];
	size_t size = 0;
	ssize_t n = 1;
	int r = 0;

	while (size < sizeof(text) && (n = read(fd, text + size, sizeof(text) - size)) > 0)
		size += n;
	if (n < 0)
		r = fault_set(f, -errno, "secret", "secret %s: %s: %s", name, where,
			      strerror(errno));
	else if (size > SECRET_FILE_MAX)
		r = fault_set(f, -EFBIG, "secret", "secret %s: %s: larger than 64 KiB", name,
			      where);
	if (r == 0) {
		/* Editors end a file with a newline that is not part of the secret. */
		if (size > 0 && text[size - 1] == '\n')
			size--;
		*ret_value = control_bytes(text, size);
	}
	explicit_bzero(text, sizeof(text));
	return r;
}

static int read_secret_file(const char *name, const char *path, json_t **ret_value, struct fault *f)
{
	cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return fault_set(f, -errno, "secret", "secret %s: %s: %s", name, path,
				 strerror(errno));
	return read_secret_from(name, path, fd, ret_value, f);
}

/* A descriptor that the caller opened for this; it is used up. */
static int read_secret_fd(const char *name, const char *source, json_t **ret_value, struct fault *f)
{
	int number = (int)strtoull(source + strlen("fd:"), NULL, 10);

	if (number <= 2)
		return fault_set(f, -EINVAL, "secret",
				 "secret %s: %s: a standard stream of the command; use another "
				 "descriptor",
				 name, source);
	if (fcntl(number, F_GETFD) < 0)
		return fault_set(f, -EBADF, "secret", "secret %s: %s: no such descriptor is open",
				 name, source);

	cleanup(close_fd) int fd = number;
	return read_secret_from(name, source, fd, ret_value, f);
}

static int read_secret(const char *name, const char *source, json_t **ret_value, struct fault *f)
{
	if (!strncmp(source, "env:", 4)) {
		const char *value = getenv(source + 4);

		if (!value)
			return fault_set(f, -ENOENT, "secret",
					 "secret %s: environment variable %s is not set", name,
					 source + 4);
		*ret_value = text_value(value);
		return 0;
	}
	if (!strncmp(source, "fd:", 3))
		return read_secret_fd(name, source, ret_value, f);
	return read_secret_file(name, source + strlen("file:"), ret_value, f);
}

/* Those of the options become part of the policy, so that the record says which there were. */
static int name_secrets(json_t *policy, const struct option_texts *texts, struct fault *f)
{
	json_t *list = json_object_get(policy, "secrets");

	if (texts->count == 0)
		return 0;
	if (!list) {
		list = json_array();
		json_object_set_new(policy, "secrets", list);
	}
	for (size_t i = 0; i < texts->count; i++) {
		json_t *secret = NULL;
		int r = secret_setting_option(texts->items[i], &secret, f);

		if (r < 0)
			return r;
		json_array_append_new(list, secret);
	}
	return 0;
}

static int add_secrets(json_t *message, json_t *policy, struct fault *f)
{
	json_t *values = json_array(), *secret;
	size_t i;

	json_object_set_new(message, "secrets", values);
	json_array_foreach (json_object_get(policy, "secrets"), i, secret) {
		const char *name = json_string_value(json_object_get(secret, "name"));
		json_t *value = NULL;
		int r = read_secret(name, json_string_value(json_object_get(secret, "source")),
				    &value, f);

		if (r < 0)
			return r;
		json_array_append_new(values,
				      json_pack("{s:s, s:o}", "name", name, "value", value));
	}
	return 0;
}

/* ---- the rest ---- */

static int add_policy(const struct run_options *o, json_t *message, struct fault *f)
{
	cleanup(json) json_t *policy = NULL;

	if (o->policy) {
		int r = settings_read(policy_settings, o->policy, &policy, f);
		if (r < 0)
			return r;
	} else {
		policy = json_object();
	}
	int r = name_secrets(policy, &o->secrets, f);
	if (r == 0)
		r = settings_check(policy_settings, policy, f);
	if (r == 0)
		r = add_secrets(message, policy, f);
	if (r < 0)
		return r;
	json_object_set(message, "policy", policy);
	return 0;
}

static int add_limits(const struct run_options *o, json_t *message, struct fault *f)
{
	json_t *limits = json_object();

	json_object_set_new(message, "limits", limits);
	for (size_t i = 0; i < o->limits.count; i++) {
		int r = limit_settings_option(o->limits.items[i], limits, f);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_workspace(const struct run_options *o, json_t *message, struct fault *f)
{
	struct stat st;

	const json_t *policy = json_object_get(message, "policy");
	const char *given = o->workspace ? o->workspace
					 : json_string_value(json_object_get(policy, "workspace"));
	if (!given)
		return 0;
	cleanup(free) char *path = realpath(given, NULL);
	if (!path || stat(path, &st) < 0)
		return fault_set(f, -errno, "usage", "--workspace %s: %s", given, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return fault_set(f, -ENOTDIR, "usage", "--workspace %s: not a directory", given);
	json_object_set_new(message, "workspace", json_string(path));
	return 0;
}

/* Root itself says what a directory is: the daemon shall not wait until all of it is read. */
static int add_directory(const struct run_options *o, json_t *message, const char *rootfs,
			 struct fault *f)
{
	cleanup(free) char *path = realpath(rootfs, NULL);
	struct template_sum sum;

	if (!path)
		return fault_set(f, -errno, "usage", "--rootfs %s: %s", rootfs, strerror(errno));
	if (geteuid() != 0)
		return fault_set(f, -EPERM, "usage",
				 "--rootfs %s: only root may use a directory as root file system; "
				 "a template that root added may be used by its name",
				 rootfs);
	cleanup(place) struct place place;
	place_read(&place);
	int r = template_of_directory(o->state ? o->state : place.state, path, &sum, f);
	if (r < 0)
		return r;
	json_object_set_new(message, "rootfs", json_string(path));
	json_object_set_new(message, "template",
			    json_pack("{s:s, s:s}", "digest", sum.digest, "stamp", sum.stamp));
	return 0;
}

static int add_rootfs(const struct run_options *o, json_t *message, struct fault *f)
{
	const json_t *policy = json_object_get(message, "policy");
	const char *rootfs =
		o->rootfs ? o->rootfs : json_string_value(json_object_get(policy, "rootfs"));

	if (!rootfs)
		return 0;
	if (strchr(rootfs, '/'))
		return add_directory(o, message, rootfs, f);
	json_object_set_new(message, "rootfs", json_string(rootfs));
	return 0;
}

static void add_text(json_t *message, const char *key, const char *text)
{
	if (text)
		json_object_set_new(message, key, text_value(text));
}

static void add_choice(json_t *message, const char *key, const char *const *choices, int index)
{
	if (index >= 0)
		json_object_set_new(message, key, json_string(choices[index]));
}

static int add_state(const struct run_options *o, json_t *message, struct fault *f)
{
	if (!o->state)
		return 0;
	cleanup(free) char *state = run_absolute_path(o->state);
	if (!state)
		return fault_set(f, -ENOMEM, "no_memory", "out of memory");
	add_text(message, "state", state);
	return 0;
}

/* The session's terminal is of the kind that the user's is. */
static void add_term(json_t *message)
{
	json_t *env = json_object_get(message, "env");
	const char *term = getenv("TERM");

	if (term && *term && !json_object_get(env, "TERM"))
		json_object_set_new(env, "TERM", text_value(term));
}

static json_t *new_message(const char *request, int argument_count, char **command, bool tty)
{
	json_t *message = json_pack("{s:s}", "request", request), *argv = json_array();

	for (int i = 0; i < argument_count; i++)
		json_array_append_new(argv, text_value(command[i]));
	if (!argument_count) {
		json_decref(argv);
		return message;
	}
	json_object_set_new(message, "command", argv);
	json_object_set_new(message, "tty", json_boolean(tty));
	return message;
}

/* What is about a command. */
static int add_command(const struct run_options *o, bool tty, json_t *message, struct fault *f)
{
	add_text(message, "cwd", o->cwd);
	add_choice(message, "user", run_users, o->user);
	int r = add_map(message, "env", "--env", &o->env, f);
	if (r == 0)
		r = add_limits(o, message, f);
	if (r == 0 && tty)
		add_term(message);
	return r;
}

int run_request_make(const struct run_options *o, int argument_count, char **command, bool tty,
		     json_t **ret_message, struct fault *ret_fault)
{
	cleanup(json) json_t *message = new_message(
		argument_count ? "session.run" : "session.start", argument_count, command, tty);

	add_text(message, "name", o->name);
	add_text(message, "tenant", o->tenant);
	add_choice(message, "net", run_nets, o->net);
	add_choice(message, "on_loss", run_losses, o->on_loss);
	if (o->redact_output)
		json_object_set_new(message, "redact_output", json_string("yes"));

	int r = add_command(o, tty, message, ret_fault);
	if (r == 0)
		r = add_map(message, "labels", "--label", &o->labels, ret_fault);
	if (r == 0)
		r = add_policy(o, message, ret_fault);
	if (r == 0)
		r = add_workspace(o, message, ret_fault);
	if (r == 0)
		r = add_rootfs(o, message, ret_fault);
	if (r == 0)
		r = add_state(o, message, ret_fault);
	if (r < 0)
		return r;
	*ret_message = take(message);
	return 0;
}

int run_request_exec(const struct run_options *o, int argument_count, char **command, bool tty,
		     json_t **ret_message, struct fault *ret_fault)
{
	cleanup(json) json_t *message = new_message("exec.run", argument_count, command, tty);
	int r = add_command(o, tty, message, ret_fault);
	const char *name;
	json_t *value;

	json_object_foreach (json_object_get(message, "limits"), name, value)
		if (limit_settings_is_shared(name))
			return fault_set(ret_fault, -EINVAL, "usage",
					 "--limit %s: is of the session, for its commands share "
					 "it; give it to vitrine run or vitrine start",
					 name);
	if (r == 0)
		*ret_message = take(message);
	return r;
}

bool run_wants_terminal(const struct run_options *o)
{
	return o->tty < 0 ? isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) : o->tty;
}

/* A ring is a power of two. */
static uint64_t round_up(uint64_t bytes)
{
	uint64_t rounded = bytes ? 4096 : 0;

	while (rounded < bytes)
		rounded *= 2;
	return rounded;
}

int run_connect(const struct run_options *o, const json_t *message, bool is_detached,
		struct connection *ret_connection, struct fault *ret_fault)
{
	const json_t *policy = json_object_get(message, "policy");
	const json_t *ring = json_object_get(policy, "ring_bytes");
	const struct connection_options where = {
		.socket = o->socket,
		.state = json_string_value(json_object_get(message, "state")),
		.ring_bytes = round_up((uint64_t)json_integer_value(ring)),
		.is_detached = is_detached,
	};

	return connection_open(&where, ret_connection, ret_fault);
}
