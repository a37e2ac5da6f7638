/* The inside of a session, for session.c and the files that are parts of it. */
#pragma once

#include "capture/in_hand.h"
#include "sandbox/phases.h"
#include "secret_files.h"
#include "session.h"
#include "session_dir.h"
#include "spare_dirs.h"
#include "streams.h"
#include "templates.h"

#define SESSION_EXEC 1 /* number of the first command */

/* What the session waits for. */
enum session_stage {
	SESSION_OPENING, /* the recorder opens the journal, and the sandbox gets ready */
	SESSION_WORKING, /* the command that it lives for ends, or somebody ends it */
	SESSION_CLOSING, /* the recorder has what its commands wrote, and has written the end */
	SESSION_SEALING, /* the record is on disk; all else is done and told */
};

/* What is known of the limits of a session while its command runs. */
struct session_limits {
	sd_event_source *wall, *room;
	struct growth *growth;		    /* of the workspace; NULL: without limit */
	bool is_measuring;		    /* for the first time, before the command */
	uint64_t told[SANDBOX_CONTROLLERS]; /* hits that vitrined has told itself */
	bool was_full;
};

/* What a command waits for. */
enum exec_stage {
	EXEC_TELLING,  /* the recorder knows it, or for the first one the session stands */
	EXEC_WORKING,  /* its first process ends */
	EXEC_DRAINING, /* the recorder has what it wrote */
};

/* A command of a session. */
struct session_exec {
	struct session *session;
	struct session_exec *next;
	uint32_t number;
	enum exec_stage stage;
	const struct exec_request *request; /* .own, or the session's first one */
	struct exec_request own;
	struct exec_client client; /* .ended NULL: there is none any more */
	uint64_t cgroup;	   /* 0: it is not made yet */
	struct streams streams;
	struct verdict verdict;
	uint64_t started_boot_ns;
	uint64_t told[SANDBOX_CONTROLLERS]; /* hits of its own limits that vitrined has told */
	uint64_t hits[SANDBOX_CONTROLLERS]; /* as the kernel counted them before it was killed */
	bool discard;			    /* output is no longer delivered */
	int signal_sent;		    /* the last one that was asked for, and by whom */
	const char *signal_by;
	sd_event_source *wall;
	sd_event_source *drain; /* runs while a killed command's output is still delivered */
};

struct session {
	struct host *host;
	struct phases *phases; /* NULL: not asked for */
	struct session *next;
	struct session_client client; /* .ended NULL: there is none any more */
	struct session_request request;
	struct ucred asker;
	struct manifest manifest; /* .id is the session's */
	struct spare_dir dir;	  /* until it has its name */
	int dir_fd;		  /* its directory, locked */
	int manifest_fd;	  /* its manifest, until that is on disk */
	int slot_fd;		  /* holds .slot */
	uint32_t slot;
	struct template_use template; /* .root_fd -1: the host's system */
	struct sandbox *sandbox;      /* NULL: none, or no more */
	struct secret_files *secret_files;
	bool is_watched;
	bool has_slot;	  /* of .watch */
	bool is_prepared; /* the recorder is, and was not told that it begins */
	struct sensors_session watch;
	uint64_t missed_before; /* missed runs of all programs when it began */
	uint64_t missed;	/* since then, when it ended */
	bool has_missed;	/* that is known */
	uint64_t cgroup;
	struct streams_pipes pipes; /* of its first command, made ahead */
	struct in_hand lost;	    /* with a recorder that died */
	struct session_exec *execs; /* those that have not ended */
	struct session_exec *main;  /* the one that it lives for; NULL: none, or it has ended */
	uint32_t last_exec;	    /* number of the newest */
	enum session_stage stage;
	bool is_open;	 /* the record */
	bool is_signed;	 /* it has the key that signs it */
	bool is_ready;	 /* and the sandbox stands */
	bool is_bare;	 /* only its journal is open: nothing runs */
	bool is_adopted; /* it began under another supervisor */
	bool has_start;	 /* session.start is in the record */
	bool is_dead;	 /* all that ran but pid 1, which starts nothing any more */
	json_t *key;	 /* that signs the record, until the recorder has it */
	struct verdict verdict;
	uint64_t started_boot_ns;
	struct session_limits limits;
	sd_event_source *settle;    /* until the manifest gets onto the disk */
	sd_event_source *building;  /* until the sandbox is ready */
	sd_event_source *statuses;  /* of the sandbox */
	sd_event_source *disk_wait; /* runs while the journal cannot be written */
	sd_event_source *let_go;    /* until what it stood on goes */
};

/* session_setup.c */

/*
 * Directory, manifest, sandbox and watch of a new session. Returns 0, or -errno with the fault: in
 * the verdict too where the directory stands, so that the failure gets a record.
 */
int session_set_up(struct session *s, struct fault *f);
/* Wait for the sandbox that session_set_up began; session_go_on is told when it is there. */
void session_follow_building(struct session *s);
/* Kill what runs and give back sandbox, watch, streams and slot; the directory stays. */
void session_tear_down(struct session *s);
/* Its record is not to be told more of it: clean its ground, but for what session_tear_down gives
 * back. */
void session_clear(struct session *s);
/* What a session in @sandbox stands on, for the recorder; its descriptors are borrowed. */
struct recorder_ground session_ground_of(struct sandbox *sandbox,
					 const struct sensors_session *watch, int dir_fd);
/* Open the record: all of it, or with session.is_bare only the journal. */
int session_open_record(struct session *s);
/* Give the recorder the key, unless it has it: while the command runs, which need not wait for
 * that. What fails is in the verdict. */
void session_sign(struct session *s);

/* session_settle.c */

/* Write the manifest, and have it put on disk; at the end the ledger with it. Nothing waits for
 * that, and @s may be freed meanwhile. 0 or -errno. */
int session_settle_start(struct session *s);
int session_settle_end(struct session *s);

/* session_fields.c: objects for recorder_event; NULL when out of memory. */

json_t *session_start_fields(const struct session *s);
json_t *session_exec_fields(const struct session_exec *x);
/* Put name, tenant and command into the manifest, redacted; the command as JSON text that is not
 * longer than a list of sessions can bear. 0 or -errno. */
int session_manifest_texts(const struct session *s, struct manifest *m);
/* Take the session's secrets, and what looks like one, out of words that a client or the log gets.
 */
void session_redact_words(const struct session *s, char *text, size_t room);

/* session_secret.c */

/* Make the files of the secrets, and when the sandbox stands, guard them. 0 or -errno with words.
 */
int session_make_secrets(struct session *s, struct fault *f);
int session_guard_secrets(struct session *s, struct fault *f);
/* Record how each secret is given. 0 or -errno. */
int session_record_secrets(struct session *s);

/* session.c */

/* Record open, sandbox ready: when both are there the command is prepared. */
void session_go_on(struct session *s);

/* Take it out of the list, tear it down and free it. */
void session_free(struct session *s);

/* session_exec.c */

/* A new command, numbered, in the list of the session's; NULL when out of memory. */
struct session_exec *exec_add(struct session *s, const struct exec_request *request);
/* Out of the list, and freed. */
void exec_free(struct session_exec *x);
/* The same with words to its client: there is no end of it in the record. */
void exec_abandon(struct session_exec *x);
struct session_exec *exec_find(const struct session *s, uint32_t number);
/* Its streams. 0 or -errno with a fault. */
int exec_open_streams(struct session_exec *x, const int fds[3], struct fault *f);
/* Of the first one: make its cgroup, and have its process born, which waits for what to execute;
 * the session is watched by then. 0 or -errno with a fault. */
int exec_begin(struct session_exec *x, struct fault *f);
/* Make its cgroup, where that was not done, and tell the recorder of it, which answers. 0 or -errno
 * with a fault. */
int exec_tell(struct session_exec *x, struct fault *f);
/* Nothing is waited for any more: start it. */
void exec_run(struct session_exec *x);
/* It is over, or is to be: kill what is left of it and let the recorder take the rest. */
void exec_finish(struct session_exec *x);
/* Messages of the recorder about it: it knows the command, and has all of it. */
void exec_told(struct session_exec *x, const struct recorder_message *m);
void exec_closed(struct session_exec *x, const struct recorder_message *m);

/* Follow what pid 1 says of commands. 0 or -errno. */
int session_follow(struct session *s);
/* The session's verdict stands: end all of its commands with it, and its record. */
void session_finish(struct session *s);
/* Output of its commands goes nowhere soon, if its reader does not take it. */
void session_hurry(struct session *s);
/* That of the command that it lives for goes nowhere from here on. */
void session_discard(struct session *s);

/* session_limits.c */

/* Begin to measure what is there already, where that is needed; session_go_on is told when that is
 * known. 0 or -errno. */
int session_limits_measure(struct session *s);
/* The session stands: follow its limits. 0 or -errno. */
int session_limits_start(struct session *s);
/* The command has limits of its own: set them. 0 or -errno with a fault. */
int exec_limits_set(struct session_exec *x, struct fault *f);
/* It runs: follow them. 0 or -errno. */
int exec_limits_start(struct session_exec *x);
/* Take what the kernel counts, before its cgroup goes; and record what was hit, when it is dead. */
void exec_limits_measure(struct session_exec *x);
void exec_limits_look(struct session_exec *x);

/* Record what was hit since the last look. */
void session_limits_look(struct session *s);
void session_limits_stop(struct session *s);
/* The same with what is told from a thread; not from within what it tells. */
void session_limits_free(struct session *s);
/* Hits that the kernel counted at @c of the session and of which no process's record tells. */
uint64_t session_limits_untold(const struct session *s, enum sandbox_controller c);
/* The same of a command's own limit, as it is now. */
uint64_t exec_limits_untold(const struct session_exec *x, enum sandbox_controller c);
/* Command @exec wrote more than it may. */
void session_limits_output(struct session *s, uint32_t exec);

/* session_final.c */

/* All that ran is dead: have what it leaves behind looked at. True: that is nothing, and needs no
 * look. */
bool session_look(struct session *s);

/* session_death.c */

/* Make a verdict of a signal say who sent it, and whether that was for a limit. @x: the command
 * whose first process ended; NULL: that was vitrine-init. */
void session_explain_death(struct session *s, const struct session_exec *x, struct verdict *ended);

/* session_close.c */

/* A step of the set-up failed after the record was open: the verdict @v, unless there is one. */
void session_say_failed(const struct session *s, struct verdict *v, const char *step, int error,
			const char *text);
/* The same with the session's. */
void session_decide_failed(struct session *s, const char *step, int error, const char *text);
/* Look how many runs of programs were missed, once its processes are dead. */
void session_count_missed(struct session *s);
/* Kill everything and let the recorder write the end. */
void session_close_record(struct session *s);
/* The end is in the record: clean up and tell it. */
void session_closing(struct session *s, const struct recorder_message *m);
/* The record is closed: finish and free the session. */
void session_closed(struct session *s, const struct recorder_message *m);
/* Count how it ended, and whether its record is whole. */
void session_count_end(struct session *s, enum verdict_reason reason, bool is_whole);
/* The journal could not even be opened: there is no session. Frees it. */
void session_refuse(struct session *s, const struct recorder_message *m);
void session_tell_end(struct session *s, const json_t *verdict, const char *error);
