/*
 * vitrined's side of the recorder protocol (ARCHITECTURE.md). One message goes out by one function;
 * replies and notices come in as one type. What comes in holds only numbers and our own words, and
 * is checked nevertheless: the recorder reads what sessions made, and may have been taken over by
 * it.
 */
#pragma once

#include "fault.h"
#include "policy.h"
#include "session_secrets.h"
#include "streams.h"

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

struct recorder;

struct recorder_options {
	const char *program_dir;
	const uint8_t *key; /* 32 bytes: the deployment key */
	json_t *about;	    /* fields that every session.start has beside its own; borrowed */
	uid_t uid;
	gid_t gid;
	uint32_t rings; /* that are kept between sessions */
	/* Maps; borrowed. */
	int numbers_fd, losses_fd, written_files_fd, file_counts_fd, exec_bytes_fd;
	int in_hand_fd; /* page of struct in_hand; borrowed */
	int metrics_fd; /* page that it counts on; borrowed; -1: none */
};

/* Start the resolver of names, who looks at final trees, and the recorder, and wait until it
 * watches. 0 or -errno with a
 * fault. */
int recorder_start(const struct recorder_options *options, struct recorder **ret_recorder,
		   struct fault *ret_fault);
/* Let it write what it has and end. NULL is allowed. */
void recorder_stop(struct recorder *r);

int recorder_socket(const struct recorder *r);
bool recorder_is_alive(const struct recorder *r);
/* Of the resolver of names: readable when it has ended. */
int recorder_names_pidfd(const struct recorder *r);

/* What a session stands on, known before it is known what it is to do. */
struct recorder_ground {
	uint32_t slot;
	uint64_t ring_id; /* the same for a ring that comes again */
	uint64_t ring_bytes, high_water;
	uint32_t uid_base, uid_count;
	int journal_fd; /* the session's directory */
	int ring_fd, freeze_fd;
	int fanotify_fd, root_mount_fd; /* -1: none */
};

struct recorder_open {
	const char *session;
	const struct recorder_ground *ground; /* NULL: it was prepared */
	const struct policy *policy;
	const struct session_secrets *secrets;
	const json_t *key;    /* that signs it: session_key_make; NULL: recorder_sign follows */
	uint32_t exec;	      /* the command whose process is made while it is opened; 0: none */
	uint64_t exec_cgroup; /* by which it is known */
};

/*
 * All of these send one message and do not wait. 0 or -errno: -ENOMEM and -EMSGSIZE concern this
 * message alone; after any other error, such as that the recorder has not read for long, it is
 * killed, which recorder_receive tells.
 */
/* Whatever is sent from here on waits, with its descriptors, which have to stay open, and goes out
 * as one message. Nothing where nothing waits. */
void recorder_hold(struct recorder *r);
int recorder_release(struct recorder *r);

/* Ahead of the session, which says with recorder_open what it asks for; or let go of it again. */
int recorder_prepare(struct recorder *r, const char *session, const struct recorder_ground *ground);
int recorder_forget(struct recorder *r, const char *session);
int recorder_open(struct recorder *r, const struct recorder_open *open);
/* The record of a session that never ran or whose supervisor was lost: no ring, only a journal;
 * where one was prepared for it, that. */
int recorder_open_journal(struct recorder *r, const char *session, int journal_fd,
			  const struct session_secrets *secrets, const json_t *key);
/* Sign what was opened without a key. */
int recorder_sign(struct recorder *r, const char *session, const json_t *key);
int recorder_event(struct recorder *r, const char *session, const char *kind, json_t *fields);
struct recorder_command {
	uint32_t exec;
	uint64_t cgroup;
	uint64_t output_limit; /* 0: none */
	bool tty;
};
int recorder_exec(struct recorder *r, const char *session, const struct recorder_command *command,
		  const struct streams *streams);
/* Its start, with the fields of exec.start: once that is written a byte goes into @gate_fd
 * (borrowed), at whose other end its process waits. */
int recorder_start_exec(struct recorder *r, const char *session, uint32_t exec, json_t *fields,
			int gate_fd);
int recorder_tty(struct recorder *r, const char *session, uint32_t exec, int master,
		 const struct streams *streams);
int recorder_resize(struct recorder *r, const char *session, uint32_t exec, uint16_t columns,
		    uint16_t rows);
/* From now on output of the command is recorded, but no longer delivered: nobody is there to take
 * it. */
int recorder_discard(struct recorder *r, const char *session, uint32_t exec);
/* Carry on what it wrote, write its end, and say EXEC_CLOSED. @is_last: all is dead, and
 * recorder_close follows: then what the kernel still knows is taken, and nothing is said. */
int recorder_close_exec(struct recorder *r, const char *session, uint32_t exec, json_t *fields,
			bool is_last);
/* Trees of a session whose processes are dead; borrowed. */
struct recorder_look {
	const struct policy *policy;
	const struct session_secrets *secrets; /* no hash is made of a file with one in it */
	int upper_fd, base_fd, lower_fd, root_fd;
	int workspace_fd; /* -1: none */
};
/* Have them looked at, and what is found recorded before the end. */
int recorder_look(struct recorder *r, const char *session, const struct recorder_look *look);
int recorder_missed(struct recorder *r, const char *session, uint64_t count);
/* Write the end, behind the ends of the commands that are being closed. @is_untouched: its trees
 * are as it found them, and nobody looks. */
int recorder_close(struct recorder *r, const char *session, json_t *fields, bool is_untouched);

enum recorder_word {
	RECORDER_STARTED,
	RECORDER_PREPARED,
	RECORDER_OPENED,
	RECORDER_EXECED,
	RECORDER_EXEC_CLOSED,
	RECORDER_CLOSING,
	RECORDER_CLOSED,
	RECORDER_TROUBLE, /* the journal cannot be written; with error 0: it can again */
	RECORDER_LOST,	  /* records were lost and the policy says kill */
	RECORDER_OUTPUT,  /* a command wrote more than it may */
	RECORDER_UNKNOWN,
};

struct recorder_message {
	enum recorder_word word;
	char session[16];
	uint32_t exec; /* EXECED, EXEC_CLOSED, OUTPUT */
	int error;     /* errno; 0: none */
	char text[256];
	bool ended;		/* OPENED: the journal has its session.end already */
	uint64_t records, lost; /* CLOSED */
	bool has_note;		/* CLOSED: it was signed */
	uint8_t note[32];	/* hash of the last checkpoint */
	json_t *verdict; /* CLOSED, EXEC_CLOSED: fields of session.end or exec.end as written;
			    owned; may be NULL */
};
void recorder_message_free(struct recorder_message *m);

/* 0, -EAGAIN, -ECONNRESET (the recorder is gone), -EBADMSG or -errno. */
int recorder_receive(struct recorder *r, struct recorder_message *ret_message);
