/* Acts pass through the redaction stage with the deployment key, as the records that they are
 * about do. */
#include "clerk.h"

#include "config.h"
#include "deployment_key.h"
#include "record/jansson_cleanup.h"
#include "redact/redact.h"
#include "redact/shapes.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct clerk {
	struct acts *acts;
	struct shapes *shapes;
	struct redactor *redactor;
};

void clerk_close(struct clerk *c)
{
	if (!c)
		return;
	redactor_free(c->redactor);
	shapes_free(c->shapes);
	acts_close(c->acts);
	free(c);
}

static int set_up_redaction(struct clerk *c, const char *state, struct fault *f)
{
	char path[PATH_MAX];
	cleanup(json) json_t *values =
		json_pack("{s:s}", "state", realpath(state, path) ? path : state);
	struct config config = {0};
	uint8_t key[32];
	int r = config_load_kept(values, &config, f);

	if (r == 0)
		r = deployment_key_load(config.key_file, key, f);
	config_free(&config);
	if (r < 0)
		return r;
	r = shapes_new(SHAPES_READ, &c->shapes);
	if (r == 0)
		r = redactor_new(key, c->shapes, NULL, 0, &c->redactor);
	explicit_bzero(key, sizeof(key));
	return r < 0 ? fault_set(f, r, "redact", "cannot set up redaction: %s", strerror(-r)) : 0;
}

int clerk_open(const char *state, enum acts_use use, struct clerk **ret_clerk,
	       struct fault *ret_fault)
{
	struct clerk *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return fault_set(ret_fault, -ENOMEM, "no_memory", "out of memory");
	r = acts_open(state, use, &c->acts);
	if (r == -EBADMSG)
		fault_set(ret_fault, r, "acts",
			  "%s/" ACTS_FILE ": an act that the ledger knows is gone or was changed; "
			  "nothing is removed, held or released before that is explained: see "
			  "'vitrine verify'",
			  state);
	else if (r < 0)
		fault_set(ret_fault, r, "acts", "%s/" ACTS_FILE ": %s", state, strerror(-r));
	if (r == 0)
		r = set_up_redaction(c, state, ret_fault);
	if (r < 0) {
		clerk_close(c);
		return r;
	}
	*ret_clerk = c;
	return 0;
}

struct acts *clerk_acts(struct clerk *c)
{
	return c->acts;
}

/* What the redaction stage hands on goes to the acts. */
struct note {
	struct clerk *clerk;
	enum ledger_kind kind;
	const char *session;
	bool is_durable;
};

static int take_record(void *context, const struct redacted *record)
{
	const struct note *n = context;

	return acts_add(n->clerk->acts, n->kind, n->session, record, n->is_durable);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int clerk_note(struct clerk *c, enum ledger_kind kind, const char *session, struct event *e,
	       const struct clerk_client *client, bool is_durable)
{
	struct note note = {c, kind, session, is_durable};
	const struct passwd *user = getpwuid(client->uid);

	e->seq = 0; /* the ledger has their order */
	e->time_ns = clock_ns(CLOCK_REALTIME);
	e->boot_ns = clock_ns(CLOCK_BOOTTIME);
	event_put_u64(e, FIELD_user_uid, client->uid);
	if (user)
		event_put_text(e, FIELD_user_name, user->pw_name);
	if (kind_has_field(e->kind, FIELD_by))
		event_put_text(e, FIELD_by, client->by);
	if (client->why)
		event_put_text(e, FIELD_why, client->why);
	return redact_event(c->redactor, e, take_record, &note);
}

void clerk_write_time(FILE *out, uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	char text[32] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	fputs(text, out);
}
