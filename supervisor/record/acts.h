/*
 * What people and rules did with the records of a host: <state>/acts, one canonical event a line
 * (record.hold, record.retention, record.access), append only.
 *
 * Each line is committed to by a line of the ledger (ledger.h: hold, release, remove, access, trim)
 * that holds its SHA-256, so that none can be changed, dropped or made up. A text without its line
 * of the ledger was not signed (a crash came between) and counts for nothing. <state>.acts.lock,
 * root's alone, is locked while acts are open: what is held now is held until acts_close.
 */
#pragma once

#include "../redact/redacted.h"
#include "ledger.h"

#define ACTS_FILE "acts"

struct act {
	enum ledger_kind kind;
	char session[LEDGER_NAME_MAX]; /* its id, without the host */
	uint64_t time_ns;	       /* of the ledger */
	struct bytes text;	       /* the event, as JSON, without its newline */
};

struct acts;

/* True for the kinds of lines of the ledger that commit to an act. */
bool ledger_kind_is_act(enum ledger_kind kind);

/*
 * Lock the acts of the state directory @state and, unless something is only to be added
 * (ACTS_APPEND), read them. 0; -EBADMSG: the ledger knows an act whose text is gone or changed; or
 * -errno.
 */
enum acts_use { ACTS_READ, ACTS_APPEND };
int acts_open(const char *state, enum acts_use use, struct acts **ret_acts);
void acts_close(struct acts *a);

/* Those that the ledger knows, in its order. */
size_t acts_count(const struct acts *a);
const struct act *acts_get(const struct acts *a, size_t number);
bool acts_is_held(const struct acts *a, const char *session);
bool acts_is_removed(const struct acts *a, const char *session);

/*
 * Add an act about session @session (its id): its text, then its line of the ledger. With
 * @is_durable both are on disk when it returns. 0 or -errno.
 */
int acts_add(struct acts *a, enum ledger_kind kind, const char *session,
	     const struct redacted *record, bool is_durable);

/* The text of the act that was added last, without its newline; valid until the next one. */
struct bytes acts_added(const struct acts *a);

/* The name (HOST/SESSION) by which the ledger knows the session, or would; and the SHA-256 of its
 * last note, if the ledger knows it. */
void acts_session_name(const struct acts *a, const char *session, char ret_name[LEDGER_NAME_MAX]);
const uint8_t *acts_last_note(const struct acts *a, const char *session, uint64_t *ret_time_ns);
