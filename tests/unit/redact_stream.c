/*
 * Streams: a secret may be split over any pieces and any time; what comes out stays in its place.
 */
#include "redact_output.h"

static void write_piece(struct redactor *r, const char *stream, uint64_t *offset, uint64_t boot_ns,
			const char *text, size_t size, struct output *out)
{
	struct event e;

	event_init(&e, EVENT_output, boot_ns + 1000, boot_ns);
	event_put_u64(&e, FIELD_exec, 1);
	event_put_text(&e, FIELD_stream, stream);
	event_put_u64(&e, FIELD_offset, *offset);
	event_put_bytes(&e, FIELD_data, text, size);
	*offset += size;
	assert_int_equal(redact_event(r, &e, emit, out), 0);
}

/* Cut the marks out of the data and put "*" for each. */
static void simplify(struct output *out)
{
	char *at;

	json_write_raw(&out->data, "", 1);
	while ((at = strstr(out->data.text, "[REDACTED:"))) {
		char *end = strchr(at, ']');

		assert_non_null(end);
		*at = '*';
		memmove(at + 1, end + 1, strlen(end + 1) + 1);
	}
	out->data.length = strlen(out->data.text);
}

/* Whatever the pieces: the same bytes come out, in order, with the secrets gone. */
static void a_split_secret_is_found(void **state)
{
	static const char text[] =
		"ls -l\n" TOKEN " s3cr3t s3cr3t-s3cr3t-t0ken\n" TOKEN OTHER "-t0ken-and-mor";
	const size_t size = sizeof(text) - 1;

	(void)state;
	for (size_t one = 0; one <= size; one++) {
		for (size_t two = one; two <= size; two++) {
			struct redactor *r = new_redactor();
			struct output out = {0};
			struct event e;
			uint64_t offset = 0;

			write_piece(r, "stdout", &offset, 1, text, one, &out);
			write_piece(r, "stdout", &offset, 2, text + one, two - one, &out);
			write_piece(r, "stdout", &offset, 3, text + two, size - two, &out);
			assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
			assert_int_equal(out.next_offset, size);
			simplify(&out);
			assert_data(&out, "ls -l\n* s3cr3t s3cr3t-*\n**-*");
			assert_true(redact_summary(r, &e));
			assert_int_equal(event_u64(&e, FIELD_count, 0), 5);
			redactor_free(r);
			output_free(&out);
		}
	}
}

static void a_secret_in_single_bytes_is_found(void **state)
{
	static const char text[] = "a" TOKEN "b";
	struct redactor *r = new_redactor();
	struct output out = {0};
	uint64_t offset = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		write_piece(r, "tty", &offset, i, text + i, 1, &out);
	simplify(&out);
	assert_data(&out, "a*b");
	assert_int_equal(out.next_offset, offset);
	redactor_free(r);
	output_free(&out);
}

static void streams_do_not_mix(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {0}, errors = {0};
	uint64_t offset = 0, offset_errors = 0;

	(void)state;
	write_piece(r, "stdout", &offset, 1, "s3cr3t-", 7, &out);
	write_piece(r, "stderr", &offset_errors, 2, "t0ken\n", 6, &errors);
	write_piece(r, "stdout", &offset, 3, "x\n", 2, &out);
	assert_data(&out, "s3cr3t-x\n");
	assert_data(&errors, "t0ken\n");
	redactor_free(r);
	output_free(&out);
	output_free(&errors);
}

static void pieces_keep_their_times(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {0};
	uint64_t offset = 0;

	(void)state;
	write_piece(r, "stdout", &offset, 10, "one s3cr", 8, &out);
	assert_data(&out, "one ");
	write_piece(r, "stdout", &offset, 20, "ap two\n", 7, &out);
	assert_int_equal(out.count, 3);
	assert_true(holds(&out.lines, "\"boot_ns\":10,\"kind\":\"output\",\"exec\":1,\"stream\":"
				      "\"stdout\",\"offset\":0,\"data\":\"one \"}"));
	assert_true(holds(&out.lines, "\"boot_ns\":10,\"kind\":\"output\",\"exec\":1,\"stream\":"
				      "\"stdout\",\"offset\":4,\"data\":\"s3cr\"}"));
	assert_true(holds(&out.lines, "\"boot_ns\":20,\"kind\":\"output\",\"exec\":1,\"stream\":"
				      "\"stdout\",\"offset\":8,\"data\":\"ap two\\n\"}"));
	redactor_free(r);
	output_free(&out);
}

static void a_cut_piece_says_its_true_size(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {0};
	uint64_t offset = 100;

	(void)state;
	out.next_offset = 100;
	write_piece(r, "stdout", &offset, 1, "x " TOKEN " y", 16, &out);
	assert_true(holds(&out.lines, "\"offset\":100,\"data\":\"x [REDACTED:TOKEN:"));
	assert_true(holds(&out.lines,
			  "] y\",\"size\":16,\"redacted\":[{\"field\":\"data\",\"rule\":"
			  "\"TOKEN\",\"start\":2,\"length\":12,\"form\":\"raw\"}]}"));
	redactor_free(r);
	output_free(&out);
}

static void what_is_old_is_given_out(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {0};
	uint64_t offset = 0;

	(void)state;
	write_piece(r, "stdout", &offset, 50, "s3c", 3, &out);
	assert_int_equal(redact_flush(r, 50, emit, &out), 0);
	assert_int_equal(out.count, 0);
	assert_int_equal(redact_flush(r, 51, emit, &out), 0);
	assert_data(&out, "s3c");
	assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
	assert_int_equal(out.count, 1);
	redactor_free(r);
	output_free(&out);
}

/* However slowly it comes, of a secret less than REDACT_SECRET_MIN bytes are given out. */
static void patience_does_not_help(void **state)
{
	static const char text[] = TOKEN "\n" TOKEN "\n";
	struct redactor *r = new_redactor();
	struct output out = {0};
	struct event e;
	uint64_t offset = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		write_piece(r, "stdout", &offset, i, text + i, 1, &out);
		assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
	}
	simplify(&out);
	assert_data(&out, "s3cr3t-*****\ns3cr3t-*****\n");
	assert_int_equal(out.next_offset, offset);
	assert_true(redact_summary(r, &e));
	assert_int_equal(event_u64(&e, FIELD_count, 0), 2);
	redactor_free(r);
	output_free(&out);
}

/* What is held of several pieces has the time of the oldest. */
static void held_pieces_have_the_first_time(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {0};
	uint64_t offset = 0;

	(void)state;
	write_piece(r, "stdout", &offset, 10, "s3c", 3, &out);
	write_piece(r, "stdout", &offset, 20, "r3t", 3, &out);
	assert_int_equal(redact_flush(r, 11, emit, &out), 0);
	assert_int_equal(out.count, 1);
	assert_true(holds(&out.lines, "\"boot_ns\":10,"));
	write_piece(r, "stdout", &offset, 30, "-t", 2, &out);
	assert_int_equal(redact_flush(r, 30, emit, &out), 0);
	assert_int_equal(out.count, 1);
	write_piece(r, "stdout", &offset, 40, "!", 1, &out);
	assert_true(holds(&out.lines, "\"boot_ns\":30,"));
	assert_data(&out, "s3cr3t-t!");
	redactor_free(r);
	output_free(&out);
}

static void a_jump_in_the_stream_parts_it(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {.has_jumps = true};
	uint64_t offset = 0;

	(void)state;
	write_piece(r, "stdout", &offset, 1, "s3cr3t", 6, &out);
	offset = 500; /* what was between is not in the record */
	write_piece(r, "stdout", &offset, 2, "-t0ken", 6, &out);
	assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
	assert_data(&out, "s3cr3t-t0ken");
	assert_true(holds(&out.lines, "\"offset\":0,\"data\":\"s3cr3t\"}"));
	assert_true(holds(&out.lines, "\"offset\":500,\"data\":\"-\"}"));
	assert_true(holds(&out.lines, "\"offset\":501,\"data\":\"t0ken\"}"));
	redactor_free(r);
	output_free(&out);
}

/* Of more streams than there are places, the oldest are given out first; nothing is lost. */
static void more_streams_than_places(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {.has_jumps = true};
	struct event e;

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		event_init(&e, EVENT_output, i, i);
		event_put_u64(&e, FIELD_exec, i + 1);
		event_put_text(&e, FIELD_stream, "stdout");
		event_put_text(&e, FIELD_data, "s3cr3t-");
		assert_int_equal(redact_event(r, &e, emit, &out), 0);
	}
	assert_int_equal(out.count, 36);
	assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
	assert_int_equal(out.count, 100);
	assert_int_equal(out.data.length, 700);
	for (size_t i = 0; i < 100; i++)
		assert_memory_equal(out.data.text + 7 * i, "s3cr3t-", 7);
	redactor_free(r);
	output_free(&out);
}

/* The end of a stream that is cut short by the cap: nothing follows, nothing is held back. */
static void a_cut_piece_ends_its_stream(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {0};
	struct event e;

	(void)state;
	event_init(&e, EVENT_output, 1, 1);
	event_put_text(&e, FIELD_stream, "stdout");
	event_put_u64(&e, FIELD_offset, 0);
	event_put_text(&e, FIELD_data, "some s3cr3t-t0k");
	event_mark_cut(&e, FIELD_data, 100, NULL);
	assert_int_equal(redact_event(r, &e, emit, &out), 0);
	assert_int_equal(out.count, 1);
	assert_true(holds(&out.lines, "\"data_truncated\":true,\"data_length\":100"));
	simplify(&out);
	assert_data(&out, "some *");
	redactor_free(r);
	output_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_split_secret_is_found),
		cmocka_unit_test(a_secret_in_single_bytes_is_found),
		cmocka_unit_test(streams_do_not_mix),
		cmocka_unit_test(pieces_keep_their_times),
		cmocka_unit_test(a_cut_piece_says_its_true_size),
		cmocka_unit_test(what_is_old_is_given_out),
		cmocka_unit_test(patience_does_not_help),
		cmocka_unit_test(held_pieces_have_the_first_time),
		cmocka_unit_test(a_jump_in_the_stream_parts_it),
		cmocka_unit_test(more_streams_than_places),
		cmocka_unit_test(a_cut_piece_ends_its_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
