/*
 * The BPF programs and maps of one daemon: load, probe, attach, one slot per session. Only vitrined
 * has this.
 */
#pragma once

#include "../../bpf/wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct sensors;

struct sensors_options {
	int cgroup_fd; /* the daemon's cgroup below which all sessions live (v2), borrowed; -1: only
			  to try, nothing is attached */
	uint32_t session_level; /* depth of a session's cgroup below the root of the cgroup2
				   hierarchy */
	uint64_t ring_bytes;	/* power of two, 4 MiB or more */
	uint32_t rings;		/* rings to make ahead */
};

/*
 * Load and verify everything. Sensors that this kernel refuses are left out if they are optional
 * and named in sensors_missing; one that is needed fails the load. 0 or -errno with a message in
 * @ret_error (512 bytes) that names what is missing and the mend.
 */
int sensors_load(const struct sensors_options *options, struct sensors **ret_sensors,
		 char ret_error[512]);
void sensors_free(struct sensors *s);

/*
 * Attach while at least one session lives; host-wide programs cost every process of the host.
 * Idempotent. Takes 1 ms.
 */
int sensors_attach(struct sensors *s, char ret_error[512]);

/*
 * Returns at once; the kernel takes up to a second to let go of all programs, which a thread waits
 * for. An attach meanwhile waits up to a tenth of a second: detach only when no session has come
 * for a while.
 */
void sensors_detach(struct sensors *s);

/* NULL-terminated, owned by @s: names of the sensors that are attached, and of those this kernel
 * refused. */
const char *const *sensors_names(const struct sensors *s);
const char *const *sensors_missing(const struct sensors *s);

/* From now on tell of these calls when they are refused, for a session that is to be opened. */
struct syscall_set;
void sensors_deny(struct sensors *s, const struct syscall_set *denied);

struct sensors_session {
	uint32_t slot;
	int ring_fd;	  /* owned by the sensors; send a duplicate */
	uint64_t ring_id; /* a ring that comes again has the same number */
	uint64_t ring_bytes;
	uint64_t high_water;
	uint64_t hits_before[WIRE_LIMIT_COUNT]; /* of the sessions that had the slot before */
};

/* What is to be watched, and what of it the kernel's side has to know. */
struct sensors_subject {
	uint64_t cgroup;		   /* id of the session's cgroup */
	uint32_t flags;			   /* enum session_flag */
	dev_t workspace_dev;		   /* of what is bound to /workspace; 0: none */
	uint64_t limits[WIRE_LIMIT_COUNT]; /* in force; 0: not */
};

/* What a session is going to be watched through, ring and all, so that its reader may be there
 * before it is. -ENOSPC: no slot is free. */
int sensors_take_slot(struct sensors *s, struct sensors_session *ret_session);
/* A slot through which nothing was watched; who read its ring has let go of it. */
void sensors_give_slot(struct sensors *s, uint32_t slot);

/*
 * Watch a cgroup as a session, through the slot of @session. From the moment that this returns 0
 * everything in the cgroup is recorded, except what the first process of its pid namespace does,
 * and what that one's children do before their exec: that is vitrine-init at work. 0 or -errno.
 */
int sensors_open_session(struct sensors *s, const struct sensors_subject *subject,
			 const struct sensors_session *session);
/*
 * Stop watching and free the slot; the recorder has let go of the ring. It is given out again only
 * when no program runs any more that knew this session, and empty.
 */
void sensors_close_session(struct sensors *s, uint64_t cgroup, uint32_t slot);

/* How often the session hit @limit: what records of processes tell of, or will. */
uint64_t sensors_hits(struct sensors *s, const struct sensors_session *session,
		      enum wire_limit limit);

/* Numbers that were given out of each class, over all CPUs and ever. 0 or -errno. */
int sensors_numbers(struct sensors *s, uint32_t slot, uint64_t ret_numbers[WIRE_CLASS_COUNT]);

/*
 * The command in @cgroup has limits of its own (0: not that one), and its hits are counted apart.
 * Forgotten by sensors_forget_command. 0 or -errno.
 */
int sensors_limit_command(struct sensors *s, uint64_t cgroup,
			  const uint64_t limits[WIRE_LIMIT_COUNT]);
uint64_t sensors_command_hits(struct sensors *s, uint64_t cgroup, enum wire_limit limit);
void sensors_forget_command(struct sensors *s, uint64_t cgroup);

/*
 * How the first process of the command in @cgroup ended, or with the session's own cgroup that of
 * vitrine-init. 0, or -ENOENT: it has not ended, or that is not known. Forgotten by
 * sensors_forget_death.
 */
int sensors_death(struct sensors *s, uint64_t cgroup, struct death *ret_death);
void sensors_forget_death(struct sensors *s, uint64_t cgroup);

/* Descriptors of maps that the recorder reads: "numbers", "losses", "written_files", "file_counts",
 * "exec_bytes". -EINVAL if unknown. Borrowed. */
int sensors_map_fd(const struct sensors *s, const char *name);

/* Missed runs of all programs so far (recursion_misses): growth is a gap. */
uint64_t sensors_missed(struct sensors *s);

/* For tests: one line per program, "name instructions". */
void sensors_write_instruction_counts(const struct sensors *s, FILE *out);
