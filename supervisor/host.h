/*
 * What all sessions of one daemon share: the launcher, the cgroups, the sensors, the recorder and
 * the state directory. Started once, in the only order that works.
 */
#pragma once

#include "capture/sensors.h"
#include "config.h"
#include "doctor_report.h"
#include "log.h"
#include "metrics/metric.h"
#include "metrics/page.h"
#include "recorder_client.h"
#include "sandbox/sandbox.h"
#include "spare_dirs.h"
#include "templates.h"
#include "worker.h"

#include <limits.h>
#include <systemd/sd-event.h>

#define RUN_DIR "/run/vitrine"

struct pool;
struct session;

struct host {
	struct config config; /* borrowed from main */
	struct log log;
	sd_event *loop; /* borrowed from main */
	char program_dir[PATH_MAX];
	uint8_t key[32];	   /* the deployment key */
	struct shapes *shapes;	   /* of redaction */
	uint8_t rules_digest[32];  /* of the detectors that are compiled in */
	struct redactor *redactor; /* for what is told of sessions without secrets and rules */
	int state_fd, sessions_fd;
	uid_t recorder_uid;
	gid_t recorder_gid;
	gid_t readers_gid;
	bool has_readers; /* somebody but root and the recorder may read records */
	struct templates templates;
	struct launcher *launcher;
	struct cgroup_root cgroups;
	struct sensors *sensors;
	struct pool *pool;	       /* NULL: none is kept */
	struct spare_dirs *spare_dirs; /* likewise */
	struct recorder *recorder;
	struct doctor_report *doctor;	/* of this host; NULL: nobody has looked */
	struct metrics_daemon *metrics; /* what is counted here: cells of daemon_page */
	struct metrics_page daemon_page, recorder_page;
	struct metrics_page in_hand;		 /* what the recorder has in hand: session_loss.h */
	struct metrics_service *metrics_service; /* NULL: they are not served */
	sd_event_source *metrics_look;
	struct worker *starts, *ends; /* make durable what sessions begin and end with */
	_Atomic uint64_t ledger_added, ledger_settled; /* lines of ends */
	uint32_t slot_hint;
	uint64_t process_start;	 /* our own, by which we are known in manifests; 0: not known yet */
	uint64_t missed_seen;	 /* runs of programs that were missed, when last looked at */
	size_t watched;		 /* sessions that the sensors watch */
	sd_event_source *detach; /* runs when there is none any more */
	struct session *sessions;   /* all of them, newest first */
	struct settling *settlings; /* their manifests that get onto the disk, likewise */
	size_t session_count;
};

/* Start everything. On failure nothing is left behind. 0 or -errno with a fault. */
int host_open(const struct config *config, const struct log *log, sd_event *loop,
	      struct host *ret_host, struct fault *ret_fault);
/* End everything; no session may be left. */
void host_close(struct host *h);

/* A user of the host, or the same number as user and group where there is none of this name. */
void host_find_user(const char *name, uid_t otherwise, uid_t *ret_uid, gid_t *ret_gid);

/* Whose the directories of sessions are. */
struct session_dir_owner host_session_owner(const struct host *h);

/* In place of a recorder that died: a new one, which can finish the records. 0 or -errno with a
 * fault. */
int host_restart_recorder(struct host *h, struct fault *ret_fault);

/*
 * Look how many runs of programs were missed so far. A session is charged with what was missed
 * since the last look before it, at another one's end or at the sensors' own: to look takes 0.1 ms,
 * and rather a gap too much is told than one too few.
 */
uint64_t host_missed(struct host *h);

/* The sensors are attached while at least one session is watched, and for a second after, so that
 * sessions in a row do not wait for one another. 0 or -errno with a fault. */
int host_watch(struct host *h, struct fault *ret_fault);
void host_unwatch(struct host *h);
