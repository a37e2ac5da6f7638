/*
 * The redaction stage: no secret passes, and nothing else is touched.
 */
#include "supervisor/redact/redactor.h"
/* its emit has the name of a parameter in the one above */
#include "redact_output.h"

static void without_secrets_events_pass_untouched(void **state)
{
	struct output out = {0};
	struct redactor *r;
	struct event e;

	(void)state;
	assert_int_equal(redactor_new(key, NULL, NULL, 0, &r), 0);
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
		if (event_get(&e, FIELD_data)) /* no end of it is the beginning of anything */
			event_put_text(&e, FIELD_data, "a line\n");
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
	assert_int_equal(redactor_new(key, NULL, list, 2, &r), -EINVAL);
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

/* JSON that the supervisor writes of numbers and of names that can do no harm. */
static bool is_ours(enum event_field field)
{
	return field_table[field].type == FIELD_TYPE_JSON &&
	       field_table[field].redact == REDACT_NEVER;
}

/* Every text is looked through, in every kind, whatever class its field has. */
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

			if (field_table[field].type < FIELD_TYPE_TEXT || is_ours(field))
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
	redact_path(r, "s3cr3t-t0ke s3cr3t-t0keX 3cr3t-t0ken", &out);
	assert_true(holds(&out.lines, "\"s3cr3t-t0ke s3cr3t-t0keX 3cr3t-t0ken\""));
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
	event_put_text(&e, FIELD_requested, "/x/s3");
	event_mark_cut(&e, FIELD_requested, 5000, NULL);
	assert_int_equal(redact_event(r, &e, emit, &out), 0);
	assert_true(holds(&out.lines, "\"path\":\"/x/[REDACTED:TOKEN:"));
	assert_true(holds(&out.lines, "\"path_truncated\":true,\"path_length\":5000"));
	assert_true(holds(&out.lines, "\"form\":\"partial\""));
	assert_true(holds(&out.lines, "\"requested\":\"/x/s3\"")); /* may be chance */
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

	assert_int_equal(redactor_new(key, NULL, list, 1, &r), 0);
	redact_policy(r, "{\"caf\xc3\xa9 is half of it\":\"\xc3\xa9 is half of it\"}", &out);
	assert_false(holds(&out.lines, "half of"));
	assert_true(holds(&out.lines, "{\"[REDACTED:HALF:"));
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

		assert_int_equal(redactor_new(key, NULL, turned, 3, &r), 0);
		redact_path(r, "xabcdefghijk", &out);
		assert_true(holds(&out.lines, "\"x[REDACTED:LONG:"));
		assert_true(holds(&out.lines, "]k\""));
		redactor_free(r);
		output_free(&out);
	}
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

/* Two secrets at any two places of a text that is read in halves: both are found, in order. */
static void long_texts_are_read_whole(void **state)
{
	enum { SIZE = 520, STEP = 7 };
	static const struct redact_secret list[] = {SECRET("TOKEN", TOKEN)};
	const size_t length = strlen(TOKEN);
	struct redactor *r;
	char text[SIZE];

	(void)state;
	assert_int_equal(redactor_new(key, NULL, list, 1, &r), 0);
	for (size_t one = 0; one + 2 * length <= SIZE; one++) {
		for (size_t other = one + length + 1; other + length <= SIZE; other += STEP) {
			memset(text, '-', SIZE);
			memcpy(text + one, TOKEN, length);
			memcpy(text + other, TOKEN, length);
			assert_int_equal(redactor_find(r, (struct bytes){text, SIZE}), 0);
			assert_int_equal(r->spans.count, 2);
			assert_int_equal(r->spans.items[0].start, one);
			assert_int_equal(r->spans.items[1].start, other);
			assert_int_equal(r->spans.items[1].end, other + length);
		}
	}
	redactor_free(r);
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
		cmocka_unit_test(the_longest_of_secrets_is_taken),
		cmocka_unit_test(long_texts_are_read_whole),
		cmocka_unit_test(errors_of_the_next_stage_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
