/*
 * Finds what is to be verified. Keys are never taken from where the evidence is: a forger would put
 * his own there.
 */
#include "evidence.h"
#include "bundle.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/printable.h"
#include "../supervisor/record/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

void evidence_close(struct evidence *e)
{
	if (e->dir_fd >= 0)
		close(e->dir_fd);
	trusted_keys_free(&e->keys);
	book_free(&e->book);
	scratch_remove(e->scratch);
	*e = EVIDENCE_NONE;
}

static int fail(FILE *errors, const char *called, const char *what, int r)
{
	struct printable printable = printable_for(errors, 200);

	fprintf(errors, "%s: ", called);
	printable_word(errors, &printable, bytes_of(what));
	fprintf(errors, ": %s\n", strerror(-r));
	return r;
}

int evidence_read_keys(const char *key, const char *state, const char *called, FILE *errors,
		       struct trusted_keys *ret_keys)
{
	char beside[PATH_MAX];
	size_t length = strlen(state);
	int r;

	while (length > 1 && state[length - 1] == '/')
		length--;
	if (!key &&
	    snprintf(beside, sizeof(beside), "%.*s.pub", (int)length, state) >= (int)sizeof(beside))
		return fail(errors, called, state, -ENAMETOOLONG);
	r = trusted_keys_read(ret_keys, key ? key : beside);
	ret_keys->is_given = key != NULL;
	if (r && (key || r != -ENOENT))
		return fail(errors, called, key ? key : beside, r);
	return 0;
}

static int read_book(struct evidence *e, int dir_fd, const char *name)
{
	int r = book_read(dir_fd, name, &e->keys, &e->book);

	e->has_book = r == 0;
	return r == -ENOENT ? 0 : r;
}

static int open_named(struct evidence *e, const char *what, const char *state, const char *called,
		      FILE *errors)
{
	cleanup(close_fd) int state_fd = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct manifest m;
	int r;

	if (state_fd < 0)
		return fail(errors, called, state, -errno);
	r = store_find(state_fd, what, &m, &e->dir_fd);
	if (r)
		return fail(errors, called, what, r);
	memcpy(e->session, m.id, sizeof(m.id));
	manifest_free(&m);
	r = read_book(e, e->dir_fd, LEDGER_FILE);
	if (e->has_book)
		e->is_own = e->keys.is_given; /* it came from another host */
	else if (!r)
		r = read_book(e, state_fd, LEDGER_FILE);
	return r ? fail(errors, called, LEDGER_FILE, r) : 0;
}

/* A directory below "sessions" of a state directory has that one's ledger; any other its own. */
static int open_directory(struct evidence *e, const char *what, const char *called, FILE *errors)
{
	char path[PATH_MAX];
	const char *slash;
	int r;

	e->dir_fd = open(what, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (e->dir_fd < 0 || !realpath(what, path))
		return fail(errors, called, what, -errno);
	slash = strrchr(path, '/');
	if (slash && session_id_is_valid(slash + 1))
		memcpy(e->session, slash + 1, SESSION_ID_LENGTH + 1);
	r = read_book(e, e->dir_fd, LEDGER_FILE);
	if (!r && !e->has_book)
		r = read_book(e, e->dir_fd, "../../" LEDGER_FILE);
	return r ? fail(errors, called, LEDGER_FILE, r) : 0;
}

/* Unpacked where nobody else looks, and removed again. */
static int open_bundle(struct evidence *e, const char *what, const char *called, FILE *errors)
{
	cleanup(fclose) FILE *in = fopen(what, "re");
	int r = in ? scratch_make(e->scratch, sizeof(e->scratch)) : -errno;

	if (!r)
		e->dir_fd = open(e->scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!r && e->dir_fd < 0)
		r = -errno;
	if (!r)
		r = bundle_unpack(in, e->dir_fd);
	if (r == -EBADMSG)
		e->is_bent = true;
	else if (r)
		return fail(errors, called, what, r);
	e->is_bundle = true;
	r = read_book(e, e->dir_fd, LEDGER_FILE);
	return r ? fail(errors, called, LEDGER_FILE, r) : 0;
}

int evidence_check_bundle(const struct evidence *e, struct verify_result *result)
{
	if (e->is_bent)
		verify_judge(result, VERIFY_TAMPERED,
			     "the bundle is not whole, or not one of ours");
	return e->is_bent ? 0 : bundle_check(e->dir_fd, &e->book, &e->keys, result);
}

int evidence_open(const char *what, const char *state, const char *key, const char *called,
		  FILE *errors, struct evidence *ret_evidence)
{
	cleanup(evidence) struct evidence e = EVIDENCE_NONE;
	struct stat st;
	bool is_file = !stat(what, &st) && S_ISREG(st.st_mode);
	bool is_path = is_file || strchr(what, '/') != NULL;
	int r = evidence_read_keys(key, state, called, errors, &e.keys);

	e.is_own = key || !is_path;

	if (!r)
		r = is_file   ? open_bundle(&e, what, called, errors)
		    : is_path ? open_directory(&e, what, called, errors)
			      : open_named(&e, what, state, called, errors);
	if (r)
		return r;
	*ret_evidence = e;
	e = EVIDENCE_NONE;
	return 0;
}
