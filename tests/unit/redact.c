/*
 * The redaction stage: no secret passes, nothing else is touched, and streams stay true.
 */
#include "supervisor/redact/redact.h"
#include "sample.h"
#include "supervisor/record/cleanup.h"
#include "supervisor/record/json.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* cmocka wants the three above */
#include <cmocka.h>

static const uint8_t key[32] = "an unguessable deployment key...";

#define TOKEN "s3cr3t-t0ken"
#define OTHER "t0ken-and-more"
#define SECRET(name, text)                                                                         \
	{                                                                                          \
		name, text, sizeof(text) - 1                                                       \
	}

static struct redactor *new_redactor(void)
{
	static const struct redact_secret list[] = {
		SECRET("TOKEN", TOKEN),
		SECRET("OTHER", OTHER),
		SECRET("JSON", "{\"key\":\"value\"}"),
		SECRET("NUMBER", "8812345678"),
		SECRET("bad]name\n", "unusual-name"),
	};
	struct redactor *r;

	assert_int_equal(redactor_new(key, list, sizeof(list) / sizeof(*list), &r), 0);
	return r;
}

/* What came out: every record as its canonical line, and all data of all streams in a row. */
struct output {
	struct json_buffer lines;
	struct json_buffer data;
	uint64_t next_offset; /* what the next piece has to begin with */
	size_t count;
	const struct event *passed; /* the last one, by its address */
	bool has_jumps;		    /* or is of more than one stream */
	int error;
};

static int emit(void *context, const struct redacted *record)
{
	struct output *out = context;
	struct bytes data = event_bytes(&record->event, FIELD_data);
	uint64_t offset = event_u64(&record->event, FIELD_offset, 0);

	if (out->error)
		return out->error;
	out->passed = &record->event;
	out->count++;
	json_write_event(&out->lines, "s", &record->event);
	if (!data.data)
		return 0;
	if (!out->has_jumps)
		assert_int_equal(offset, out->next_offset);
	out->next_offset = offset + event_u64(&record->event, FIELD_size, data.size);
	if (data.size)
		json_write_raw(&out->data, data.data, data.size);
	return 0;
}

static void output_free(struct output *out)
{
	json_buffer_free(&out->lines);
	json_buffer_free(&out->data);
}

static bool holds(const struct json_buffer *buffer, const char *text)
{
	return buffer->length && memmem(buffer->text, buffer->length, text, strlen(text));
}

static void assert_data(const struct output *out, const char *expected)
{
	assert_int_equal(out->data.length, strlen(expected));
	assert_memory_equal(out->data.text, expected, out->data.length);
}

static void without_secrets_events_pass_untouched(void **state)
{
	struct output out = {0};
	struct redactor *r;
	struct event e;

	(void)state;
	assert_int_equal(redactor_new(key, NULL, 0, &r), 0);
	for (size_t k = 1; k < EVENT_KIND_COUNT; k++) {
		sample_event(&e, k, 1);
		out.next_offset = event_u64(&e, FIELD_offset, 0);
		assert_int_equal(redact_event(r, &e, emit, &out), 0);
		assert_ptr_equal(out.passed, &e);
	}
	assert_false(redact_summary(r, &e));
	redactor_free(r);
	output_free(&out);
}

static void what_holds_no_secret_is_not_copied(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {0};
	struct event e;

	(void)state;
	for (size_t k = 1; k < EVENT_KIND_COUNT; k++) {
		sample_event(&e, k, 0);
		out.next_offset = event_u64(&e, FIELD_offset, 0);
		assert_int_equal(redact_event(r, &e, emit, &out), 0);
		assert_ptr_equal(out.passed, &e);
	}
	redactor_free(r);
	output_free(&out);
}

static void short_secrets_are_refused(void **state)
{
	const struct redact_secret list[] = {SECRET("A", "12345678"), SECRET("B", "1234567")};
	struct redactor *r = NULL;

	(void)state;
	assert_int_equal(redactor_new(key, list, 2, &r), -EINVAL);
	assert_null(r);
}

/* A value with the token in it, for any type of text. */
static struct bytes with_token(enum field_type type)
{
#define SPAN(text) ((struct bytes){text, sizeof(text) - 1})
	switch (type) {
	case FIELD_TYPE_TEXT:
		return SPAN("before " TOKEN " after");
	case FIELD_TYPE_TEXTS:
		return SPAN("curl\0-H\0Authorization: " TOKEN "\0");
	case FIELD_TYPE_MAP:
		return SPAN(TOKEN "\0value\0key\0" TOKEN TOKEN "\0");
	default:
		return SPAN("{\"a\":[\"" TOKEN "\",1],\"" TOKEN "\":\"s3cr3t\\u002dt0ken\"}");
	}
#undef SPAN
}

/* Every field that a session or a caller can fill is looked through, in every kind. */
static void no_secret_passes_in_any_field(void **state)
{
	(void)state;
	for (size_t k = 1; k < EVENT_KIND_COUNT; k++) {
		for (size_t i = 0; i < kind_table[k].field_count; i++) {
			enum event_field field = kind_table[k].fields[i];
			struct redactor *r;
			struct output out = {0};
			struct bytes value;
			struct event e;

			if (field_table[field].redact == REDACT_NEVER)
				continue;
			r = new_redactor();
			value = with_token(field_table[field].type);
			event_init(&e, k, 1, 1);
			event_put_bytes(&e, field, value.data, value.size);
			assert_int_equal(redact_event(r, &e, emit, &out), 0);
			assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
			assert_true(out.count > 0);
			assert_false(holds(&out.lines, TOKEN));
			assert_false(holds(&out.lines, "t0ken"));
			assert_true(holds(&out.lines, "[REDACTED:TOKEN:"));
			assert_true(redact_summary(r, &e));
			redactor_free(r);
			output_free(&out);
		}
	}
}

/* The tag is a keyed hash, the same for the same secret, and names can do no harm. */
static void markers_have_name_and_tag(void **state)
{
	struct redactor *r = new_redactor();
	uint8_t digest[EVENT_DIGEST_SIZE];
	struct output out = {0};
	struct event e;
	char marker[64];

	(void)state;
	redact_digest(r, TOKEN, strlen(TOKEN), digest);
	snprintf(marker, sizeof(marker), "\"/x/[REDACTED:TOKEN:%02x%02x%02x%02x]\"", digest[0],
		 digest[1], digest[2], digest[3]);
	event_init(&e, EVENT_file_open, 1, 1);
	event_put_text(&e, FIELD_path, "/x/" TOKEN);
	event_put_text(&e, FIELD_requested, "unusual-name");
	assert_int_equal(redact_event(r, &e, emit, &out), 0);
	assert_true(holds(&out.lines, marker));
	assert_true(holds(&out.lines, "[REDACTED:bad_name_:"));
	redactor_free(r);
	output_free(&out);
}

static void what_was_cut_is_said(void **state)
{
	static const char argv[] = "sh\0-c\0x " TOKEN " " TOKEN "\0";
	struct redactor *r = new_redactor();
	struct output out = {0};
	struct event e;

	(void)state;
	event_init(&e, EVENT_process_exec, 1, 1);
	event_put_bytes(&e, FIELD_argv, argv, sizeof(argv) - 1);
	event_put_u64(&e, FIELD_argv_bytes, sizeof(argv) - 1);
	event_put_text(&e, FIELD_cwd, "/" TOKEN);
	assert_int_equal(redact_event(r, &e, emit, &out), 0);
	assert_true(holds(
		&out.lines,
		"\"redacted\":["
		"{\"field\":\"argv\",\"rule\":\"TOKEN\",\"item\":2,\"start\":2,\"length\":12,"
		"\"form\":\"raw\"},"
		"{\"field\":\"argv\",\"rule\":\"TOKEN\",\"item\":2,\"start\":15,\"length\":12,"
		"\"form\":\"raw\"},"
		"{\"field\":\"cwd\",\"rule\":\"TOKEN\",\"start\":1,\"length\":12,"
		"\"form\":\"raw\"}]"));
	assert_true(holds(&out.lines, "\"argv\":[\"sh\",\"-c\",\"x [REDACTED:TOKEN:"));
	assert_true(holds(&out.lines, "\"argv_bytes\":34"));

	assert_true(redact_summary(r, &e));
	assert_int_equal(event_u64(&e, FIELD_count, 0), 3);
	assert_int_equal(event_bytes(&e, FIELD_rules).size, strlen("{\"TOKEN\":3}"));
	assert_memory_equal(event_bytes(&e, FIELD_rules).data, "{\"TOKEN\":3}", 11);
	redactor_free(r);
	output_free(&out);
}

static void redact_path(struct redactor *r, const char *path, struct output *out)
{
	struct event e;

	event_init(&e, EVENT_file_open, 1, 1);
	event_put_text(&e, FIELD_path, path);
	assert_int_equal(redact_event(r, &e, emit, out), 0);
}

static void secrets_that_overlap_go_together(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {0};

	(void)state;
	redact_path(r, "<s3cr3t-t0ken-and-more>", &out);
	assert_true(holds(&out.lines, "\"path\":\"<[REDACTED:TOKEN:"));
	assert_true(holds(&out.lines, "]>\""));
	assert_false(holds(&out.lines, "more"));
	redactor_free(r);
	output_free(&out);
}

static void secrets_side_by_side_go_apart(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {0};

	(void)state;
	redact_path(r, TOKEN TOKEN OTHER, &out);
	assert_true(holds(&out.lines, "\"start\":0,\"length\":12"));
	assert_true(holds(&out.lines, "\"start\":12,\"length\":12"));
	assert_true(holds(&out.lines, "\"start\":24,\"length\":14"));
	redactor_free(r);
	output_free(&out);
}

static void near_misses_stay(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {0};

	(void)state;
	redact_path(r, "s3cr3t-t0ke s3cr3t-t0keN 3cr3t-t0ken", &out);
	assert_true(holds(&out.lines, "\"s3cr3t-t0ke s3cr3t-t0keN 3cr3t-t0ken\""));
	redactor_free(r);
	output_free(&out);
}

/* The whole of the value was longer: what stands at its end may be a secret that was cut in two. */
static void the_end_of_a_cut_value_goes(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {0};
	struct event e;

	(void)state;
	event_init(&e, EVENT_file_open, 1, 1);
	event_put_text(&e, FIELD_path, "/x/s3cr3t-t0");
	event_mark_cut(&e, FIELD_path, 5000, NULL);
	event_put_text(&e, FIELD_requested, "/x/s3cr3t-");
	event_mark_cut(&e, FIELD_requested, 5000, NULL);
	assert_int_equal(redact_event(r, &e, emit, &out), 0);
	assert_true(holds(&out.lines, "\"path\":\"/x/[REDACTED:TOKEN:"));
	assert_true(holds(&out.lines, "\"path_truncated\":true,\"path_length\":5000"));
	assert_true(holds(&out.lines, "\"form\":\"partial\""));
	assert_true(holds(&out.lines, "\"requested\":\"/x/s3cr3t-\"")); /* may be chance */
	redactor_free(r);
	output_free(&out);
}

static void many_marks_are_counted(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {0};
	struct event e;
	char argv[200 * (sizeof(TOKEN) + 1)];

	(void)state;
	for (size_t i = 0; i < 200; i++)
		memcpy(argv + i * sizeof(TOKEN), TOKEN, sizeof(TOKEN));
	event_init(&e, EVENT_process_exec, 1, 1);
	event_put_bytes(&e, FIELD_argv, argv, 200 * sizeof(TOKEN));
	assert_int_equal(redact_event(r, &e, emit, &out), 0);
	assert_true(holds(&out.lines, "\"item\":63,"));
	assert_true(holds(&out.lines, ",{\"more\":136}]"));
	assert_false(holds(&out.lines, TOKEN));
	redactor_free(r);
	output_free(&out);
}

static void redact_policy(struct redactor *r, const char *policy, struct output *out)
{
	struct event e;

	out->lines.length = 0;
	event_init(&e, EVENT_session_start, 1, 1);
	event_put_text(&e, FIELD_policy, policy);
	assert_int_equal(redact_event(r, &e, emit, out), 0);
}

static void json_stays_json(void **state)
{
	static const uint8_t half[] = "\xa9 is half of it";
	const struct redact_secret list[] = {{"HALF", half, sizeof(half) - 1}};
	struct redactor *r = new_redactor();
	struct output out = {0};

	(void)state;
	redact_policy(r, "{\"a\": {\"key\":\"value\"}, \"n\": 8812345678}", &out);
	assert_true(holds(&out.lines, "\"policy\":\"[REDACTED:JSON:"));
	redact_policy(r, "{\"n\":[8812345678, 88123456789.5, 1]}", &out);
	assert_true(holds(&out.lines, "\"policy\":{\"n\":[\"[REDACTED:NUMBER:"));
	assert_true(holds(&out.lines, "9.5\",1]}"));
	redact_policy(r, "not JSON, " TOKEN, &out);
	assert_true(holds(&out.lines, "\"policy\":\"[REDACTED:TOKEN:"));
	redact_policy(r, "{\"a\":{\"b\":[true,null,\"x\"]}}", &out);
	assert_true(holds(&out.lines, "\"policy\":{\"a\":{\"b\":[true,null,\"x\"]}}"));
	redactor_free(r);

	assert_int_equal(redactor_new(key, list, 1, &r), 0);
	redact_policy(r, "{\"caf\xc3\xa9 is half of it\":\"\xc3\xa9 is half of it\"}", &out);
	assert_false(holds(&out.lines, "half of"));
	assert_true(holds(&out.lines, "{\"[REDACTED:HALF:"));
	redactor_free(r);
	output_free(&out);
}

/* ---- streams ---- */

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

static void the_longest_of_secrets_is_taken(void **state)
{
	static const struct redact_secret list[] = {SECRET("SHORT", "abcdefgh"),
						    SECRET("LONG", "abcdefghij"),
						    SECRET("MIDDLE", "abcdefghi")};

	(void)state;
	for (size_t first = 0; first < 3; first++) {
		struct redact_secret turned[3] = {list[first], list[(first + 1) % 3],
						  list[(first + 2) % 3]};
		struct output out = {0};
		struct redactor *r;

		assert_int_equal(redactor_new(key, turned, 3, &r), 0);
		redact_path(r, "xabcdefghijk", &out);
		assert_true(holds(&out.lines, "\"x[REDACTED:LONG:"));
		assert_true(holds(&out.lines, "]k\""));
		redactor_free(r);
		output_free(&out);
	}
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

static void errors_of_the_next_stage_come_back(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {.error = -ENOSPC};
	struct event e;

	(void)state;
	event_init(&e, EVENT_file_open, 1, 1);
	event_put_text(&e, FIELD_path, TOKEN);
	assert_int_equal(redact_event(r, &e, emit, &out), -ENOSPC);
	event_put_text(&e, FIELD_path, "/");
	assert_int_equal(redact_event(r, &e, emit, &out), -ENOSPC);
	redactor_free(r);
	output_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_secrets_events_pass_untouched),
		cmocka_unit_test(what_holds_no_secret_is_not_copied),
		cmocka_unit_test(short_secrets_are_refused),
		cmocka_unit_test(no_secret_passes_in_any_field),
		cmocka_unit_test(markers_have_name_and_tag),
		cmocka_unit_test(what_was_cut_is_said),
		cmocka_unit_test(secrets_that_overlap_go_together),
		cmocka_unit_test(secrets_side_by_side_go_apart),
		cmocka_unit_test(near_misses_stay),
		cmocka_unit_test(the_end_of_a_cut_value_goes),
		cmocka_unit_test(many_marks_are_counted),
		cmocka_unit_test(json_stays_json),
		cmocka_unit_test(a_split_secret_is_found),
		cmocka_unit_test(a_secret_in_single_bytes_is_found),
		cmocka_unit_test(streams_do_not_mix),
		cmocka_unit_test(pieces_keep_their_times),
		cmocka_unit_test(a_cut_piece_says_its_true_size),
		cmocka_unit_test(what_is_old_is_given_out),
		cmocka_unit_test(patience_does_not_help),
		cmocka_unit_test(held_pieces_have_the_first_time),
		cmocka_unit_test(the_longest_of_secrets_is_taken),
		cmocka_unit_test(a_jump_in_the_stream_parts_it),
		cmocka_unit_test(more_streams_than_places),
		cmocka_unit_test(a_cut_piece_ends_its_stream),
		cmocka_unit_test(errors_of_the_next_stage_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
