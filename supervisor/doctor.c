/*
 * The table of what sessions need, and the rows that look at the host. See doctor.h.
 */
#include "doctor.h"

#include "companion.h"
#include "control.h"
#include "record/cleanup.h"
#include "record/install.h"
#include "record/jansson_cleanup.h"
#include "sandbox/cgroup1.h"
#include "sandbox/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/utsname.h>

#define MIB (1024ull * 1024)
#define DISK_LOW_BYTES (1024 * MIB)
#define DISK_NONE_BYTES (64 * MIB)
#define TMPFS_MAGIC 0x01021994
#define HIERARCHY_ROOT_ID 1
#define CHECK_END_MS 10000
#define AS_ROOT "run vitrine doctor as root"

const char *const finding_state_names[] = {"ok", "degraded", "missing"};

void finding_ok(struct finding *f, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(f->found, sizeof(f->found), format, arguments);
	va_end(arguments);
	f->state = FINDING_OK;
}

void finding_degraded(struct finding *f, const char *lost, const char *mend, const char *format,
		      ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(f->found, sizeof(f->found), format, arguments);
	va_end(arguments);
	snprintf(f->lost, sizeof(f->lost), "%s", lost);
	snprintf(f->mend, sizeof(f->mend), "%s", mend ? mend : "");
	f->state = FINDING_DEGRADED;
}

void finding_missing(struct finding *f, const char *mend, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(f->found, sizeof(f->found), format, arguments);
	va_end(arguments);
	snprintf(f->mend, sizeof(f->mend), "%s", mend);
	f->state = FINDING_MISSING;
}

/* ---- kernel and programs ---- */

static void look_at_kernel(const struct doctor_subject *subject, struct finding *f)
{
	struct utsname name;

	(void)subject;
	uname(&name);
	if (strcmp(name.machine, "x86_64") != 0)
		finding_missing(f, "run vitrine on an x86_64 host", "%s on %s", name.release,
				name.machine);
	else
		finding_ok(f, "%s on %s", name.release, name.machine);
}

static void look_at_btf(const struct doctor_subject *subject, struct finding *f)
{
	(void)subject;
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0)
		finding_ok(f, "/sys/kernel/btf/vmlinux");
	else
		finding_missing(f,
				"boot a kernel with CONFIG_DEBUG_INFO_BTF=y, as Debian's since 6.1 "
				"are, and have sysfs mounted at /sys",
				"/sys/kernel/btf/vmlinux: %s", strerror(errno));
}

static void look_at_programs(const struct doctor_subject *subject, struct finding *f)
{
	static const char *const programs[] = {"vitrined", "vitrine-recorder", "vitrine-names",
					       "vitrine-launcher", "vitrine-metrics"};
	char dir[PATH_MAX];

	(void)subject;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (install_find(programs[i], dir) < 0) {
			finding_missing(f,
					"install vitrine whole: its programs stand beside one "
					"another, or below one prefix",
					"%s is not there", programs[i]);
			return;
		}
	finding_ok(f, "all below one prefix, the last in %.200s", dir);
}

/* ---- sensors: vitrined tries, for it is what loads them ---- */

static int ask_vitrined(json_t **ret_answer)
{
	static const char *const arguments[] = {"--check", NULL};
	struct companion c = COMPANION_NONE;
	struct control_message m = {0};
	char dir[PATH_MAX];

	int r = install_find("vitrined", dir);
	if (r == 0)
		r = companion_start(dir, "vitrined", arguments, &c);
	if (r == 0)
		r = control_receive(c.socket, &m);
	companion_stop(&c, CHECK_END_MS);
	if (r < 0)
		return r;
	*ret_answer = json_incref(m.body);
	control_message_free(&m);
	return 0;
}

static void say_missing_sensors(const json_t *missing, struct finding *f)
{
	char names[192] = "";
	size_t i, used = 0;
	json_t *name;

	json_array_foreach ((json_t *)missing, i, name)
		if (used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 i ? ", " : "", json_string_value(name));
	finding_degraded(f, "what only these see is not recorded, or from the call alone", NULL,
			 "this kernel has no %s", names);
}

/* Of those that are loaded already, only what they do without is to be told. */
static void say_loaded(const char *const *missing, struct finding *f)
{
	cleanup(json) json_t *names = json_array();

	for (; names && *missing; missing++)
		json_array_append_new(names, json_string(*missing));
	if (json_array_size(names) > 0)
		say_missing_sensors(names, f);
	else
		finding_ok(f, "all are loaded");
}

static void look_at_sensors(const struct doctor_subject *subject, struct finding *f)
{
	cleanup(json) json_t *answer = NULL;

	if (subject->missing_sensors) {
		say_loaded(subject->missing_sensors, f);
		return;
	}

	if (!subject->is_root) {
		finding_degraded(f, "whether they load is not known", AS_ROOT, "not tried");
		return;
	}
	int r = ask_vitrined(&answer);
	const json_t *missing = json_object_get(answer, "missing");

	if (r < 0)
		finding_missing(f, "see what vitrined --check says on standard error",
				"vitrined did not answer: %s", strerror(-r));
	else if (!json_is_true(json_object_get(answer, "ok")))
		finding_missing(f, json_string_value(json_object_get(answer, "error")),
				"they do not load");
	else if (json_array_size(missing) > 0)
		say_missing_sensors(missing, f);
	else
		finding_ok(f, "%zu, all load", json_array_size(json_object_get(answer, "loaded")));
}

/* ---- cgroups ---- */

/* Where the whole v2 hierarchy is, and whether there are v1 ones beside it. */
static bool find_hierarchy(char *ret_path, size_t size, bool *ret_pure)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent entry;
	char line[PATH_MAX + 1024];
	bool found = false;

	*ret_pure = true;
	while (mounts && getmntent_r(mounts, &entry, line, sizeof(line))) {
		struct stat st;

		if (!strcmp(entry.mnt_type, "cgroup"))
			*ret_pure = false;
		if (found || strcmp(entry.mnt_type, "cgroup2") != 0 ||
		    strlen(entry.mnt_dir) >= size)
			continue;
		if (stat(entry.mnt_dir, &st) < 0 || st.st_ino != HIERARCHY_ROOT_ID)
			continue;
		snprintf(ret_path, size, "%s", entry.mnt_dir);
		found = true;
	}
	if (mounts)
		endmntent(mounts);
	return found;
}

static void look_at_cgroups(const struct doctor_subject *subject, struct finding *f)
{
	char path[256];
	bool pure;

	(void)subject;
	if (!find_hierarchy(path, sizeof(path), &pure))
		finding_missing(f,
				"mount -t cgroup2 none /sys/fs/cgroup/unified, and run vitrined in "
				"the host's cgroup namespace",
				"no mount of the whole cgroup v2 hierarchy");
	else
		finding_ok(f, "v2 at %s, %s", path, pure ? "alone" : "beside v1 hierarchies");
}

/* The words of a small file, each between blanks. */
static void read_words(const char *path, char *ret_words, size_t size)
{
	cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, ret_words + 1, size - 3);

	ret_words[0] = ' ';
	n = n < 0 ? 0 : n;
	ret_words[n + 1] = ' ';
	ret_words[n + 2] = 0;
	for (char *c = ret_words; *c; c++)
		if (*c == '\n')
			*c = ' ';
}

/* Whether limits can be set by a controller, in whichever hierarchy it is. */
static bool has_controller(const char *root, enum sandbox_controller c, bool *ret_v1)
{
	char path[300], there[512], word[16], mount[CGROUP1_PATH_MAX];

	snprintf(path, sizeof(path), "%s/cgroup.controllers", root);
	snprintf(word, sizeof(word), " %s ", limits_controller_v2(c));
	read_words(path, there, sizeof(there));
	if (strstr(there, word))
		return true;
	*ret_v1 = true;
	return cgroup1_find(limits_controllers[c], mount) == 0;
}

static void look_at_controllers(const struct doctor_subject *subject, struct finding *f)
{
	char root[256], missing[64] = "";
	size_t used = 0;
	bool pure, v1 = false;

	(void)subject;
	if (!find_hierarchy(root, sizeof(root), &pure)) {
		finding_degraded(f, "no session runs", "see cgroups", "no hierarchy to look at");
		return;
	}
	for (int c = 0; c < SANDBOX_CONTROLLERS; c++)
		if (!has_controller(root, c, &v1) && used < sizeof(missing))
			used += (size_t)snprintf(missing + used, sizeof(missing) - used, "%s%s",
						 used ? ", " : "", limits_controller_v2(c));
	if (used)
		finding_degraded(f, "sessions that ask for limits by these are refused",
				 "mount the v1 hierarchies of these, or boot without "
				 "cgroup_disable= and with systemd.unified_cgroup_hierarchy=1",
				 "in no hierarchy: %s", missing);
	else
		finding_ok(f, "memory, pids, cpu and io%s", v1 ? ", in v1 hierarchies" : "");
}

/* ---- disk and clock ---- */

/* The nearest directory that is there. */
static void existing_parent(const char *path, char ret_path[PATH_MAX])
{
	snprintf(ret_path, PATH_MAX, "%s", path);
	while (access(ret_path, F_OK) < 0) {
		char *slash = strrchr(ret_path, '/');

		if (!slash || slash == ret_path) {
			snprintf(ret_path, PATH_MAX, "%s", slash ? "/" : ".");
			return;
		}
		*slash = 0;
	}
}

static void look_at_disk(const struct doctor_subject *subject, struct finding *f)
{
	char path[PATH_MAX];
	struct statvfs space;
	struct statfs kind;

	existing_parent(subject->state, path);
	if (statvfs(path, &space) < 0 || statfs(path, &kind) < 0) {
		finding_missing(f, "give a state directory on a file system that works (--state)",
				"%.200s: %s", path, strerror(errno));
		return;
	}
	unsigned long long left = (unsigned long long)space.f_bavail * space.f_frsize;

	if (space.f_flag & ST_RDONLY)
		finding_missing(f, "mount it writable, or give another state directory (--state)",
				"%.200s is read-only", path);
	else if (left < DISK_NONE_BYTES || (space.f_files && !space.f_favail))
		finding_missing(f, "make room, or give another state directory (--state)",
				"%.160s: %llu MiB and %llu inodes left", path, left / MIB,
				(unsigned long long)space.f_favail);
	else if (left < DISK_LOW_BYTES)
		finding_degraded(f, "long sessions freeze when it is full",
				 "make room, or give another state directory (--state)",
				 "%.200s: %llu MiB left", path, left / MIB);
	else if (kind.f_type == TMPFS_MAGIC)
		finding_degraded(f, "records do not survive a restart of the host",
				 "give a state directory on a disk (--state)",
				 "%.200s is in memory", path);
	else
		finding_ok(f, "%.200s: %llu MiB left", path, left / MIB);
}

static void look_at_clock(const struct doctor_subject *subject, struct finding *f)
{
	struct timex t = {0}; /* asks, sets nothing */

	(void)subject;
	if (adjtimex(&t) < 0 || t.status & STA_UNSYNC)
		finding_degraded(f, "times of records cannot be compared with other hosts'",
				 "run a time service: systemctl enable --now systemd-timesyncd, or "
				 "chrony",
				 "nothing synchronises it");
	else
		finding_ok(f, "synchronised, at most %lld ms off", (long long)t.maxerror / 1000);
}

const struct doctor_check doctor_checks[] = {
	{"kernel", false, look_at_kernel},
	{"programs", false, look_at_programs},
	{"btf", false, look_at_btf},
	{"sensors", false, look_at_sensors},
	{"cgroups", false, look_at_cgroups},
	{"controllers", false, look_at_controllers},
	{"namespaces", true, doctor_namespaces},
	{"idmap", true, doctor_idmap},
	{"overlay", true, doctor_overlay},
	{"fanotify", true, doctor_fanotify},
	{"seccomp", false, doctor_seccomp},
	{"landlock", false, doctor_landlock},
	{"disk", false, look_at_disk},
	{"clock", false, look_at_clock},
	{NULL},
};
