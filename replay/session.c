/*
 * Opens a session by any of its names, and tells a running one from one whose supervisor died.
 */
#include "session.h"

#include "bundle.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#define STAT_START 22 /* field of /proc/<pid>/stat: start of the process, in ticks since boot */

/* The start time of process @pid. 0 or -errno (-ENODATA: not to be read in what /proc says). */
static int process_start(int64_t pid, uint64_t *ret_start)
{
	char path[64], text[1024];
	cleanup(close_fd) int fd = -1;
	uint64_t start = 0;
	char *at;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;

	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;

	text[n] = 0;
	at = strrchr(text, ')'); /* field 2 ends here, whatever the name holds */
	for (int field = 2; at && field < STAT_START; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (!at)
		return -ENODATA;
	while (*at >= '0' && *at <= '9')
		start = start * 10 + (uint64_t)(*at++ - '0');
	*ret_start = start;
	return 0;
}

bool manifest_is_alive(const struct manifest *m)
{
	uint64_t start = 0;

	if (m->supervisor_pid <= 0 || m->supervisor_pid > INT32_MAX)
		return false;
	if (kill((pid_t)m->supervisor_pid, 0) < 0 && errno == ESRCH)
		return false;
	/* A /proc that hides other users' processes says nothing: then the pid must do. */
	return process_start(m->supervisor_pid, &start) < 0 || start == m->supervisor_start;
}

const char *manifest_state_name(const struct manifest *m)
{
	if (m->state == SESSION_ENDED)
		return "ended";
	if (!manifest_is_alive(m))
		return "lost";
	return m->state == SESSION_STARTING ? "starting" : "running";
}

const char *manifest_reason(const struct manifest *m)
{
	if (m->state == SESSION_ENDED)
		return m->reason;
	return manifest_is_alive(m) ? NULL : "supervisor_lost";
}

int state_open(const char *state, const char *called, FILE *errors, int *ret_fd)
{
	struct printable printable = printable_for(errors, 0);
	int fd = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		int r = -errno;

		fprintf(errors, "%s: cannot open the state directory ", called);
		printable_word(errors, &printable, bytes_of(state));
		fprintf(errors, ": %s\n", strerror(-r));
		return r;
	}
	*ret_fd = fd;
	return 0;
}

static void say_not_found(FILE *errors, const char *called, const char *state, const char *what,
			  int r)
{
	struct printable printable = printable_for(errors, 200);

	fprintf(errors, "%s: ", called);
	if (r == -ENOTUNIQ)
		fputs("more than one session is called ", errors);
	else if (r == -ENOENT)
		fputs("there is no session ", errors);
	else
		fputs("cannot open session ", errors);
	printable_word(errors, &printable, bytes_of(what));
	fputs(" in ", errors);
	printable_word(errors, &printable, bytes_of(state));
	if (r == -ENOTUNIQ)
		fputs("; give more of its id", errors);
	else if (r != -ENOENT)
		fprintf(errors, ": %s", strerror(-r));
	fputc('\n', errors);
}

/* Hand @s over: it holds nothing any more. */
static struct session session_take(struct session *s)
{
	struct session taken = *s;

	*s = SESSION_NONE;
	return taken;
}

bool session_is_path(const char *what)
{
	size_t length = strlen(what);

	return strchr(what, '/') || (length > 4 && !strcmp(what + length - 4, ".tar"));
}

static int open_in_state(struct session *s, const char *state, const char *what, const char *called,
			 FILE *errors)
{
	cleanup(close_fd) int state_fd = -1;
	int r = state_open(state, called, errors, &state_fd);

	if (r < 0)
		return r;
	r = store_find(state_fd, what, &s->manifest, &s->dir_fd);
	if (r < 0)
		say_not_found(errors, called, state, what, r);
	return r;
}

static int open_bundle(struct session *s, FILE *in)
{
	int r = scratch_make(s->scratch, sizeof(s->scratch));

	if (!r) {
		s->dir_fd = open(s->scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = s->dir_fd < 0 ? -errno : bundle_unpack(in, s->dir_fd);
	}
	if (!r)
		r = manifest_read(s->dir_fd, &s->manifest);
	s->manifest.supervisor_pid = 0; /* it was one of another host */
	return r;
}

static int open_path(struct session *s, const char *what, const char *called, FILE *errors)
{
	struct printable printable = printable_for(errors, 200);
	cleanup(fclose) FILE *in = fopen(what, "re");
	struct stat st;
	int r;

	if (!in || fstat(fileno(in), &st)) {
		r = -errno;
	} else if (S_ISDIR(st.st_mode)) {
		s->dir_fd = open(what, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = s->dir_fd < 0 ? -errno : manifest_read(s->dir_fd, &s->manifest);
	} else {
		r = open_bundle(s, in);
	}
	if (r) {
		fprintf(errors, "%s: ", called);
		printable_word(errors, &printable, bytes_of(what));
		fprintf(errors, ": %s\n",
			r == -EBADMSG ? "neither a whole bundle nor the directory of a session; "
					"'vitrine verify' says more"
				      : strerror(-r));
	}
	return r;
}

int session_open(const char *state, const char *what, const char *called, FILE *errors,
		 struct session *ret_session)
{
	cleanup(session) struct session s = SESSION_NONE;
	int r = session_is_path(what) ? open_path(&s, what, called, errors)
				      : open_in_state(&s, state, what, called, errors);

	if (r < 0)
		return r;
	r = reader_open(s.dir_fd, &s.reader);
	if (r < 0) {
		fprintf(errors, "%s: session %s: cannot read its journal: %s\n", called,
			s.manifest.id, r == -ENOENT ? "it has none" : strerror(-r));
		return r;
	}
	*ret_session = session_take(&s);
	return 0;
}

void session_close(struct session *s)
{
	reader_free(s->reader);
	manifest_free(&s->manifest);
	if (s->dir_fd >= 0)
		close(s->dir_fd);
	scratch_remove(s->scratch);
	*s = SESSION_NONE;
}
