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
	write_piece(r, "stderr", &offset_errors, 2, "t0ken!", 6, &errors);
	write_piece(r, "stdout", &offset, 3, "x\n", 2, &out);
	assert_data(&out, "s3cr3t-x\n");
	assert_data(&errors, "t0ken!");
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
	write_piece(r, "stdout", &offset, 1, "x " TOKEN " y\n", 17, &out);
	assert_true(holds(&out.lines, "\"offset\":100,\"data\":\"x [REDACTED:TOKEN:"));
	assert_true(holds(&out.lines,
			  "] y\\n\",\"size\":17,\"redacted\":[{\"field\":\"data\",\"rule\":"
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
	write_piece(r, "stdout", &offset, 50, "s3", 2, &out);
	assert_int_equal(redact_flush(r, 49 + REDACT_HOLD_NS, emit, &out), 0);
	assert_int_equal(out.count, 0);
	assert_int_equal(redact_flush(r, 50 + REDACT_HOLD_NS, emit, &out), 0);
	assert_data(&out, "s3");
	assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
	assert_int_equal(out.count, 1);
	redactor_free(r);
	output_free(&out);
}

/* What can hardly be chance waits longer, and is cut then. */
static void what_has_begun_waits_longer(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {0};
	uint64_t offset = 0;

	(void)state;
	write_piece(r, "stdout", &offset, 50, "a prompt: s3c", 13, &out);
	assert_data(&out, "a prompt: ");
	assert_int_equal(redact_flush(r, 49 + REDACT_HOLD_MOST_NS, emit, &out), 0);
	assert_int_equal(out.count, 1);
	assert_int_equal(redact_flush(r, 50 + REDACT_HOLD_MOST_NS, emit, &out), 0);
	write_piece(r, "stdout", &offset, 60, "r3t-t0ken!", 10, &out);
	simplify(&out);
	assert_data(&out, "a prompt: **!");
	assert_int_equal(out.next_offset, offset);
	redactor_free(r);
	output_free(&out);
}

/* However slowly it comes, less than BEGUN_LEAST letters of it are given out. */
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
	assert_data(&out, "s3**********\ns3**********\n");
	assert_int_equal(out.next_offset, offset);
	assert_true(redact_summary(r, &e));
	assert_int_equal(event_u64(&e, FIELD_count, 0), 2);
	redactor_free(r);
	output_free(&out);
}

/* Line by line, in colours, with the cursor going back, over any pieces: the letters count. */
static void what_stands_between_does_not_help(void **state)
{
	static const char *const ways[] = {
		"s3cr\n3t-\r\nt0ken",
		"\033[31ms3c\033[0m\033[1;32mr3t-\033]0;a title\007t0ken\033[0m",
		"s3cr3t-t0kXX\b\ben",
		"s3cr3x\bt-t0ken",
		"s3cr3t\b\b\033[2C-t0ken",
		"xxxxxx-t0ken\rs3cr3t",
		"-t0ken\r\033[6@s3cr3t",
		"sXX\b\b\033[2P3cr3t-t0ken",
		"\"s3cr\" \"3t-t0ken\"",
		"s\003c\233r3t-t0ken\rs3cr3t",
	};

	(void)state;
	for (size_t w = 0; w < sizeof(ways) / sizeof(*ways); w++) {
		struct redactor *r = new_redactor();
		struct output out = {0};
		uint64_t offset = 0;

		write_piece(r, "tty", &offset, 1, "$ ", 2, &out);
		write_piece(r, "tty", &offset, 1, ways[w], strlen(ways[w]), &out);
		write_piece(r, "tty", &offset, 1, "\n$ ", 3, &out);
		assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
		assert_true(holds(&out.data, "[REDACTED:TOKEN:"));
		assert_false(holds(&out.data, "t0k"));
		assert_int_equal(out.next_offset, offset);
		redactor_free(r);
		output_free(&out);
	}
}

/* More than there is room for between the letters: they are not waited for, and go all the same. */
static void what_is_held_is_bounded(void **state)
{
	enum { BETWEEN = 40000 };
	static char text[BETWEEN];
	struct redactor *r = new_redactor();
	struct output out = {0};
	uint64_t offset = 0;

	(void)state;
	memset(text, '\n', sizeof(text));
	write_piece(r, "stdout", &offset, 1, "s3cr3t", 6, &out);
	write_piece(r, "stdout", &offset, 1, text, sizeof(text), &out);
	write_piece(r, "stdout", &offset, 1, "-t0ken!", 7, &out);
	simplify(&out);
	assert_int_equal(out.data.length, 1 + BETWEEN + 2);
	assert_int_equal(out.data.text[0], '*');
	assert_string_equal(out.data.text + BETWEEN, "\n*!");
	assert_int_equal(out.next_offset, offset);

	/* Nor is what was too little to wait for forgotten. */
	out.data.length = 0;
	write_piece(r, "stdout", &offset, 1, "s3", 2, &out);
	write_piece(r, "stdout", &offset, 1, text, sizeof(text), &out);
	write_piece(r, "stdout", &offset, 1, "cr3t-t0ken!", 11, &out);
	simplify(&out);
	assert_string_equal(out.data.text + BETWEEN, "\n\n*!");
	assert_int_equal(out.next_offset, offset);
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
	assert_int_equal(out.count, 0);
	write_piece(r, "stdout", &offset, 30, "!", 1, &out);
	assert_true(holds(&out.lines, "\"boot_ns\":10,"));
	assert_true(holds(&out.lines, "\"boot_ns\":30,"));
	assert_data(&out, "s3cr3t!");
	redactor_free(r);
	output_free(&out);
}

static void a_jump_in_the_stream_parts_it(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {.has_jumps = true};
	uint64_t offset = 0;

	(void)state;
	write_piece(r, "stdout", &offset, 1, "s3", 2, &out);
	offset = 500; /* what was between is not in the record */
	write_piece(r, "stdout", &offset, 2, "cr3t-t0ken", 10, &out);
	assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
	assert_true(holds(&out.lines, "\"offset\":0,\"data\":\"s3\"}"));
	assert_true(holds(&out.lines, "\"offset\":500,\"data\":\"cr3t-\"}"));
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
		event_put_text(&e, FIELD_data, "s3");
		assert_int_equal(redact_event(r, &e, emit, &out), 0);
	}
	assert_int_equal(out.count, 36);
	assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
	assert_int_equal(out.count, 100);
	assert_int_equal(out.data.length, 200);
	for (size_t i = 0; i < 100; i++)
		assert_memory_equal(out.data.text + 2 * i, "s3", 2);
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
		cmocka_unit_test(what_has_begun_waits_longer),
		cmocka_unit_test(patience_does_not_help),
		cmocka_unit_test(what_stands_between_does_not_help),
		cmocka_unit_test(what_is_held_is_bounded),
		cmocka_unit_test(held_pieces_have_the_first_time),
		cmocka_unit_test(a_jump_in_the_stream_parts_it),
		cmocka_unit_test(more_streams_than_places),
		cmocka_unit_test(a_cut_piece_ends_its_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
