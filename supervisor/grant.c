/*
 * Rows of `users`, and requests measured against them. A daemon is root's: whatever it does with a
 * host's file for a user, that user has to be able to do alone. See grant.h.
 */
#include "grant.h"

#include "record/cleanup.h"
#include "record/jansson_cleanup.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>

#define SESSIONS_DEFAULT 8
#define SESSIONS_MAX 1024
#define USER_NAME_MAX 64
#define NAMES_ROOM 4096

static const struct {
	const char *name;
	size_t offset;
	const char *doc;
	bool otherwise; /* granted by a row that says nothing of it */
} options[] = {
#define AT(field) offsetof(struct grant, field)
	{"workspace", AT(workspace), "a directory of the user's own as /workspace", true},
	{"root", AT(root), "the session's root as the command's user", true},
	{"net_host", AT(net_host), "the host's network", false},
	{"seccomp", AT(seccomp), "system calls that are refused otherwise: seccomp_allow", false},
	{"record", AT(record), "a record of less than all: on_loss, output, redact_off, ...",
	 false},
#undef AT
};
#define OPTIONS (sizeof(options) / sizeof(options[0]))

/* What of a policy is anybody's, as far as grant_check goes along, and what of it needs a name in
 * "allow". A key that stands in neither list needs "record". */
static const char *const free_keys[] = {"env",	   "labels",	   "limits", "net",  "rootfs",
					"secrets", "seccomp_deny", "tenant", "user", "workspace"};
static const char *const seccomp_keys[] = {"seccomp_allow"};

const char grant_settings_allowed[] =
	"an object {\"NAME\", \"@GROUP\" or \"*\": {\"sessions\": a number from 0 to 1024, "
	"\"limits\": "
	"an object as in a policy, \"tenant\": a name, \"allow\": an array of workspace, root, "
	"net_host, seccomp and record}}";

/* ---- a type of setting ---- */

static bool is_option(const json_t *value)
{
	for (size_t i = 0; json_is_string(value) && i < OPTIONS; i++)
		if (!strcmp(options[i].name, json_string_value(value)))
			return true;
	return false;
}

static bool check_allow(const json_t *list)
{
	const json_t *value;
	size_t i;

	if (!json_is_array(list))
		return false;
	json_array_foreach (list, i, value)
		if (!is_option(value))
			return false;
	return true;
}

static bool check_key(const struct setting *s, const char *key, json_t *value)
{
	struct setting_place inner = {.value = value};
	const struct setting tenant = {.type = SETTING_NAME, .max = USER_NAME_MAX};

	if (!strcmp(key, "sessions"))
		return json_is_integer(value) && json_integer_value(value) >= 0 &&
		       json_integer_value(value) <= SESSIONS_MAX;
	if (!strcmp(key, "limits"))
		return limit_settings_check(s, &inner);
	if (!strcmp(key, "tenant"))
		return setting_types[SETTING_NAME].check(&tenant, &inner);
	return !strcmp(key, "allow") && check_allow(value);
}

static bool is_who(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length <= USER_NAME_MAX && strcmp(name, "@") != 0;
}

bool grant_settings_check(const struct setting *s, struct setting_place *p)
{
	json_t *rows = (json_t *)p->value, *row, *value;
	const char *name, *key;

	if (!json_is_object(rows))
		return false;
	json_object_foreach (rows, name, row) {
		p->member = name;
		p->value = row;
		if (!is_who(name) || !json_is_object(row))
			return false;
		json_object_foreach (row, key, value)
			if (!check_key(s, key, value)) {
				p->value = value;
				return false;
			}
	}
	return true;
}

json_t *grant_settings_schema(const struct setting *s)
{
	json_t *names = json_array();

	for (size_t i = 0; i < OPTIONS; i++)
		json_array_append_new(names, json_string(options[i].name));
	return json_pack(
		"{s:s, s:{s:s, s:b, s:{s:{s:s, s:i, s:i}, s:o, s:{s:s}, s:{s:s, s:{s:o}}}}}",
		"type", "object", "additionalProperties", "type", "object", "additionalProperties",
		0, "properties", "sessions", "type", "integer", "minimum", 0, "maximum",
		SESSIONS_MAX, "limits", limit_settings_schema(s), "tenant", "type", "string",
		"allow", "type", "array", "items", "enum", names);
}

/* ---- who it is ---- */

/* Of the other end, when it connected: its own, and those beside. */
static int read_groups(int socket, const struct ucred *who, struct grant *g)
{
	socklen_t size = 0;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) < 0 && errno != ERANGE)
		return -errno;
	g->groups = malloc(size + sizeof(gid_t));
	if (!g->groups)
		return -ENOMEM;
	if (size > 0 && getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, g->groups, &size) < 0)
		return -errno;
	g->group_count = size / sizeof(gid_t);
	g->groups[g->group_count++] = who->gid;
	return 0;
}

static bool has_group(const struct grant *g, gid_t gid)
{
	for (size_t i = 0; i < g->group_count; i++)
		if (g->groups[i] == gid)
			return true;
	return false;
}

static bool is_of_row(const char *name, const struct grant *g, const struct ucred *who)
{
	char room[NAMES_ROOM];
	struct passwd user, *found_user = NULL;
	struct group group, *found_group = NULL;

	if (!strcmp(name, "*"))
		return true;
	if (*name == '@')
		return getgrnam_r(name + 1, &group, room, sizeof(room), &found_group) == 0 &&
		       found_group && has_group(g, group.gr_gid);
	return getpwnam_r(name, &user, room, sizeof(room), &found_user) == 0 && found_user &&
	       user.pw_uid == who->uid;
}

static bool lists(const json_t *allow, const char *name)
{
	const json_t *value;
	size_t i;

	json_array_foreach (allow, i, value)
		if (!strcmp(json_string_value(value), name))
			return true;
	return false;
}

static int read_row(const json_t *row, struct grant *g)
{
	const json_t *sessions = json_object_get(row, "sessions");
	const json_t *allow = json_object_get(row, "allow");
	cleanup(json) json_t *limits = json_deep_copy(json_object_get(row, "limits"));

	g->row = row;
	g->sessions = sessions ? (uint64_t)json_integer_value(sessions) : SESSIONS_DEFAULT;
	for (size_t i = 0; i < OPTIONS; i++)
		*(bool *)((char *)g + options[i].offset) =
			allow ? lists(allow, options[i].name) : options[i].otherwise;
	return limits ? limit_settings_read(limits, &g->most) : 0;
}

void grant_free(struct grant *g)
{
	free(g->groups);
	*g = (struct grant){0};
}

int grant_find(const json_t *users, int socket, const struct ucred *who, struct grant *ret_grant,
	       struct fault *ret_fault)
{
	struct grant g = {0};
	const char *name;
	json_t *row;

	if (who->uid == GRANT_ROOT_UID) {
		*ret_grant = g;
		return 0;
	}
	int r = read_groups(socket, who, &g);
	if (r < 0) {
		grant_free(&g);
		return fault_set(ret_fault, r, "failed", "your groups are not known: %s",
				 strerror(-r));
	}
	json_object_foreach ((json_t *)users, name, row) {
		if (!is_of_row(name, &g, who))
			continue;
		r = read_row(row, &g);
		if (r < 0)
			break;
		*ret_grant = g;
		return 0;
	}
	grant_free(&g);
	return r < 0 ? fault_set(ret_fault, r, "no_memory", "out of memory")
		     : fault_set(ret_fault, -EPERM, "forbidden",
				 "uid %u may not run sessions: `users` of vitrined's configuration "
				 "names neither you nor one of your groups",
				 who->uid);
}

/* ---- what is asked for ---- */

static int forbid(struct fault *f, const char *what, const char *option)
{
	return fault_set(
		f, -EPERM, "forbidden",
		"%s: this vitrined does not allow it to you; root can, with \"%s\" in your "
		"row's \"allow\" of its configuration",
		what, option);
}

static bool is_one_of(const char *const *keys, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}
#define IS_ONE_OF(keys, key) is_one_of(keys, sizeof(keys) / sizeof((keys)[0]), key)

static int check_keys(const struct grant *g, json_t *given, struct fault *f)
{
	const char *key;
	json_t *value;

	json_object_foreach (given, key, value) {
		bool seccomp = IS_ONE_OF(seccomp_keys, key);

		if (IS_ONE_OF(free_keys, key) || (seccomp ? g->seccomp : g->record))
			continue;
		return forbid(f, key, seccomp ? "seccomp" : "record");
	}
	return 0;
}

static int apply_limits(const struct grant *g, json_t *given, struct fault *f)
{
	cleanup(json) json_t *limits = json_deep_copy(json_object_get(g->row, "limits"));
	json_t *own = json_object_get(given, "limits");

	if (!limits)
		return 0;
	if (json_is_object(own)) { /* what is no object is refused as a policy */
		int r = limit_settings_within(own, &g->most, "this vitrined allows you", f);
		if (r < 0)
			return r;
		json_object_update(limits, own);
	} else if (own) {
		return 0;
	}
	return json_object_set(given, "limits", limits) < 0 ? -ENOMEM : 0;
}

int grant_apply(const struct grant *g, json_t *given, struct fault *ret_fault)
{
	const char *tenant = json_string_value(json_object_get(g->row, "tenant"));
	const char *own = json_string_value(json_object_get(given, "tenant"));

	if (!g->row)
		return 0;
	if (tenant && own && strcmp(own, tenant) != 0)
		return fault_set(ret_fault, -EPERM, "forbidden",
				 "tenant: your sessions belong to tenant %s", tenant);
	if (tenant && json_object_set_new(given, "tenant", json_string(tenant)) < 0)
		return fault_set(ret_fault, -ENOMEM, "no_memory", "out of memory");
	int r = settings_check(policy_settings, given, ret_fault);
	if (r == 0)
		r = check_keys(g, given, ret_fault);
	return r < 0 ? r : apply_limits(g, given, ret_fault);
}

/*
 * In a session /workspace belongs to the command's user, and what is written there to the
 * directory's owner. So a user's workspace has to be the user's, and of a group of the user's; and
 * who says so is the descriptor that the user opened, not a name.
 */
static int check_workspace(const struct grant *g, const struct ucred *who,
			   const struct session_request *r, struct fault *f)
{
	const char *path = r->policy.workspace;
	struct stat st;

	if (!g->workspace)
		return forbid(f, "workspace", "workspace");
	if (r->workspace_fd < 0)
		return fault_set(f, -EPERM, "forbidden", "workspace: %s: no descriptor of it came",
				 path);
	if (fstat(r->workspace_fd, &st) < 0)
		return fault_set(f, -errno, "failed", "workspace: %s: %s", path, strerror(errno));
	if (st.st_uid != who->uid)
		return fault_set(
			f, -EPERM, "forbidden",
			"workspace: %s belongs to uid %u: it has to be your own directory, "
			"for what a session writes there becomes its owner's",
			path, st.st_uid);
	if (!has_group(g, st.st_gid))
		return fault_set(f, -EPERM, "forbidden",
				 "workspace: %s belongs to gid %u, which is no group of yours: "
				 "chgrp it",
				 path, st.st_gid);
	return 0;
}

int grant_check(const struct grant *g, const struct ucred *who, const struct session_request *r,
		struct fault *ret_fault)
{
	const struct policy *p = &r->policy;

	if (!g->row)
		return 0;
	if (!g->net_host && strcmp(p->net, "none") != 0)
		return forbid(ret_fault, "net", "net_host");
	if (!g->root && strcmp(p->user, "agent") != 0)
		return forbid(ret_fault, "user", "root");
	return p->workspace ? check_workspace(g, who, r, ret_fault) : 0;
}
