/*
 * Whatever is done to a record without its keys is seen; what happens to an honest one is not held
 * against it.
 */
#include "signed_world.h"

#include "supervisor/record/segment.h"

#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define STEP 7 /* every so many places of an exhaustive test */
#else
#define STEP 1
#endif

#define RECORDS 16

static const struct journal_options small = {.segment_bytes = 1200, .block_bytes = 300};

#define FILES_MAX 16

struct file {
	char name[32];
	uint8_t *bytes;
	size_t size;
};

struct files {
	struct file list[FILES_MAX];
	size_t count;
};

static struct files read_files(const struct scratch *dir)
{
	struct files files = {0};
	DIR *d = fdopendir(openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *entry;

	while ((entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		struct file *f = &files.list[files.count++];
		snprintf(f->name, sizeof(f->name), "%.31s", entry->d_name);
		f->bytes = scratch_read(dir, f->name, &f->size);
	}
	closedir(d);
	return files;
}

static void write_files(const struct scratch *dir, const struct files *files)
{
	scratch_empty(dir->fd);
	for (size_t i = 0; i < files->count; i++)
		scratch_write(dir, files->list[i].name, files->list[i].bytes, files->list[i].size);
}

static void free_files(struct files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->list[i].bytes);
}

static struct file *find_file(struct files *files, const char *name)
{
	for (size_t i = 0; i < files->count; i++)
		if (!strcmp(files->list[i].name, name))
			return &files->list[i];
	abort();
}

static void assert_verdict(const struct verify_result *result, enum verdict verdict)
{
	if (result->verdict != verdict)
		print_error("%s: %s\n", verdict_names[result->verdict], result->why);
	assert_int_equal(result->verdict, verdict);
}

static void assert_session(const struct host_world *h, const char *id, enum verdict verdict)
{
	struct verify_result result = host_verify(h, id);

	assert_verdict(&result, verdict);
}

/* ---- honest records ---- */

static void whole_records_are_intact(void **state)
{
	static const struct journal_options kinds[] = {
		{0},
		{.segment_bytes = 1200, .block_bytes = 300},
		{.segment_bytes = 4096, .block_bytes = 300, .compress = true, .compress_least = 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct host_world h = host_new();
		struct verify_result result;

		host_record(&h, SESSION_A, 100, &kinds[i]);
		host_record(&h, SESSION_B, 3, &kinds[i]);
		result = host_verify(&h, SESSION_A);
		assert_verdict(&result, VERIFY_INTACT);
		assert_int_equal(result.records, 100);
		assert_int_equal(result.signed_records, 100);
		assert_true(result.checkpoints >= 25);
		assert_true(kinds[i].segment_bytes ? result.keys >= 2 : result.keys == 1);
		assert_session(&h, SESSION_B, VERIFY_INTACT);
		host_free(&h);
	}
}

static void a_live_record_is_incomplete_and_then_unknown(void **state)
{
	struct host_world h = host_new();
	struct journal *j = host_open(&h, SESSION_A, &small);
	struct verify_result result;

	(void)state;
	assert_session(&h, SESSION_A, VERIFY_INCOMPLETE);
	host_fill(j, 30, 4);
	assert_session(&h, SESSION_A, VERIFY_INCOMPLETE);
	result = host_verify_at(&h, SESSION_A, 2 * VERIFY_LIVE_NS, NULL);
	assert_verdict(&result, VERIFY_UNKNOWN);
	host_append(j, EVENT_session_end);
	host_end(&h, SESSION_A, j);
	assert_session(&h, SESSION_A, VERIFY_INTACT);
	host_free(&h);
}

/* A recorder that dies leaves any beginning of what it wrote since the last checkpoint; the next
 * one goes on, under a key of its own. */
static void a_crash_is_declared(void **state)
{
	(void)state;
	for (size_t cut = 0; cut < 160; cut += STEP) {
		struct host_world h = host_new();
		struct scratch dir = host_session(&h, SESSION_A);
		struct journal *j = host_open(&h, SESSION_A, NULL);
		struct files files;
		struct file *last;
		struct verify_result result;
		size_t kept;

		host_fill(j, 4, 4);
		free(scratch_read(&dir, "000000.vtj", &kept));
		host_append(j, EVENT_file_open);
		host_append(j, EVENT_file_open);
		assert_int_equal(journal_flush(j, 1), 0);
		files = read_files(&dir);
		journal_close(j);
		last = find_file(&files, "000000.vtj");
		if (last->size - kept > cut)
			last->size = kept + cut;
		if (cut % 3 == 0)
			find_file(&files, "checkpoints")->size -= cut % 20;
		write_files(&dir, &files);

		j = host_open(&h, SESSION_A, NULL);
		host_append(j, EVENT_session_end);
		host_end(&h, SESSION_A, j);
		result = host_verify(&h, SESSION_A);
		if (result.verdict == VERIFY_TAMPERED || result.verdict == VERIFY_UNKNOWN)
			fail_msg("cut %zu: %s", cut, result.why);
		assert_true(result.verdict == VERIFY_INCOMPLETE ||
			    (result.verdict == VERIFY_INTACT && !result.gaps));
		assert_int_equal(result.records, result.signed_records);
		free_files(&files);
		close(dir.fd);
		host_free(&h);
	}
}

static uint64_t stepping_ns(void *context)
{
	uint64_t *calls = context;

	return wall_ns() - *calls++ * 3600000000000;
}

static void a_step_of_the_clock_is_none_of_it(void **state)
{
	struct host_world h = host_new();
	uint64_t calls[64] = {0};
	struct journal_system system = journal_kernel;
	struct journal_options options = {.system = &system};

	(void)state;
	calls[0] = 5;
	system.time_ns = stepping_ns;
	system.context = calls;
	host_record(&h, SESSION_A, 30, &options);
	assert_session(&h, SESSION_A, VERIFY_INTACT);
	host_free(&h);
}

/* ---- bytes ---- */

static void every_byte_counts(void **state)
{
	static const struct journal_options kinds[] = {
		{.segment_bytes = 1200, .block_bytes = 300},
		{.segment_bytes = 1200, .block_bytes = 300, .compress = true, .compress_least = 1},
	};

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct host_world h = host_new();
		struct scratch dir = host_session(&h, SESSION_A);

		host_record(&h, SESSION_A, RECORDS, &kinds[k]);
		struct files files = read_files(&dir);
		for (size_t i = 0; i < files.count; i++) {
			struct file *f = &files.list[i];

			for (size_t at = 0; at < f->size; at += STEP) {
				uint8_t bit = (uint8_t)(1 << (at % 8));

				f->bytes[at] ^= bit;
				scratch_write(&dir, f->name, f->bytes, f->size);
				if (host_verify(&h, SESSION_A).verdict == VERIFY_INTACT)
					fail_msg("%s: byte %zu does not count", f->name, at);
				f->bytes[at] ^= bit;
			}
			scratch_write(&dir, f->name, f->bytes, f->size);
		}
		assert_session(&h, SESSION_A, VERIFY_INTACT);
		free_files(&files);
		close(dir.fd);
		host_free(&h);
	}
}

static void every_cut_is_seen(void **state)
{
	struct host_world h = host_new();
	struct scratch dir = host_session(&h, SESSION_A);

	(void)state;
	host_record(&h, SESSION_A, RECORDS, &small);
	struct files files = read_files(&dir);
	for (size_t i = 0; i < files.count; i++) {
		struct file *f = &files.list[i];

		for (size_t size = 0; size < f->size; size += STEP) {
			scratch_write(&dir, f->name, f->bytes, size);
			if (host_verify(&h, SESSION_A).verdict == VERIFY_INTACT)
				fail_msg("%s: cut to %zu", f->name, size);
			scratch_write(&dir, f->name, f->bytes + f->size - size, size);
			if (host_verify(&h, SESSION_A).verdict == VERIFY_INTACT)
				fail_msg("%s: front cut to %zu", f->name, size);
		}
		unlinkat(dir.fd, f->name, 0);
		assert_int_not_equal(host_verify(&h, SESSION_A).verdict, VERIFY_INTACT);
		scratch_write(&dir, f->name, f->bytes, f->size);
	}
	assert_session(&h, SESSION_A, VERIFY_INTACT);
	free_files(&files);
	close(dir.fd);
	host_free(&h);
}

/* ---- records, with every checksum and hash made anew ---- */

struct edit {
	uint64_t left_out, twice, swapped, changed; /* number of a record; 0: none */
	uint64_t last;				    /* 0: to the end */
	const char *session;			    /* NULL: the same */
};

static void put_record(struct journal *j, const struct event *e, bool is_changed)
{
	struct redacted record = {.event = *e};

	if (is_changed)
		event_put_text(&record.event, FIELD_path, "/workspace/elsewhere");
	if (journal_append(j, &record, NULL))
		abort();
}

static void put_edited(struct journal *j, const struct event *e, const struct edit *edit)
{
	if (e->seq == edit->left_out || (edit->last && e->seq > edit->last))
		return;
	put_record(j, e, e->seq == edit->changed);
	if (e->seq == edit->twice)
		put_record(j, e, false);
}

/* Write the journal in @from into @to as somebody would who has no key. */
static void forge(const struct scratch *from, const struct scratch *to, const struct edit *edit)
{
	struct journal_options options = small;
	struct reader *reader;
	struct journal *j;
	struct event e, kept;
	char *path = NULL;

	options.session = edit->session ? edit->session : SESSION_A;
	if (journal_open(to->fd, &options, &j) || reader_open(from->fd, &reader))
		abort();
	while (reader_next(reader, &e) == READER_RECORD) {
		if (e.seq == edit->swapped) {
			kept = e;
			path = strdup("/workspace/file");
			if (event_get(&kept, FIELD_path))
				event_put_text(&kept, FIELD_path, path);
			continue;
		}
		put_edited(j, &e, edit);
		if (edit->swapped && e.seq == edit->swapped + 1)
			put_edited(j, &kept, edit);
	}
	reader_free(reader);
	free(path);
	if (journal_close(j))
		abort();
}

static void assert_forged(const struct edit *edit, uint64_t first_bad)
{
	struct host_world h = host_new();
	struct scratch dir = host_session(&h, SESSION_A), forged = scratch_new();
	struct verify_result result;
	struct files files;
	uint8_t *notes;
	size_t size;

	host_record(&h, SESSION_A, RECORDS, &small);
	notes = scratch_read(&dir, "checkpoints", &size);
	forge(&dir, &forged, edit);
	files = read_files(&forged);
	write_files(&dir, &files);
	scratch_write(&dir, "checkpoints", notes, size);
	result = host_verify(&h, SESSION_A);
	assert_verdict(&result, VERIFY_TAMPERED);
	if (first_bad) {
		if (result.last_bad < first_bad)
			print_error("%s: want %d\n", result.why, (int)first_bad);
		assert_true(result.first_bad <= first_bad);
		assert_true(result.last_bad >= first_bad);
	}
	free(notes);
	free_files(&files);
	scratch_free(&forged);
	close(dir.fd);
	host_free(&h);
}

static void edits_are_seen_and_found(void **state)
{
	(void)state;
	for (uint64_t seq = 1; seq < RECORDS; seq++) {
		assert_forged(&(struct edit){.left_out = seq}, seq);
		assert_forged(&(struct edit){.twice = seq}, seq + 1);
		assert_forged(&(struct edit){.changed = seq}, seq);
		assert_forged(&(struct edit){.last = seq}, 0);
		if (seq + 1 < RECORDS)
			assert_forged(&(struct edit){.swapped = seq}, seq);
	}
	assert_forged(&(struct edit){0}, 0); /* the same records in other blocks */
	assert_forged(&(struct edit){.session = SESSION_B}, 0);
}

/* ---- checkpoints ---- */

/* Where the notes in @text begin, and at the end its size. */
static size_t note_places(const uint8_t *text, size_t size, size_t places[64])
{
	size_t count = 0, at = 0;
	struct note note;

	while (at < size) {
		places[count++] = at;
		at += (size_t)note_read((struct bytes){text + at, size - at}, &note);
	}
	places[count] = size;
	return count;
}

static void notes_cannot_be_left_out_doubled_or_swapped(void **state)
{
	struct host_world h = host_new();
	struct scratch dir = host_session(&h, SESSION_A);
	size_t size, places[64], count;
	uint8_t *text, *bent;

	(void)state;
	host_record(&h, SESSION_A, RECORDS, &small);
	text = scratch_read(&dir, "checkpoints", &size);
	bent = malloc(2 * size);
	count = note_places(text, size, places);
	assert_true(count >= 4);
	for (size_t i = 0; i < count; i++) {
		size_t length = places[i + 1] - places[i], rest = size - places[i + 1];

		memcpy(bent, text, places[i]);
		memcpy(bent + places[i], text + places[i + 1], rest);
		scratch_write(&dir, "checkpoints", bent, size - length);
		assert_session(&h, SESSION_A, VERIFY_TAMPERED);
		memcpy(bent, text, places[i + 1]);
		memcpy(bent + places[i + 1], text + places[i], size - places[i]);
		scratch_write(&dir, "checkpoints", bent, size + length);
		assert_session(&h, SESSION_A, VERIFY_TAMPERED);
	}
	free(bent);
	free(text);
	close(dir.fd);
	host_free(&h);
}

/* Sign it all again with keys of one's own. */
static void another_key_is_seen(void **state)
{
	struct host_world h = host_new(), other = host_new();
	struct scratch dir = host_session(&h, SESSION_A), forged = host_session(&other, SESSION_A);
	struct verify_result result;
	struct files files;
	uint8_t *ledger;
	size_t size;

	(void)state;
	host_record(&h, SESSION_A, RECORDS, &small);
	host_record(&other, SESSION_A, RECORDS, &small);
	files = read_files(&forged);
	write_files(&dir, &files);
	assert_session(&h, SESSION_A, VERIFY_TAMPERED);
	ledger = scratch_read(&other.root, "state/chain", &size);
	scratch_write(&h.root, "state/chain", ledger, size);
	result = host_verify(&h, SESSION_A);
	assert_verdict(&result, VERIFY_TAMPERED);
	free(ledger);
	free_files(&files);
	close(dir.fd);
	close(forged.fd);
	host_free(&other);
	host_free(&h);
}

static void files_of_another_session_are_seen(void **state)
{
	struct host_world h = host_new();
	struct scratch a = host_session(&h, SESSION_A), b = host_session(&h, SESSION_B);

	(void)state;
	host_record(&h, SESSION_A, RECORDS, &small);
	host_record(&h, SESSION_B, RECORDS, &small);
	struct files ours = read_files(&a), theirs = read_files(&b);
	for (size_t i = 0; i < theirs.count; i++) {
		/* Of the same records the hashes are the same, too. */
		if (theirs.list[i].size == ours.list[i].size &&
		    !memcmp(theirs.list[i].bytes, ours.list[i].bytes, ours.list[i].size))
			continue;
		write_files(&a, &ours);
		scratch_write(&a, theirs.list[i].name, theirs.list[i].bytes, theirs.list[i].size);
		assert_session(&h, SESSION_A, VERIFY_TAMPERED);
	}
	write_files(&a, &theirs);
	assert_session(&h, SESSION_A, VERIFY_TAMPERED);
	write_files(&a, &ours);
	assert_session(&h, SESSION_A, VERIFY_INTACT);
	free_files(&ours);
	free_files(&theirs);
	close(a.fd);
	close(b.fd);
	host_free(&h);
}

/* The end of journal and checkpoints thrown away together: the ledger knows of it, and so does who
 * kept a checkpoint. */
static void a_cut_of_all_is_seen(void **state)
{
	struct host_world h = host_new();
	struct scratch dir = host_session(&h, SESSION_A);
	struct journal *j = host_open(&h, SESSION_A, &small);
	struct verify_result result;
	struct note anchor;
	size_t size, places[64], count;
	uint8_t *text;

	(void)state;
	host_fill(j, 8, 4);
	struct files early = read_files(&dir);
	host_fill(j, 8, 4);
	text = scratch_read(&dir, "checkpoints", &size);
	count = note_places(text, size, places);
	assert_true(note_read((struct bytes){text + places[count - 1], size - places[count - 1]},
			      &anchor) > 0);
	host_append(j, EVENT_session_end);
	host_end(&h, SESSION_A, j);
	result = host_verify_at(&h, SESSION_A, 0, &anchor);
	assert_verdict(&result, VERIFY_INTACT);
	anchor.root[3] ^= 1;
	result = host_verify_at(&h, SESSION_A, 0, &anchor);
	assert_verdict(&result, VERIFY_TAMPERED);
	anchor.root[3] ^= 1;

	write_files(&dir, &early);
	assert_session(&h, SESSION_A, VERIFY_TAMPERED);
	unlinkat(h.root.fd, "state/chain", 0);
	result = host_verify_at(&h, SESSION_A, 0, &anchor);
	assert_verdict(&result, VERIFY_TAMPERED);
	result = host_verify(&h, SESSION_A);
	assert_int_not_equal(result.verdict, VERIFY_INTACT);
	free(text);
	free_files(&early);
	close(dir.fd);
	host_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_records_are_intact),
		cmocka_unit_test(a_live_record_is_incomplete_and_then_unknown),
		cmocka_unit_test(a_crash_is_declared),
		cmocka_unit_test(a_step_of_the_clock_is_none_of_it),
		cmocka_unit_test(every_byte_counts),
		cmocka_unit_test(every_cut_is_seen),
		cmocka_unit_test(edits_are_seen_and_found),
		cmocka_unit_test(notes_cannot_be_left_out_doubled_or_swapped),
		cmocka_unit_test(another_key_is_seen),
		cmocka_unit_test(files_of_another_session_are_seen),
		cmocka_unit_test(a_cut_of_all_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
