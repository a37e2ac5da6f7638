/*
 * What the doctor says, kept. See doctor_report.h.
 *
 * What was tried is kept in a file too, until the host is booted again or something that it hangs
 * on is another: a daemon that serves one run alone starts as quickly as without.
 */
#include "doctor_report.h"

#include "record/cleanup.h"
#include "record/jansson_cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REFRESH_NS 1000000000ull
#define KEPT_MAX 6144

struct doctor_report {
	struct doctor_subject subject;
	enum finding_state states[DOCTOR_CHECKS_MAX];
	uint64_t looked_ns; /* CLOCK_MONOTONIC */
	char digest[65];
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* Returns whether anything has changed. */
static bool look(struct doctor_report *r, bool tries)
{
	bool changed = false;

	for (size_t i = 0; doctor_checks[i].name; i++) {
		struct finding f = {0};

		if (doctor_checks[i].is_tried != tries)
			continue;
		doctor_checks[i].look(&r->subject, &f);
		changed |= f.state != r->states[i];
		r->states[i] = f.state;
	}
	return changed;
}

/* ---- what was tried since the host was booted ---- */

static void add_file(char *text, size_t room, const char *path)
{
	size_t used = strlen(text);
	cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 || used + 2 > room ? 0 : read(fd, text + used, room - used - 2);

	text[used + (n > 0 ? (size_t)n : 0)] = 0;
	for (char *c = text + used; *c; c++)
		if (*c == '\n')
			*c = ' ';
}

static void add_states(const struct doctor_report *r, bool tried, char *text, size_t room)
{
	size_t used = strlen(text);

	for (size_t i = 0; doctor_checks[i].name && used + 2 < room; i++)
		if (doctor_checks[i].is_tried == tried)
			text[used++] = (char)('0' + r->states[i]);
	text[used] = 0;
}

/* What the outcome of trying hangs on, as far as that can be looked at. */
static void name_circumstances(const struct doctor_report *r, char *text, size_t room)
{
	static const char *const namespaces[] = {"user", "mnt", "pid",	 "net",
						 "uts",	 "ipc", "cgroup"};
	char path[64];

	snprintf(text, room, "%s %s %d ", VITRINE_VERSION, r->subject.workspace,
		 r->subject.is_root);
	add_file(text, room, "/proc/sys/kernel/random/boot_id");
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++) {
		snprintf(path, sizeof(path), "/proc/sys/user/max_%s_namespaces", namespaces[i]);
		add_file(text, room, path);
	}
	add_states(r, false, text, room);
}

/* True if it is there, and of these circumstances. */
static bool read_kept(struct doctor_report *r, const char *circumstances)
{
	char text[KEPT_MAX] = "";
	struct stat st;
	size_t length = strlen(circumstances);
	cleanup(close_fd) int fd =
		r->subject.kept ? open(r->subject.kept, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != 0 || (st.st_mode & 022) ||
	    read(fd, text, sizeof(text) - 1) <= 0 || strncmp(text, circumstances, length) != 0 ||
	    text[length] != '\n')
		return false;
	const char *state = text + length + 1;
	for (size_t i = 0; doctor_checks[i].name; i++) {
		if (!doctor_checks[i].is_tried)
			continue;
		if (*state < '0' || *state > '0' + FINDING_MISSING)
			return false;
		r->states[i] = (enum finding_state)(*state++ - '0');
	}
	return *state == '\n';
}

/* Whoever cannot keep it tries again. */
static void keep(const struct doctor_report *r, const char *circumstances)
{
	char text[KEPT_MAX], name[PATH_MAX];

	if (!r->subject.kept)
		return;
	snprintf(name, sizeof(name), "%s.%d", r->subject.kept, getpid());
	snprintf(text, sizeof(text), "%s\n", circumstances);
	add_states(r, true, text, sizeof(text) - 1);
	memcpy(text + strlen(text), "\n", 2);
	unlink(name);
	cleanup(close_fd) int fd =
		open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
	    rename(name, r->subject.kept) < 0)
		unlink(name);
}

static void try_all(struct doctor_report *r, bool again)
{
	char circumstances[KEPT_MAX - DOCTOR_CHECKS_MAX - 2];

	name_circumstances(r, circumstances, sizeof(circumstances));
	if (!again && read_kept(r, circumstances))
		return;
	look(r, true);
	keep(r, circumstances);
}

void doctor_digest(const enum finding_state *states, char ret_hex[65])
{
	char text[DOCTOR_CHECKS_MAX * 32] = "";
	unsigned char digest[32] = {0};
	size_t used = 0;

	for (size_t i = 0; doctor_checks[i].name && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %s\n",
					 finding_state_names[states[i]], doctor_checks[i].name);
	EVP_Digest(text, strlen(text), digest, NULL, EVP_sha256(), NULL);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(ret_hex + 2 * i, 3, "%02x", digest[i]);
}

int doctor_report_new(const struct doctor_subject *subject, struct doctor_report **ret_report)
{
	struct doctor_report *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->subject = *subject;
	look(r, false);
	try_all(r, false);
	r->looked_ns = now_ns();
	doctor_digest(r->states, r->digest);
	*ret_report = r;
	return 0;
}

void doctor_report_free(struct doctor_report *report)
{
	free(report);
}

void doctor_report_refresh(struct doctor_report *r)
{
	uint64_t now = now_ns();

	if (now - r->looked_ns < REFRESH_NS)
		return;
	r->looked_ns = now;
	if (!look(r, false))
		return;
	try_all(r, true);
	doctor_digest(r->states, r->digest);
}

bool doctor_report_lacks(struct doctor_report *r, const char **ret_name,
			 struct finding *ret_finding)
{
	bool is_mended = false, lacks = false;

	for (size_t i = 0; doctor_checks[i].name && !lacks; i++) {
		struct finding f = {0};

		if (r->states[i] != FINDING_MISSING)
			continue;
		doctor_checks[i].look(&r->subject, &f);
		lacks = f.state == FINDING_MISSING;
		is_mended |= !lacks;
		r->states[i] = f.state;
		*ret_name = doctor_checks[i].name;
		*ret_finding = f;
	}
	if (is_mended) {
		try_all(r, true);
		doctor_digest(r->states, r->digest);
	}
	return lacks;
}

const char *doctor_report_digest(const struct doctor_report *report)
{
	return report->digest;
}

json_t *doctor_report_degraded(const struct doctor_report *r)
{
	cleanup(json) json_t *names = json_array();

	for (size_t i = 0; names && doctor_checks[i].name; i++)
		if (r->states[i] != FINDING_OK)
			json_array_append_new(names, json_string(doctor_checks[i].name));
	return take(names);
}
