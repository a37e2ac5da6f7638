/*
 * Names that are asked for: a secret may be split over their labels and over one name after the
 * other, and what a name has to do with the next is known only then.
 */
#include "redact_output.h"

#include <string.h>

static void ask(struct redactor *r, enum event_kind kind, const char *name, uint64_t boot_ns,
		struct output *out)
{
	struct event e;

	event_init(&e, kind, boot_ns + 1000, boot_ns);
	event_put_text(&e, FIELD_name, name);
	event_put_text(&e, FIELD_dns_type, "A");
	assert_int_equal(redact_event(r, &e, emit, out), 0);
}

static void ask_for(struct redactor *r, const char *name, struct output *out)
{
	ask(r, EVENT_dns_query, name, 1, out);
}

/* At every offset, with what else is asked in between for the same names. */
static void a_secret_is_split_over_two_names(void **state)
{
	static const char secret[] = TOKEN;

	(void)state;
	for (size_t split = 1; split < strlen(secret); split++) {
		struct redactor *r = new_redactor();
		struct output out = {0};
		char first[64], second[64];

		snprintf(first, sizeof(first), "%.*s.x.example.org", (int)split, secret);
		snprintf(second, sizeof(second), "%s.x.example.org", secret + split);
		ask_for(r, "www.example.org", &out);
		ask_for(r, first, &out);
		ask(r, EVENT_dns_answer, first, 2, &out);
		ask_for(r, second, &out);
		ask(r, EVENT_dns_answer, second, 3, &out);
		ask_for(r, "www.example.org", &out);
		assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
		assert_int_equal(out.count, 6);
		assert_false(holds(&out.lines, second));
		/* Less than three letters may be given out before it is known what they are. */
		assert_true(split < 3 || !holds(&out.lines, first));
		assert_true(holds(&out.lines, "].x.example.org"));
		assert_true(holds(&out.lines, "\"name\":\"www.example.org\""));
		redactor_free(r);
		output_free(&out);
	}
}

static void a_secret_is_split_over_many_names(void **state)
{
	static const char secret[] = "7333637233742d74306b656e"; /* in hex */
	struct redactor *r = new_redactor();
	struct output out = {0};
	char name[64];

	(void)state;
	for (size_t at = 0; at < strlen(secret); at += 4) {
		snprintf(name, sizeof(name), "%.4s.example.org", secret + at);
		ask_for(r, name, &out);
	}
	assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
	assert_int_equal(out.count, 6);
	for (size_t at = 0; at < strlen(secret); at += 4) {
		snprintf(name, sizeof(name), "\"%.4s", secret + at);
		assert_false(holds(&out.lines, name));
	}
	redactor_free(r);
	output_free(&out);
}

static void labels_of_one_name_are_one_text(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {0};

	(void)state;
	ask_for(r, "a.s3cr.3T-t0.KEN.example.org", &out);
	assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
	assert_true(holds(&out.lines, "\"name\":\"a.[REDACTED:TOKEN:"));
	assert_true(holds(&out.lines, "].example.org\""));
	redactor_free(r);
	output_free(&out);
}

/* What begins like a secret waits for the next name, ten seconds at most, and is as it was. */
static void what_only_begins_like_one_stays(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {0};

	(void)state;
	ask(r, EVENT_dns_query, "s3c.example.org", 50, &out);
	assert_int_equal(redact_flush(r, 49 + REDACT_HOLD_MOST_NS, emit, &out), 0);
	assert_int_equal(out.count, 0);
	assert_int_equal(redact_flush(r, 50 + REDACT_HOLD_MOST_NS, emit, &out), 0);
	assert_int_equal(out.count, 1);
	ask_for(r, "s3cr.example.org", &out);
	ask_for(r, "deb.debian.org", &out);
	assert_int_equal(out.count, 3);
	assert_false(holds(&out.lines, "REDACTED"));
	ask_for(r, "s3cr3t-t0k.example.org", &out);
	assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
	assert_int_equal(out.count, 4);
	assert_true(holds(&out.lines, "\"name\":\"[REDACTED:TOKEN:"));
	redactor_free(r);
	output_free(&out);
}

/* However many are held, none is lost, and their order stays. */
static void what_is_held_is_bounded(void **state)
{
	struct redactor *r = new_redactor();
	struct output out = {0};
	char name[64];

	(void)state;
	for (unsigned int i = 0; i < 200; i++)
		ask(r, EVENT_dns_query, "s3cr.example.org", i, &out);
	for (unsigned int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "s3c.%u.s3c", i);
		ask(r, EVENT_dns_query, name, 200 + i, &out);
	}
	assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
	assert_int_equal(out.count, 220);
	for (unsigned int i = 0; i < 219; i++) {
		char one[32], next[32];
		const char *at, *behind;

		snprintf(one, sizeof(one), "\"boot_ns\":%u,", i);
		snprintf(next, sizeof(next), "\"boot_ns\":%u,", i + 1);
		at = memmem(out.lines.text, out.lines.length, one, strlen(one));
		behind = memmem(out.lines.text, out.lines.length, next, strlen(next));
		assert_true(at && behind && at < behind);
	}
	redactor_free(r);
	output_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_secret_is_split_over_two_names),
		cmocka_unit_test(a_secret_is_split_over_many_names),
		cmocka_unit_test(labels_of_one_name_are_one_text),
		cmocka_unit_test(what_only_begins_like_one_stays),
		cmocka_unit_test(what_is_held_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
