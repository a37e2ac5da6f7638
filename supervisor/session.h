/*
 * One session, from the request to the cleaned ground: its sandbox, its watch, its record and its
 * verdict. Everything after session_start happens on the host's event loop.
 */
#pragma once

#include "host.h"
#include "record/store.h"
#include "session_request.h"
#include "verdict.h"

#include <sys/socket.h>

struct session;

/* Who asked for the session, and what is told to him. */
struct session_client {
	void *context;
	/* The sandbox stands and the record is open. */
	void (*started)(void *context, const char *id);
	/*
	 * The session is over and cleaned up. @verdict: fields of session.end as written, NULL if
	 * there is no record. @status: what `vitrine run` exits with. @error: NULL, or why the
	 * command did not run or the record is not whole.
	 */
	void (*ended)(void *context, const char *id, const json_t *verdict, int status,
		      const char *error);
};

/* Who gave a command to a session that was there already, and what is told to him. */
struct exec_client {
	void *context;
	/* It runs. */
	void (*started)(void *context, const char *id, uint32_t exec);
	/* It is over. @verdict: fields of exec.end as written, NULL if it was never started; the
	 * rest as of a session. */
	void (*ended)(void *context, const char *id, uint32_t exec, const json_t *verdict,
		      int status, const char *error);
};

/*
 * Start a session. @request is taken over in any case; @fds (stdin, stdout, stderr of the client)
 * are borrowed. 0, or -errno with a fault: then there is no session. After 0 the client is told of
 * its end, whatever happens.
 */
int session_start(struct host *h, struct session_request *request, const struct ucred *asker,
		  const int fds[3], const struct session_client *client,
		  struct session **ret_session, struct fault *ret_fault);

/*
 * Finish the record of a session whose supervisor was lost. @dir_fd is taken over. Its end is told
 * to nobody.
 */
int session_adopt(struct host *h, struct manifest *manifest, int dir_fd);

/* The time of @clock. */
uint64_t session_clock_ns(int clock);

const char *session_id(const struct session *s);
/* The user who asked for it. */
uid_t session_asker(const struct session *s);
/* The session called @id, or NULL. */
struct session *session_find(struct host *h, const char *id);
struct session *session_next(const struct session *s);
/* Fields of session.start that are the same for all sessions of @h; NULL when out of memory. */
json_t *session_about_fields(const struct host *h);
/* {id, name, tenant, state, started, command} */
json_t *session_describe(const struct session *s);

/* The client has gone: nobody is told of the end, and output is no longer delivered. */
void session_forget_client(struct session *s);

/* End it with this verdict, unless it has one already. @discard: output is no longer delivered. */
void session_end(struct session *s, const struct verdict *verdict, bool discard);

/* All of it is done and told; only its record still gets onto the disk. */
bool session_has_ended(const struct session *s);

/*
 * So much of the sessions of @uid, or of all, that have ended is still to get onto the disk that
 * who asks for another one has to wait: what they hold is bounded by that, and who starts more of
 * them than the disk takes goes at its pace.
 */
bool session_has_to_wait(const struct host *h, uid_t uid);

/* It lives until it is ended, whoever asked for it. */
bool session_is_detached(const struct session *s);

/*
 * Give it another command. @request is taken over in any case; @fds are borrowed. 0 and its number,
 * or -errno with a fault (-ESRCH: it has ended, -EBUSY: it has as many as it may). After 0 the
 * client is told of its end, whatever happens.
 */
int session_exec_start(struct session *s, struct exec_request *request, const int fds[3],
		       const struct exec_client *client, uint32_t *ret_exec,
		       struct fault *ret_fault);
/* What it gives to each of them; borrowed. */
struct exec_ground session_ground(const struct session *s);
/* The client has gone: nobody is told of its end. */
void session_exec_forget_client(struct session *s, uint32_t exec);
/* End one command with this verdict, unless it has one. -ESRCH: it does not run. */
int session_exec_end(struct session *s, uint32_t exec, const struct verdict *verdict, bool discard);
/* A signal to the command's first process. @by: who asked for it, static. 0 or -errno. */
int session_signal(struct session *s, uint32_t exec, int signal, const char *by);
int session_resize(struct session *s, uint32_t exec, uint16_t columns, uint16_t rows);

/* A message of the recorder about this session. */
void session_recorder_message(struct session *s, struct recorder_message *m);

/* The recorder died and another one stands in its place: kill what runs, and finish the record. */
void session_lost(struct session *s);
/* There is no recorder any more: kill, clean up, and leave the record to the next start. */
void session_abandon(struct session *s);
