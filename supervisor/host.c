/*
 * Starts what all sessions share. The launcher comes first, while the process is small and holds
 * nothing: it is forked from this one. The recorder comes last, for it gets the sensors' maps.
 */
#include "host.h"

#include "capture/in_hand.h"
#include "deployment_key.h"
#include "host_metrics.h"
#include "pool.h"
#include "record/cleanup.h"
#include "record/install.h"
#include "record/jansson_cleanup.h"
#include "redact/redact.h"
#include "redact/shapes.h"
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define DETACH_US 1000000
#define RECORDER_ID 64742 /* where the host has no user for the recorder */

/* Every session takes about twenty descriptors. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

void host_find_user(const char *name, uid_t otherwise, uid_t *ret_uid, gid_t *ret_gid)
{
	struct passwd user, *found = NULL;
	char room[4096];

	*ret_uid = *ret_gid = otherwise;
	if (getpwnam_r(name, &user, room, sizeof(room), &found) == 0 && found) {
		*ret_uid = found->pw_uid;
		*ret_gid = found->pw_gid;
	}
}

static int find_recorder_user(struct host *h, struct fault *f)
{
	(void)f; /* the host needs no such user */
	host_find_user(h->config.recorder_user, RECORDER_ID, &h->recorder_uid, &h->recorder_gid);
	return 0;
}

static int find_readers(struct host *h, struct fault *f)
{
	struct group group, *found = NULL;
	char room[16384];

	(void)f; /* the host needs no such group */
	h->has_readers =
		getgrnam_r(h->config.readers_group, &group, room, sizeof(room), &found) == 0 &&
		found;
	if (h->has_readers)
		h->readers_gid = found->gr_gid;
	return 0;
}

/* The readers may list what is in @fd, and whoever else may only pass through it. */
static int let_readers_list(const struct host *h, int fd)
{
	if (!h->has_readers)
		return 0;
	return fchown(fd, (uid_t)-1, h->readers_gid) < 0 || fchmod(fd, 0751) < 0 ? -errno : 0;
}

/* Nobody but root may change what stands in the state directory. */
static int check_directory(int fd, const char *path, struct fault *f)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fault_set(f, -errno, "state", "%s: %s", path, strerror(errno));
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return fault_set(f, -EPERM, "state",
				 "%s: has to belong to root and be writable by nobody else", path);
	return 0;
}

static int open_state(struct host *h, struct fault *f)
{
	const char *path = h->config.state;

	if (mkdir(path, 0711) < 0 && errno != EEXIST)
		return fault_set(f, -errno, "state", "state directory %s: %s", path,
				 strerror(errno));
	h->state_fd = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (h->state_fd < 0)
		return fault_set(f, -errno, "state", "state directory %s: %s", path,
				 strerror(errno));
	int r = check_directory(h->state_fd, path, f);
	if (r < 0)
		return r;

	if (mkdirat(h->state_fd, "sessions", 0711) < 0 && errno != EEXIST)
		return fault_set(f, -errno, "state", "state directory %s: %s", path,
				 strerror(errno));
	h->sessions_fd =
		openat(h->state_fd, "sessions", O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (h->sessions_fd < 0)
		return fault_set(f, -errno, "state", "%s/sessions: %s", path, strerror(errno));
	r = let_readers_list(h, h->sessions_fd);
	if (r < 0)
		return fault_set(f, r, "state", "%s/sessions: for group %s: %s", path,
				 h->config.readers_group, strerror(-r));
	return check_directory(h->sessions_fd, path, f);
}

static int load_key(struct host *h, struct fault *f)
{
	return deployment_key_load(h->config.key_file, h->key, f);
}

static int make_shapes(struct host *h, struct fault *f)
{
	int r = shapes_new(SHAPES_READ, &h->shapes);

	shapes_digest(h->rules_digest);
	if (r == 0)
		r = redactor_new(h->key, h->shapes, NULL, 0, &h->redactor);
	return r < 0 ? fault_set(f, r, "redact", "cannot set up redaction: %s", strerror(-r)) : 0;
}

static int start_launcher(struct host *h, struct fault *f)
{
	if (mkdir(RUN_DIR, 0755) < 0 && errno != EEXIST)
		return fault_set(f, -errno, "run", "%s: %s", RUN_DIR, strerror(errno));
	int r = install_find("vitrine-launcher", h->program_dir);
	if (r < 0)
		return fault_set(f, r, "install", "vitrine-launcher is not beside vitrined");
	cleanup(close_fd) int dir = open(h->program_dir, O_DIRECTORY | O_PATH | O_CLOEXEC);
	if (dir < 0)
		return fault_set(f, -errno, "install", "%s: %s", h->program_dir, strerror(errno));
	r = launcher_start(dir, &h->launcher);
	if (r < 0)
		return fault_set(f, r, "launcher", "cannot start vitrine-launcher from %s: %s",
				 h->program_dir, strerror(-r));
	return 0;
}

static int open_cgroups(struct host *h, struct fault *f)
{
	char error[512] = "";
	int r = cgroup_root_open(&h->cgroups, error);

	return r < 0 ? fault_set(f, r, "cgroup", "%s", error) : 0;
}

static int load_sensors(struct host *h, struct fault *f)
{
	char error[512] = "";
	struct sensors_options options = {
		.cgroup_fd = h->cgroups.fd,
		.session_level = h->cgroups.session_level,
		.ring_bytes = h->config.ring_bytes,
		.rings = h->config.rings,
	};
	int r = sensors_load(&options, &h->sensors, error);

	return r < 0 ? fault_set(f, r, "sensors", "%s", error) : 0;
}

static int start_recorder(struct host *h, struct fault *f)
{
	cleanup(json) json_t *about = session_about_fields(h);
	struct recorder_options options = {
		.program_dir = h->program_dir,
		.key = h->key,
		.about = about,
		.uid = h->recorder_uid,
		.gid = h->recorder_gid,
		.rings = h->config.rings,
		.numbers_fd = sensors_map_fd(h->sensors, "numbers"),
		.losses_fd = sensors_map_fd(h->sensors, "losses"),
		.written_files_fd = sensors_map_fd(h->sensors, "written_files"),
		.file_counts_fd = sensors_map_fd(h->sensors, "file_counts"),
		.exec_bytes_fd = sensors_map_fd(h->sensors, "exec_bytes"),
		.metrics_fd = h->recorder_page.fd,
	};
	int r = h->in_hand.cells ? 0 : metrics_page_new(IN_HAND_BYTES, true, &h->in_hand);

	if (r < 0)
		return fault_set(f, r, "recorder", "memory shared with the recorder: %s",
				 strerror(-r));
	options.in_hand_fd = h->in_hand.fd;

	return recorder_start(&options, &h->recorder, f);
}

static int look_at_host(struct host *h, struct fault *f)
{
	const struct doctor_subject subject = {
		.state = h->config.state,
		.workspace = h->config.state,
		.is_root = geteuid() == 0,
		.kept = RUN_DIR "/doctor",
		.missing_sensors = sensors_missing(h->sensors),
	};
	int r = doctor_report_new(&subject, &h->doctor);

	return r < 0 ? fault_set(f, r, "no_memory", "out of memory") : 0;
}

static int start_workers(struct host *h, struct fault *f)
{
	int r = worker_start(h->loop, &h->starts);

	if (r == 0)
		r = worker_start(h->loop, &h->ends);
	return r < 0 ? fault_set(f, r, "loop", "cannot start a thread: %s", strerror(-r)) : 0;
}

static int start_pool(struct host *h, struct fault *f)
{
	if (h->config.pool == 0)
		return 0;
	int r = pool_open(h, h->config.pool, &h->pool);
	return r < 0 ? fault_set(f, r, "loop", "cannot make the pool: %s", strerror(-r)) : 0;
}

struct session_dir_owner host_session_owner(const struct host *h)
{
	return (struct session_dir_owner){
		.uid = h->recorder_uid,
		.gid = h->has_readers ? h->readers_gid : h->recorder_gid,
		.group_reads = h->has_readers,
	};
}

int host_open(const struct config *config, const struct log *log, sd_event *loop,
	      struct host *ret_host, struct fault *ret_fault)
{
	static int (*const steps[])(struct host *, struct fault *) = {
		start_launcher,	   find_readers,       open_state,   load_key,	   make_shapes,
		host_metrics_open, find_recorder_user, open_cgroups, load_sensors, start_recorder,
		look_at_host,	   start_workers,      start_pool,
	};

	*ret_host = (struct host){
		.config = *config,
		.log = *log,
		.loop = loop,
		.state_fd = -1,
		.sessions_fd = -1,
		.cgroups = {.fd = -1},
		.daemon_page = METRICS_PAGE_NONE,
		.recorder_page = METRICS_PAGE_NONE,
	};
	templates_init(&ret_host->templates);
	raise_descriptor_limit();
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int r = steps[i](ret_host, ret_fault);
		if (r < 0) {
			host_close(ret_host);
			return r;
		}
	}
	return 0;
}

void host_close(struct host *h)
{
	h->detach = sd_event_source_disable_unref(h->detach);
	doctor_report_free(h->doctor);
	h->doctor = NULL;
	host_metrics_close(h);
	pool_close(h->pool);
	h->pool = NULL;
	spare_dirs_close(h->spare_dirs);
	h->spare_dirs = NULL;
	worker_stop(h->starts);
	worker_stop(h->ends);
	h->starts = h->ends = NULL;
	recorder_stop(h->recorder);
	h->recorder = NULL;
	if (h->sensors)
		sensors_free(h->sensors);
	h->sensors = NULL;
	if (h->launcher)
		launcher_stop(h->launcher);
	h->launcher = NULL;
	if (h->cgroups.fd >= 0)
		cgroup_root_close(&h->cgroups);
	h->cgroups.fd = -1;
	if (h->sessions_fd >= 0)
		close(h->sessions_fd);
	if (h->state_fd >= 0)
		close(h->state_fd);
	h->sessions_fd = h->state_fd = -1;
	templates_free(&h->templates);
	redactor_free(h->redactor);
	h->redactor = NULL;
	shapes_free(h->shapes);
	h->shapes = NULL;
	metrics_page_free(&h->in_hand);
	explicit_bzero(h->key, sizeof(h->key));
}

int host_restart_recorder(struct host *h, struct fault *ret_fault)
{
	pool_close(h->pool); /* what was prepared went with the recorder */
	h->pool = NULL;
	recorder_stop(h->recorder);
	h->recorder = NULL;
	return start_recorder(h, ret_fault);
}

uint64_t host_missed(struct host *h)
{
	h->missed_seen = sensors_missed(h->sensors);
	return h->missed_seen;
}

int host_watch(struct host *h, struct fault *ret_fault)
{
	char error[512] = "";
	int r = sensors_attach(h->sensors, error);

	if (r < 0)
		return fault_set(ret_fault, r, "sensors", "%s", error);
	h->detach = sd_event_source_disable_unref(h->detach);
	h->watched++;
	return 0;
}

static int on_detach(sd_event_source *source, uint64_t now_us, void *context)
{
	struct host *h = context;

	(void)source, (void)now_us;
	if (h->watched == 0) {
		sensors_detach(h->sensors);
		host_missed(h);
	}
	return 0;
}

void host_unwatch(struct host *h)
{
	if (--h->watched > 0)
		return;
	h->detach = sd_event_source_disable_unref(h->detach);
	if (sd_event_add_time_relative(h->loop, &h->detach, CLOCK_MONOTONIC, DETACH_US, 0,
				       on_detach, h) < 0)
		sensors_detach(h->sensors);
}
