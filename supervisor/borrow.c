/*
 * A state directory is made with what the user may have: the user's own records, and what everybody
 * may read (the ledger, public keys).
 */
#include "borrow.h"

#include "announce.h"
#include "connection.h"
#include "mirror.h"
#include "record/cleanup.h"
#include "record/jansson_cleanup.h"
#include "record/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define QUERY_MOST 4096
#define LOOK_MS 200
#define STATUS_REFUSED 1
#define COPY_NAME "/vitrine-own-XXXXXX"

struct borrowed {
	char root[PATH_MAX - 64]; /* what is removed in the end; "": nothing yet */
	char state[PATH_MAX];	  /* below it */
	int state_fd, sessions_fd, socket;
	struct mirror **mirrors;
	size_t count, room;
	int keeper; /* our end of its pipe; -1: it is not there */
	pid_t keeper_pid;
};

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *place)
{
	(void)st, (void)type, (void)place;
	remove(path);
	return 0;
}

static void free_borrowed(struct borrowed *b)
{
	for (size_t i = 0; i < b->count; i++)
		mirror_free(b->mirrors[i]);
	free(b->mirrors);
	for (int *fd = (int[]){b->state_fd, b->sessions_fd, b->socket, -2}; *fd != -2; fd++)
		if (*fd >= 0)
			close(*fd);
	free(b);
}

void borrow_end(struct borrowed *b)
{
	if (!b)
		return;
	if (b->keeper >= 0) {
		close(b->keeper);
		waitpid(b->keeper_pid, NULL, 0);
	} else if (b->root[0]) {
		nftw(b->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	}
	free_borrowed(b);
}

/* ---- the place ---- */

/* What everybody may read, for who verifies. */
static int copy_public(const char *from, const char *to)
{
	cleanup(fclose) FILE *in = fopen(from, "re"), *out = NULL;
	char room[65536];
	size_t n;

	if (!in)
		return 0;
	out = fopen(to, "wxe");
	if (!out)
		return -errno;
	while ((n = fread(room, 1, sizeof(room), in)) > 0)
		if (fwrite(room, 1, n, out) != n)
			return -EIO;
	return fflush(out) || ferror(in) ? -EIO : 0;
}

/* Notes are the user's own: they stay when the copy goes. */
static void link_notes(const struct borrowed *b)
{
	const char *home = getenv("HOME"), *given = getenv("XDG_STATE_HOME");
	char path[PATH_MAX], *end;

	if (given && *given == '/')
		snprintf(path, sizeof(path), "%s/vitrine/notes", given);
	else if (home && *home == '/')
		snprintf(path, sizeof(path), "%s/.local/state/vitrine/notes", home);
	else
		return;
	for (end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
		*end = 0;
		mkdir(path, 0700);
		*end = '/';
	}
	mkdir(path, 0700);
	if (symlinkat(path, b->state_fd, "notes") < 0)
		return; /* then they go with the copy */
}

static int make_place(struct borrowed *b, const char *state)
{
	const char *dir = getenv("TMPDIR");
	size_t length = strlen(state);
	char from[PATH_MAX], to[PATH_MAX + 16];
	int r;

	while (length > 1 && state[length - 1] == '/')
		length--;
	if (snprintf(b->root, sizeof(b->root), "%s" COPY_NAME, dir && *dir ? dir : "/tmp") >=
		    (int)sizeof(b->root) ||
	    length + sizeof(LEDGER_FILE) + 8 > sizeof(from))
		return b->root[0] = 0, -ENAMETOOLONG;
	if (!mkdtemp(b->root))
		return b->root[0] = 0, -errno;
	snprintf(b->state, sizeof(b->state), "%s/own", b->root);
	if (mkdir(b->state, 0700) < 0)
		return -errno;
	b->state_fd = open(b->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (b->state_fd < 0 || mkdirat(b->state_fd, "sessions", 0700) < 0)
		return -errno;
	b->sessions_fd = openat(b->state_fd, "sessions", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (b->sessions_fd < 0)
		return -errno;
	link_notes(b);
	snprintf(from, sizeof(from), "%.*s/" LEDGER_FILE, (int)length, state);
	snprintf(to, sizeof(to), "%s/" LEDGER_FILE, b->state);
	r = copy_public(from, to);
	snprintf(from, sizeof(from), "%.*s.pub", (int)length, state);
	snprintf(to, sizeof(to), "%s.pub", b->state);
	return r < 0 ? r : copy_public(from, to);
}

/* ---- what is there ---- */

static int put_manifest(const struct borrowed *b, const json_t *manifest)
{
	const char *id = json_string_value(json_object_get(manifest, "id"));
	char path[SESSION_ID_LENGTH + sizeof(MANIFEST_FILE) + 2];

	if (!id || !session_id_is_valid(id))
		return -EBADMSG;
	if (mkdirat(b->sessions_fd, id, 0700) < 0)
		return -errno;
	snprintf(path, sizeof(path), "%s/" MANIFEST_FILE, id);
	cleanup(close_fd) int fd = openat(
		b->sessions_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 || json_dumpfd(manifest, fd, JSON_COMPACT) < 0 ? -EIO : 0;
}

/* The manifests of all records of the user's. */
static int list(struct borrowed *b, struct fault *f)
{
	char after[SESSION_ID_LENGTH + 1] = "";
	bool has_more = true;

	while (has_more) {
		struct control_message page;
		const json_t *manifest;
		const char *next;
		size_t i;
		int r = connection_ask(
			b->socket,
			json_pack("{s:s, s:s}", "request", "record.list", "after", after), &page,
			f);

		if (r < 0)
			return r;
		json_array_foreach (json_object_get(page.body, "records"), i, manifest)
			r = r < 0 ? r : put_manifest(b, manifest);
		next = json_string_value(json_object_get(page.body, "next"));
		has_more = next && strcmp(next, after) > 0;
		snprintf(after, sizeof(after), "%s", has_more ? next : "");
		control_message_free(&page);
		if (r < 0)
			return fault_set(f, r, "copy", "%s: %s", b->state, strerror(-r));
	}
	return 0;
}

/* ---- the records ---- */

static int fetch(struct borrowed *b, const char *id, const char *query, struct fault *f)
{
	struct mirror **larger;
	int r;

	if (b->count == b->room) {
		larger = reallocarray(b->mirrors, b->room ? 2 * b->room : 8, sizeof(*larger));
		if (!larger)
			return fault_set(f, -ENOMEM, "no_memory", "out of memory");
		b->mirrors = larger;
		b->room = b->room ? 2 * b->room : 8;
	}
	r = mirror_new(b->socket, b->sessions_fd, id, query, &b->mirrors[b->count], f);
	b->count += r == 0;
	return r;
}

static int fetch_all(struct borrowed *b, const char *query, struct fault *f)
{
	struct manifest *all = NULL;
	size_t count = 0, unreadable = 0;
	int r = store_list(b->state_fd, &all, &count, &unreadable);

	if (r < 0)
		fault_set(f, r, "copy", "%s: %s", b->state, strerror(-r));
	for (size_t i = 0; r == 0 && i < count; i++)
		r = fetch(b, all[i].id, query, f);
	store_list_free(all, count);
	return r;
}

static int fetch_named(struct borrowed *b, const char *what, const char *query, struct fault *f)
{
	cleanup(close_fd) int dir_fd = -1;
	struct manifest m;
	char id[SESSION_ID_LENGTH + 1];
	int r = store_find(b->state_fd, what, &m, &dir_fd);

	if (r == -ENOENT)
		return fault_set(f, -EACCES, "forbidden",
				 "you have no record called %s; those of other users are read by "
				 "root, and by the group that readers_group of vitrined(8) names",
				 what);
	if (r < 0)
		return r == -ENOTUNIQ ? 0 /* the command says so */
				      : fault_set(f, r, "copy", "%s: %s", what, strerror(-r));
	memcpy(id, m.id, sizeof(id));
	manifest_free(&m);
	return fetch(b, id, query, f);
}

static int fetch_what_is_read(struct borrowed *b, const struct command *c, int count,
			      char **arguments, struct fault *f)
{
	char query[QUERY_MOST];
	int named = announce_named(c), r = list(b, f);

	announce_query(c, count, arguments, query, sizeof(query));
	if (r == 0 && c->reads == COMMAND_READS_ALL)
		return fetch_all(b, query, f);
	for (int i = 0; r == 0 && i < named && i < count; i++)
		if (!announce_is_path(arguments[i]))
			r = fetch_named(b, arguments[i], query, f);
	return r;
}

/* ---- the process beside ---- */

static void go_on(struct borrowed *b)
{
	struct fault f;

	for (size_t i = 0; i < b->count; i++)
		if (mirror_is_live(b->mirrors[i]) && mirror_go_on(b->mirrors[i], &f) < 0)
			b->count = i; /* vitrined is gone: nothing comes any more */
}

static _Noreturn void keep(struct borrowed *b, int pipe_fd)
{
	struct pollfd over = {.fd = pipe_fd, .events = POLLIN};
	bool is_live = true;

	setsid();
	signal(SIGPIPE, SIG_IGN);
	while (poll(&over, 1, is_live ? LOOK_MS : -1) <= 0) {
		go_on(b);
		is_live = false;
		for (size_t i = 0; i < b->count; i++)
			is_live |= mirror_is_live(b->mirrors[i]);
	}
	nftw(b->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	_exit(0);
}

static int start_keeper(struct borrowed *b)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	b->keeper_pid = fork();
	if (b->keeper_pid == 0) {
		close(ends[1]);
		keep(b, ends[0]);
	}
	close(ends[0]);
	if (b->keeper_pid < 0) {
		close(ends[1]);
		return -errno;
	}
	b->keeper = ends[1];
	return 0;
}

/* ---- whether ---- */

/* The state directory is there, we may not list its records, and a vitrined serves it. */
static bool has_to(const char *state, int *ret_socket)
{
	cleanup(close_fd) int state_fd = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(close_fd) int sessions_fd =
		state_fd < 0 ? -1
			     : openat(state_fd, "sessions", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return state_fd >= 0 && sessions_fd < 0 && errno == EACCES &&
	       announce_connect(state_fd, ret_socket) == 0;
}

static bool reads_records(const struct command *c, int count, char **arguments)
{
	int named = announce_named(c);

	if (c->reads == COMMAND_READS_LIST || c->reads == COMMAND_READS_ALL)
		return true;
	for (int i = 0; i < named && i < count; i++)
		if (!announce_is_path(arguments[i]))
			return true;
	return false;
}

static void set_state(const struct command *c, void *values, const char *state)
{
	for (const struct command_option *o = c->options; o && o->name; o++)
		if (!strcmp(o->name, "state"))
			memcpy((char *)values + o->offset, &state, sizeof(state));
}

/* Until there is a process that removes the copy, nothing but SIGKILL takes this one away. */
static void hold_signals(sigset_t *ret_before)
{
	sigset_t held;

	sigemptyset(&held);
	for (const int *s = (const int[]){SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0}; *s; s++)
		sigaddset(&held, *s);
	sigprocmask(SIG_BLOCK, &held, ret_before);
}

int borrow(const struct command *c, void *values, int argument_count, char **arguments,
	   struct borrowed **ret_borrowed)
{
	const char *state = announce_state(c, values);
	cleanup(close_fd) int socket = -1;
	struct borrowed *b;
	struct fault f = {0};
	sigset_t before;
	int r;

	if (geteuid() == 0 || !state || !reads_records(c, argument_count, arguments) ||
	    !has_to(state, &socket))
		return 0;
	b = calloc(1, sizeof(*b));
	if (!b)
		return STATUS_REFUSED;
	b->state_fd = b->sessions_fd = b->keeper = -1;
	b->socket = take_fd(socket);
	hold_signals(&before);
	r = make_place(b, state);
	if (r < 0)
		fault_set(&f, r, "copy", "cannot make a place for the record in $TMPDIR: %s",
			  strerror(-r));
	if (r == 0)
		r = fetch_what_is_read(b, c, argument_count, arguments, &f);
	if (r == 0)
		r = start_keeper(b);
	if (r == 0)
		sigprocmask(SIG_SETMASK, &before, NULL);
	if (r < 0) {
		fprintf(stderr, "vitrine %s: %s%s%s\n", c->name, f.code ? f.code : "",
			f.code ? ": " : "", f.text[0] ? f.text : strerror(-r));
		borrow_end(b);
		sigprocmask(SIG_SETMASK, &before, NULL);
		return STATUS_REFUSED;
	}
	set_state(c, values, b->state);
	*ret_borrowed = b;
	return 0;
}
