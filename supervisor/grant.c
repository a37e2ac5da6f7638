/*
 * Users, and their requests measured against rows of `users`. A daemon is root's: whatever it does
 * with a host's file for a user, that user has to be able to do alone. See grant.h.
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
#define NAMES_ROOM 4096

/* What of a policy is anybody's, as far as grant_check goes along, and what of it needs a name in
 * "allow". A key that stands in neither list needs "record". */
static const char *const free_keys[] = {"env",	   "labels",	   "limits", "net",  "rootfs",
					"secrets", "seccomp_deny", "tenant", "user", "workspace"};
static const char *const seccomp_keys[] = {"seccomp_allow"};

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
	for (size_t i = 0; i < GRANT_OPTIONS; i++)
		*(bool *)((char *)g + grant_options[i].offset) =
			allow ? lists(allow, grant_options[i].name) : grant_options[i].otherwise;
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
