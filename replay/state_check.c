/*
 * Walks the ledger of a state directory: each session that was opened has to be there, and each
 * that is there has to have been opened.
 */
#include "state_check.h"
#include "removals.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/ledger_write.h"
#include "../supervisor/record/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

struct walk {
	int sessions_fd;
	struct book book;
	struct verify_options options;
	struct removals removals;
	state_check_told *told;
	void *context;
	enum verdict worst;
	struct verify_result ledger;
};

static void cleanup_walk(struct walk *w)
{
	removals_free(&w->removals);
	book_free(&w->book);
	if (w->sessions_fd >= 0)
		close(w->sessions_fd);
}

static void tell(struct walk *w, const char *session, const struct verify_result *result)
{
	if (verdict_is_worse(result->verdict, w->worst))
		w->worst = result->verdict;
	w->told(w->context, session, result);
}

static int check_session(struct walk *w, const char *id)
{
	cleanup(close_fd) int fd =
		openat(w->sessions_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct verify_result result;
	int r;

	if (fd < 0)
		return -errno;
	w->options.session = id;
	r = verify_session(fd, &w->options, &result);
	if (r)
		return r;
	tell(w, id, &result);
	return 0;
}

static int check_sessions(struct walk *w)
{
	int fd = openat(w->sessions_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup(closedir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return -errno;
	while (!r && (errno = 0, entry = readdir(dir)))
		if (session_id_is_valid(entry->d_name))
			r = check_session(w, entry->d_name);
	return r ? r : -errno;
}

/* A session that was opened is there, or its absence is told as what it is. */
static void check_line(struct walk *w, const struct ledger_line *line)
{
	const char *slash = strrchr(line->name, '/');
	const char *id = slash ? slash + 1 : "";
	struct verify_result gone = {0};
	bool has_ended = line->kind == LEDGER_END;

	if ((line->kind != LEDGER_OPEN && !has_ended) || !session_id_is_valid(id) ||
	    !faccessat(w->sessions_fd, id, F_OK, AT_SYMLINK_NOFOLLOW))
		return;
	if (!has_ended && book_find(&w->book, LEDGER_END, line->name))
		return; /* told at its end */
	if (removals_judge(&w->removals, &w->book, line->name, &gone)) {
		tell(w, id, &gone);
		return;
	}
	verify_judge(&gone, has_ended ? VERIFY_TAMPERED : VERIFY_INCOMPLETE,
		     has_ended ? "the session ended and its record is gone"
			       : "the session was opened and has no record");
	tell(w, id, &gone);
}

/* The key that signs the next line knows how long the ledger was; who cut it cannot go back. */
static void check_length(struct walk *w, const char *state)
{
	uint8_t public[SIGN_PUBLIC_SIZE];
	uint64_t index;
	int r = ledger_key(state, &index, public);

	if (r == -EKEYREJECTED)
		verify_judge(
			&w->ledger, VERIFY_TAMPERED,
			"the ledger does not end where the host's key is: it was cut or forged");
}

static void check_ledger(struct walk *w, const char *state)
{
	const struct book *book = &w->book;

	if (book->bad_line)
		verify_judge(&w->ledger, VERIFY_TAMPERED, "line %" PRIu64 " of the ledger: %s",
			     book->bad_line, book->why);
	if (book->is_foreign)
		verify_judge(&w->ledger, VERIFY_TAMPERED,
			     "the ledger was signed by another key than the one that is trusted");
	if (!book->count)
		verify_judge(&w->ledger, VERIFY_UNKNOWN, "there is no ledger");
	else if (!book->lines[0].is_trusted)
		verify_judge(&w->ledger, VERIFY_UNKNOWN,
			     "no key was given that vouches for the beginning of the ledger");
	for (size_t i = 1; i < book->count; i++)
		if (book->lines[i].line.kind == LEDGER_START && !book->lines[i].is_trusted)
			verify_judge(&w->ledger, VERIFY_UNKNOWN,
				     "nothing vouches for the key of line %zu of the ledger",
				     i + 1);
	check_length(w, state);
	removals_judge_acts(&w->removals, &w->ledger);
	w->ledger.records = book->count;
	for (size_t i = 0; i < book->count; i++)
		check_line(w, &book->lines[i].line);
	if (verdict_is_worse(w->ledger.verdict, w->worst))
		w->worst = w->ledger.verdict;
}

int state_check(int state_fd, const char *state, const struct trusted_keys *keys, uint64_t now_ns,
		state_check_told *told, void *context, enum verdict *ret_worst,
		struct verify_result *ret_ledger)
{
	cleanup(walk) struct walk w = {
		.sessions_fd = openat(state_fd, "sessions",
				      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
		.options = {.keys = keys, .is_own = true, .now_ns = now_ns},
		.told = told,
		.context = context,
	};
	int r;

	if (w.sessions_fd < 0)
		return -errno;
	r = book_read(state_fd, LEDGER_FILE, keys, &w.book);
	if (r && r != -ENOENT)
		return r;
	w.options.book = r ? NULL : &w.book;
	r = removals_read(state_fd, &w.book, &w.removals);
	if (r == 0)
		r = check_sessions(&w);
	if (r)
		return r;
	check_ledger(&w, state);
	*ret_worst = w.worst;
	*ret_ledger = w.ledger;
	return 0;
}
