/*
 * The table of a policy's keys, and the policy in force that is made from what was given.
 *
 * Values of environment variables never enter the record, so what is recorded and hashed holds
 * their names alone.
 */
#include "policy.h"

#include "record/hash.h"
#include "record/jansson_cleanup.h"
#include "record/printable.h"
#include "redact/rules.h"

#include <errno.h>
#include <string.h>

/* Reads that matter by default: the places of credentials, and all of /workspace. */
#define WATCH_READS                                                                                \
	"[\"/etc/shadow\", \"/etc/gshadow\", \"/run/secrets/**\", \"/var/run/secrets/**\", "       \
	"\"**/.ssh/**\", \"**/.gnupg/**\", \"**/.aws/**\", \"**/.azure/**\", "                     \
	"\"**/.config/gcloud/**\", \"**/.config/gh/**\", \"**/.kube/**\", "                        \
	"\"**/.docker/config.json\", \"**/.netrc\", \"**/.git-credentials\", \"**/.npmrc\", "      \
	"\"**/.pypirc\", \"**/.pgpass\", \"**/.my.cnf\", \"**/.env\", \"**/.env.*\", "             \
	"\"**/*id_rsa*\", \"**/*id_ecdsa*\", \"**/*id_ed25519*\", \"**/*.pem\", \"**/*.key\", "    \
	"\"**/*.p12\", \"**/*.pfx\", \"**/*.kdbx\", \"**/*credentials*\", \"/workspace/**\"]"

static const char *const answers[] = {"no", "yes", NULL};
static const char *const nets[] = {"none", "host", NULL};
static const char *const finals[] = {"full", "meta", "off", NULL};
static const char *const users[] = {"agent", "root", NULL};
static const char *const outputs[] = {"full", "meta", "none", NULL};
static const char *const losses[] = {"freeze", "count", "kill", NULL};

const struct setting policy_settings[] = {
	{"command_limits", SETTING_COMMAND_LIMITS, .otherwise = "{}",
	 .doc = "What each command may use at most by itself, within what the session may."},
	{"disk_wait_s", SETTING_NUMBER, .min = 0, .max = 86400, .otherwise = "60",
	 .doc = "Seconds that a session stays frozen while its journal cannot be written, before "
		"it "
		"is killed."},
	{"env", SETTING_ENV, .max = 4096, .otherwise = "{}",
	 .doc = "Environment variables of the command; their names are recorded, not their "
		"values."},
	{"final", SETTING_CHOICE, finals, .otherwise = "\"full\"",
	 .doc = "What is recorded of the final tree: each file that is not as the session found "
		"it, "
		"with hashes of its content (full) or without (meta), or nothing (off)."},
	{"final_bytes", SETTING_NUMBER, .min = 0, .max = INT64_MAX, .otherwise = "1073741824",
	 .doc = "Bytes of files that are read for hashes, in all; what is past it is recorded "
		"without a hash."},
	{"final_files", SETTING_NUMBER, .min = 0, .max = 10000000, .otherwise = "100000",
	 .doc = "Files of the final tree that are recorded; what is past it is counted."},
	{"final_s", SETTING_NUMBER, .min = 1, .max = 3600, .otherwise = "10",
	 .doc = "Seconds that the look at the final tree may take; what is left out is counted, or "
		"said to be unknown."},
	{"labels", SETTING_LABELS, .max = 64, .otherwise = "{}",
	 .doc = "Labels of the session, as they stand in its record."},
	{"limits", SETTING_LIMITS, .otherwise = "{}",
	 .doc = "What the session may use at most; each limit that is given holds, or the session "
		"is refused."},
	{"net", SETTING_CHOICE, nets, .otherwise = "\"none\"",
	 .doc = "Network of the session: a loopback device of its own, or the host's network."},
	{"on_loss", SETTING_CHOICE, losses, .otherwise = "\"freeze\"",
	 .doc = "What happens before a record would be lost: freeze the session until the recorder "
		"has caught up, count what is lost, or kill the session."},
	{"output", SETTING_CHOICE, outputs, .otherwise = "\"full\"",
	 .doc = "What is recorded of output and input: the bytes, how many and when, or nothing."},
	{"output_cap", SETTING_NUMBER, .min = 0, .max = INT64_MAX, .otherwise = "67108864",
	 .doc = "Bytes of each stream that the record keeps; what is past it passes unrecorded and "
		"is counted."},
	{"redact_off", SETTING_GLOBS, .max = 256, .otherwise = "[]",
	 .doc = "Rules of redaction that are switched off, as `vitrine redact rules` names them; "
		"the "
		"secrets that a session is given are found in any case."},
	{"redact_output", SETTING_CHOICE, answers, .otherwise = "\"no\"",
	 .doc = "Whether the caller gets the command's output as the record has it, with what "
		"redaction "
		"cuts out of it; else byte for byte as it is written."},
	{"redact_rules", SETTING_RULES, .max = RULES_MOST, .otherwise = "[]",
	 .doc = "Rules of redaction that are added, by name, keywords and pattern; or, with the "
		"name of a rule that is there, what of it is another: keywords, pattern, the "
		"least entropy, the check, and what is allowed beside."},
	{"ring_bytes", SETTING_NUMBER, .min = 0, .max = 1 << 30, .otherwise = "0",
	 .doc = "The ring between kernel and recorder has to hold at least so many bytes; 0: as "
		"the "
		"daemon has it."},
	{"rootfs", SETTING_ROOTFS, .max = 64, .otherwise = "\"host\"",
	 .doc = "Root file system that the session starts from: \"host\" is the host's programs "
		"and what everybody may read of its /etc; else the name of a template (vitrine "
		"template), or a directory, which only root may give."},
	{"seccomp_allow", SETTING_ALLOWED_CALLS, .max = 256, .otherwise = "[]",
	 .doc = "System calls that are refused by default and that this session may make; only "
		"those "
		"that `vitrine seccomp` marks as allowable, with what it costs the record."},
	{"seccomp_deny", SETTING_CALLS, .max = 256, .otherwise = "[]",
	 .doc = "System calls that fail with EPERM beyond those that always do; each try is "
		"recorded as an attempt."},
	{"secrets", SETTING_SECRETS, .max = 256, .otherwise = "[]",
	 .doc = "Secrets that the command gets, as environment variables or files, and that the "
		"record never holds; each is read by the client, from its environment, a file or a "
		"descriptor."},
	{"tenant", SETTING_NAME, .max = 64, .doc = "Tenant that the session belongs to."},
	{"user", SETTING_CHOICE, users, .otherwise = "\"agent\"",
	 .doc = "User of the command inside the session."},
	{"watch_reads", SETTING_GLOBS, .max = 256, .otherwise = WATCH_READS,
	 .doc = "Files whose opening for reading is recorded: patterns of session paths; * stays "
		"inside one directory, ** does not."},
	{"workspace", SETTING_PATH, .doc = "Directory of the host that is writable as /workspace."},
	{NULL},
};

void policy_free(struct policy *p)
{
	json_decref(p->values);
	/* What the caller put into it may hold a secret. */
	if (p->recorded)
		explicit_bzero(p->recorded, strlen(p->recorded));
	free(p->recorded);
	*p = (struct policy){0};
}

static void cleanup_policy(struct policy *p)
{
	policy_free(p);
}

/* An object {NAME: value} turned into an array of its names, sorted. */
static int add_names(json_t *set, const json_t *env)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)env, name, value)
		if (json_object_set_new(set, name, json_null()) < 0)
			return -ENOMEM;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *sorted_names(json_t *set)
{
	size_t count = json_object_size(set), i = 0;
	cleanup(free) const char **names = calloc(count + 1, sizeof(*names));
	cleanup(json) json_t *array = json_array();
	json_t *value;
	const char *name;

	if (!names || !array)
		return NULL;
	json_object_foreach (set, name, value)
		names[i++] = name;
	qsort(names, count, sizeof(*names), compare_names);
	for (i = 0; i < count; i++)
		if (json_array_append_new(array, json_string(names[i])) < 0)
			return NULL;
	return take(array);
}

static void digest_text(const char *text, char ret_hex[65])
{
	uint8_t digest[HASH_SIZE];

	hash_bytes(bytes_of(text), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(ret_hex + 2 * i, 3, "%02x", digest[i]);
}

/* The canonical text of @p: keys sorted, no blanks, of the environment only names. */
static int record_policy(struct policy *p, const json_t *env)
{
	cleanup(json) json_t *recorded = json_copy(p->values);
	cleanup(json) json_t *set = json_object();

	if (!recorded || !set || add_names(set, p->env) < 0 || add_names(set, env) < 0)
		return -ENOMEM;
	if (json_object_set_new(recorded, "env", sorted_names(set)) < 0)
		return -ENOMEM;

	p->recorded = json_dumps(recorded, JSON_SORT_KEYS | JSON_COMPACT);
	if (!p->recorded)
		return -ENOMEM;
	digest_text(p->recorded, p->sha256);
	return 0;
}

static void take_calls(const json_t *names, struct syscall_set *set)
{
	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));

		syscall_set_add(set, (uint32_t)syscall_number(name));
	}
}

static void borrow_values(struct policy *p)
{
	const json_t *v = p->values;

	p->net = json_string_value(json_object_get(v, "net"));
	p->rootfs = json_string_value(json_object_get(v, "rootfs"));
	p->user = json_string_value(json_object_get(v, "user"));
	p->output = json_string_value(json_object_get(v, "output"));
	p->on_loss = json_string_value(json_object_get(v, "on_loss"));
	p->final = json_string_value(json_object_get(v, "final"));
	p->workspace = json_string_value(json_object_get(v, "workspace"));
	p->tenant = json_string_value(json_object_get(v, "tenant"));
	p->watch_reads = json_object_get(v, "watch_reads");
	p->env = json_object_get(v, "env");
	p->labels = json_object_get(v, "labels");
	p->secrets = json_object_get(v, "secrets");
	p->redact_off = json_object_get(v, "redact_off");
	p->redact_output = !strcmp(json_string_value(json_object_get(v, "redact_output")), "yes");
	p->redact_rules = json_object_get(v, "redact_rules");
	p->seccomp_deny = json_object_get(v, "seccomp_deny");
	p->seccomp_allow = json_object_get(v, "seccomp_allow");
	take_calls(p->seccomp_deny, &p->syscalls.denied);
	take_calls(p->seccomp_allow, &p->syscalls.allowed);
	p->output_cap = json_integer_value(json_object_get(v, "output_cap"));
	p->disk_wait_s = json_integer_value(json_object_get(v, "disk_wait_s"));
	p->ring_bytes = json_integer_value(json_object_get(v, "ring_bytes"));
	p->final_bytes = json_integer_value(json_object_get(v, "final_bytes"));
	p->final_files = json_integer_value(json_object_get(v, "final_files"));
	p->final_s = json_integer_value(json_object_get(v, "final_s"));
}

static int check_calls(const struct policy *p, struct fault *f)
{
	for (uint32_t call = 0; call < SYSCALL_SET_NUMBERS; call++)
		if (syscall_set_has(&p->syscalls.denied, call) &&
		    syscall_set_has(&p->syscalls.allowed, call))
			return fault_set(
				f, -EINVAL, "bad_setting",
				"seccomp_allow: %s: is in seccomp_deny too; allowed: in one "
				"of the two",
				syscall_name(call));
	return 0;
}

/* A rule that is not there is a mistake, not a wish. */
static int check_rules(const struct policy *p, struct fault *f)
{
	struct rules *rules = NULL;
	char why[RULES_WHY];
	json_t *rule;
	size_t i;

	if (!json_array_size(p->redact_rules) && !json_array_size(p->redact_off))
		return 0;
	int r = rules_new(p->redact_rules, &rules, why);

	if (r < 0)
		return fault_set(f, r, "policy", "%s", why);

	json_array_foreach ((json_t *)p->redact_off, i, rule) {
		const char *name = json_string_value(rule);

		if (r == 0 && rules_by_name(rules, name, strlen(name)) == rules_count(rules))
			r = fault_set(f, -EINVAL, "policy",
				      "redact_off: %s: no such rule; allowed: what `vitrine "
				      "redact rules` lists",
				      name);
	}
	rules_free(rules);
	return r;
}

/* Made once, and shared by all policies. NULL when out of memory. */
static json_t *defaults(void)
{
	static json_t *made;
	cleanup(json) json_t *values = made ? NULL : json_object();

	if (values && settings_complete(policy_settings, values) == 0)
		made = take(values);
	return made;
}

int policy_make(const json_t *given, const json_t *env, struct policy *ret_policy,
		struct fault *ret_fault)
{
	cleanup(policy) struct policy p = {0};
	int r = settings_check(policy_settings, given, ret_fault);
	if (r < 0)
		return r;

	p.values = json_deep_copy(given);
	if (!p.values || json_object_update_missing(p.values, defaults()) < 0)
		return fault_set(ret_fault, -ENOMEM, "no_memory", "out of memory");
	json_t *of_command = json_object_get(p.values, "command_limits");
	if (limit_settings_read(json_object_get(p.values, "limits"), &p.limits) < 0 ||
	    limit_settings_read(of_command, &p.command_limits) < 0)
		return fault_set(ret_fault, -ENOMEM, "no_memory", "out of memory");
	p.command_limits_given = of_command;
	r = limit_settings_within(of_command, &p.limits, "of a command; the session has",
				  ret_fault);
	if (r < 0) {
		ret_fault->code = "bad_setting";
		return -EINVAL;
	}
	borrow_values(&p);
	r = check_calls(&p, ret_fault);
	if (r == 0)
		r = check_rules(&p, ret_fault);
	if (r < 0)
		return r;
	r = record_policy(&p, env);
	if (r < 0)
		return fault_set(ret_fault, r, "no_memory", "out of memory");

	*ret_policy = p;
	p = (struct policy){0};
	return 0;
}

json_t *policy_schema(void)
{
	return settings_schema(policy_settings, "urn:vitrine:policy",
			       "Policy of a vitrine session");
}
