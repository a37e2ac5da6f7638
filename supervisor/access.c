/* An act for each reading; what there is no record of is no reading. */
#include "access.h"

#include "clerk.h"
#include "record/cleanup.h"
#include "record/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define GROUPS_MOST 1024

/* Who cannot read records cannot fill the ledger with readings either. */
static bool may_read(const struct client *c)
{
	gid_t groups[GROUPS_MOST];
	socklen_t size = sizeof(groups);

	if (c->who.uid == 0)
		return true;
	if (!c->host->has_readers)
		return false;
	if (c->who.gid == c->host->readers_gid)
		return true;
	if (getsockopt(c->socket, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
		return false;
	for (size_t i = 0; i < size / sizeof(groups[0]); i++) {
		if (groups[i] == c->host->readers_gid)
			return true;
	}
	return false;
}

/* The id of a record that is there, or "-" for all. */
static bool is_record(const struct host *h, const char *id)
{
	return !strcmp(id, "-") || (session_id_is_valid(id) &&
				    faccessat(h->sessions_fd, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
}

int access_note(struct client *c, const char *id, struct bytes query, struct fault *f)
{
	const struct clerk_client client = {.uid = c->who.uid, .by = "user"};
	struct clerk *clerk = NULL;
	struct event e;
	int r = clerk_open(c->host->config.state, ACTS_APPEND, &clerk, f);

	if (r < 0)
		return r;
	event_init(&e, EVENT_record_access, 0, 0);
	event_put_bytes(&e, FIELD_query, query.data, query.size);
	r = clerk_note(clerk, LEDGER_ACCESS, id, &e, &client, false);
	clerk_close(clerk);
	return r < 0 ? fault_set(f, r, "failed", "%s", strerror(-r)) : 0;
}

void access_serve(struct client *c, struct control_message *m)
{
	const char *id = json_string_value(json_object_get(m->body, "session"));
	cleanup(free) char *query = NULL;
	struct fault f = {0};
	size_t size = 0;
	int r;

	if (!may_read(c)) {
		client_refuse(c, "forbidden", "only root and the group that may read records may");
		return;
	}
	if (!id || !is_record(c->host, id) ||
	    control_get_bytes(json_object_get(m->body, "query"), &query, &size) < 0 ||
	    size > ACCESS_QUERY_MOST) {
		client_refuse(c, "bad_request",
			      "session: allowed: the id of a record, or -; query: 4096 bytes");
		return;
	}
	r = access_note(c, id, (struct bytes){query, size}, &f);
	if (r < 0)
		client_refuse(c, f.code ? f.code : "failed", f.text);
	else
		client_send(c, json_pack("{s:b}", "ok", 1));
}
