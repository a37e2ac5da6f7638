/*
 * A host of a test's own: a state directory with a ledger and signed sessions, whose files can be
 * bent and verified.
 */
#pragma once

#include "replay/verify.h"
#include "sample.h"
#include "scratch.h"
#include "supervisor/record/journal.h"
#include "supervisor/record/ledger_write.h"
#include "supervisor/record/reader.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>
/* cmocka wants the two above */
#include <cmocka.h>

#define SESSION_A "aaaaaaaaaaaa"
#define SESSION_B "bbbbbbbbbbbb"

struct host_world {
	struct scratch root;
	char state[96], key[96];
};

static inline struct host_world host_new(void)
{
	struct host_world h = {.root = scratch_new()};

	snprintf(h.state, sizeof(h.state), "%s/state", h.root.path);
	snprintf(h.key, sizeof(h.key), "%s/state.pub", h.root.path);
	if (mkdirat(h.root.fd, "state", 0755) || mkdirat(h.root.fd, "state/sessions", 0755))
		abort();
	return h;
}

static inline void host_free(struct host_world *h)
{
	scratch_free(&h->root);
}

/* The directory of session @id, made if it is not there. */
static inline struct scratch host_session(const struct host_world *h, const char *id)
{
	struct scratch s = {0};
	char path[64];

	snprintf(path, sizeof(path), "state/sessions/%s", id);
	if (mkdirat(h->root.fd, path, 0755) && errno != EEXIST)
		abort();
	s.fd = openat(h->root.fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return s;
}

/* Open the journal of @id with a key that the ledger vouches for, as vitrined does. */
static inline struct journal *host_open(const struct host_world *h, const char *id,
					const struct journal_options *options)
{
	struct journal_options all = options ? *options : (struct journal_options){0};
	struct scratch dir = host_session(h, id);
	uint8_t seed[SIGN_SEED_SIZE], public[SIGN_PUBLIC_SIZE];
	char name[LEDGER_NAME_MAX], line[LEDGER_LINE_MAX];
	struct journal *j;

	ledger_name(id, name);
	if (sign_seed(seed) || sign_public(seed, public) ||
	    ledger_add(h->state, LEDGER_OPEN, name, public, false, line))
		abort();
	all.session = id;
	all.key = &(struct checkpoints_key){.origin = name, .opened = line, .seed = seed};
	if (journal_open(dir.fd, &all, &j))
		abort();
	close(dir.fd);
	return j;
}

static inline void host_append(struct journal *j, enum event_kind kind)
{
	uint64_t seq = journal_next_seq(j);
	struct redacted record;

	event_init(&record.event, kind, 1000000 * seq, 1000 * seq);
	if (kind == EVENT_file_open) {
		event_put_u64(&record.event, FIELD_pid, seq);
		event_put_text(&record.event, FIELD_path, "/workspace/file");
	}
	if (journal_append(j, &record, NULL))
		abort();
}

static inline void host_end(const struct host_world *h, const char *id, struct journal *j)
{
	char name[LEDGER_NAME_MAX];
	uint8_t note[HASH_SIZE];

	ledger_name(id, name);
	if (journal_close_noted(j, note) ||
	    ledger_add(h->state, LEDGER_END, name, note, true, NULL))
		abort();
}

/* Append @count records; a checkpoint behind each @every of them. */
static inline void host_fill(struct journal *j, size_t count, size_t every)
{
	static uint64_t now_ns;

	for (size_t i = 1; i <= count; i++) {
		host_append(j, EVENT_file_open);
		if (i % every == 0 && journal_flush(j, now_ns += 2000000000))
			abort();
	}
}

/* A whole session of @count records. */
static inline void host_record(const struct host_world *h, const char *id, size_t count,
			       const struct journal_options *options)
{
	struct journal *j = host_open(h, id, options);

	host_fill(j, count - 1, 4);
	host_append(j, EVENT_session_end);
	host_end(h, id, j);
}

static inline uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Verify session @id, @late_ns from now, with an anchor if there is one. */
static inline struct verify_result host_verify_at(const struct host_world *h, const char *id,
						  uint64_t late_ns, const struct note *anchor)
{
	struct scratch dir = host_session(h, id);
	struct trusted_keys keys = {0};
	struct book book = {0};
	struct verify_result result;
	int state_fd = open(h->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int has_book;

	if (trusted_keys_read(&keys, h->key))
		abort();
	has_book = book_read(state_fd, LEDGER_FILE, &keys, &book) == 0;
	if (verify_session(dir.fd,
			   &(struct verify_options){
				   .keys = &keys,
				   .book = has_book ? &book : NULL,
				   .is_own = true,
				   .session = id,
				   .anchor = anchor,
				   .now_ns = wall_ns() + late_ns,
			   },
			   &result))
		abort();
	book_free(&book);
	trusted_keys_free(&keys);
	close(state_fd);
	close(dir.fd);
	return result;
}

static inline struct verify_result host_verify(const struct host_world *h, const char *id)
{
	return host_verify_at(h, id, 0, NULL);
}
