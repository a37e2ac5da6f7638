/*
 * The shape net: every detector both ways over the labelled corpus, arguments, pieces, budgets.
 */
#include "redact_corpus.h"
#include "supervisor/redact/candidate.h"
#include "supervisor/redact/checksum.h"
#include "supervisor/redact/detector.h"
#include "supervisor/redact/redactor.h"
/* its emit has the name of a parameter in the one above */
#include "redact_output.h"

static struct shapes *shapes;

static int set_up(void **state)
{
	(void)state;
	return shapes_new(SHAPES_MACHINE_CODE, &shapes);
}

static int tear_down(void **state)
{
	(void)state;
	shapes_free(shapes);
	return 0;
}

static struct redactor *new_both(void)
{
	static const struct redact_secret secret = SECRET("TOKEN", TOKEN);
	struct redactor *r;

	assert_int_equal(redactor_new(key, shapes, &secret, 1, &r), 0);
	return r;
}

static void write_piece(struct redactor *r, uint64_t *offset, uint64_t boot_ns, const char *text,
			size_t size, struct output *out)
{
	struct event e;

	event_init(&e, EVENT_output, boot_ns, boot_ns);
	event_put_text(&e, FIELD_stream, "stdout");
	event_put_u64(&e, FIELD_offset, *offset);
	event_put_bytes(&e, FIELD_data, text, size);
	*offset += size;
	assert_int_equal(redact_event(r, &e, emit, out), 0);
}

static bool holds_keyword(const struct detector *d, const char *text)
{
	for (size_t i = 0; i < DETECTOR_KEYWORDS && d->keywords[i]; i++) {
		if (strcasestr(text, d->keywords[i]))
			return true;
	}
	return false;
}

/* Count a line for the detector that it is of: it finds its own, and nothing is found of a line
 * that only looks like it. */
static void judge_line(struct redactor *r, const struct corpus_line *line, size_t *found,
		       size_t *refused)
{
	size_t d = shapes_by_name(shapes, line->rule);

	assert_int_equal(redactor_find(r, (struct bytes){line->text, line->size}), 0);
	if (line->rule[0] != '-' && d == detector_count)
		fprintf(stderr, "%s is no detector\n", line->rule);
	assert_true(line->rule[0] == '-' || d < detector_count);
	for (size_t k = 0; k < r->spans.count; k++)
		found[d] += r->spans.items[k].rule - 1 == d;
	if (!line->is_look_alike)
		return;
	if (r->spans.count)
		fprintf(stderr, "found in a look-alike of %s: %s\n", line->rule, line->text);
	assert_int_equal(r->spans.count, 0);
	refused[d] += holds_keyword(&detectors[d], line->text);
}

/* A detector without a line that it finds, and one that looks like it and is none, is refused. */
static void each_detector_has_lines_both_ways(void **state)
{
	static struct corpus_line line;
	struct redactor *r = new_both();
	size_t *found = calloc(detector_count + 1, sizeof(*found));
	size_t *refused = calloc(detector_count + 1, sizeof(*refused)), bad = 0;

	(void)state;
	for (size_t i = 0; i < CORPUS_FILES; i++) {
		FILE *file = fopen(corpus_files[i], "re");

		assert_non_null(file);
		while (corpus_next(file, &line))
			judge_line(r, &line, found, refused);
		fclose(file);
	}
	for (size_t d = 0; d < detector_count; d++) {
		/* By its place alone: see the tests of arguments. */
		if (!detectors[d].keywords[0] || (found[d] && refused[d]))
			continue;
		fprintf(stderr, "%s: %zu lines that it finds, %zu look-alikes\n", detectors[d].name,
			found[d], refused[d]);
		bad++;
	}
	assert_int_equal(bad, 0);
	assert_true(detector_count >= 150);
	free(found);
	free(refused);
	redactor_free(r);
}

/* What is cut out of a text leaves nothing that is cut again. */
static void what_was_cut_is_not_cut_again(void **state)
{
	static struct corpus_line line;
	struct redactor *r = new_both();
	const struct place place = {FIELD_data, -1};
	struct bytes once;

	(void)state;
	for (size_t i = 0; i < CORPUS_FILES; i++) {
		FILE *file = fopen(corpus_files[i], "re");

		assert_non_null(file);
		while (corpus_next(file, &line)) {
			arena_reset(r->arena);
			assert_int_equal(redactor_find(r, (struct bytes){line.text, line.size}), 0);
			r->marks.length = r->mark_count = 0;
			assert_int_equal(redactor_cut(r, (struct bytes){line.text, line.size}, 0,
						      line.size, &place, &once),
					 0);
			assert_int_equal(redactor_find(r, once), 0);
			if (r->spans.count)
				fprintf(stderr, "%.*s\n", (int)once.size, (const char *)once.data);
			assert_int_equal(r->spans.count, 0);
		}
		fclose(file);
	}
	redactor_free(r);
}

#define GITHUB "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17"

/* Whatever the border between two pieces: nothing of it is given out. */
static void a_split_shape_is_found(void **state)
{
	static const char *const texts[] = {
		"export X=ghp_" GITHUB " end\n",
		"Authorization: Bearer abcdef0123456789ABCDEFxyz\n",
		"DATABASE_URL=postgres://app:Xk3Lm9QpZ2vB@db/app\n",
		"GET /x?page=1&key=abcdefghij0123456789KLMNOP HTTP/1.1\n",
		"password = \"Xk3Lm9QpZ2vB7\"\n",
		"-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA1c7wq9kQXQ1qkQe2Hh\nq9kQXQ1qkQe2Hhx\n"
		"-----END PRIVATE KEY-----\nend\n",
	};
	static const char *const secrets[] = {GITHUB,	       "abcdef0123456789ABCDEFxyz",
					      "Xk3Lm9QpZ2vB",  "abcdefghij0123456789KLMNOP",
					      "Xk3Lm9QpZ2vB7", "q9kQXQ1qkQe2Hhx"};

	(void)state;
	for (size_t t = 0; t < sizeof(texts) / sizeof(*texts); t++) {
		size_t size = strlen(texts[t]);

		for (size_t split = 0; split <= size; split++) {
			struct redactor *r = new_both();
			struct output out = {0};
			uint64_t offset = 0;

			write_piece(r, &offset, 1, texts[t], split, &out);
			write_piece(r, &offset, 2, texts[t] + split, size - split, &out);
			assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
			assert_int_equal(out.next_offset, size);
			assert_true(holds(&out.data, "[REDACTED:"));
			for (size_t head = strlen(secrets[t]); head >= 8; head--) {
				char begin[64] = {0};

				memcpy(begin, secrets[t], head);
				assert_false(holds(&out.data, begin));
			}
			redactor_free(r);
			output_free(&out);
		}
	}
}

/* After a pause what is there is judged as it stands; the rest of a secret is cut when it comes. */
static void a_pause_leaves_no_rest(void **state)
{
	struct redactor *r = new_both();
	struct output out = {0};
	uint64_t offset = 0;

	(void)state;
	write_piece(r, &offset, 1, "token: ghp_zQWBuT", 17, &out);
	assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
	write_piece(r, &offset, 2, "SOoRi4A9spHcVY5ncnsDkxkJ0mLq17\n", 31, &out);
	assert_false(holds(&out.data, "SOoRi4A9"));
	redactor_free(r);
	output_free(&out);
}

static void nothing_is_held_of_plain_output(void **state)
{
	struct redactor *r = new_both();
	struct output out = {0};
	uint64_t offset = 0;

	(void)state;
	write_piece(r, &offset, 1, "make: all is done. [y/n] ", 25, &out);
	assert_data(&out, "make: all is done. [y/n] ");
	assert_int_equal(out.count, 1);
	redactor_free(r);
	output_free(&out);
}

static void pass_argv(struct redactor *r, const char *argv, size_t size, struct output *out)
{
	struct event e;

	*out = (struct output){0};
	event_init(&e, EVENT_process_exec, 1, 1);
	event_put_bytes(&e, FIELD_argv, argv, size);
	assert_int_equal(redact_event(r, &e, emit, out), 0);
}

static void arguments_are_secret_by_their_place(void **state)
{
	static const struct {
		const char *argv;
		size_t size;
		const char *gone, *left;
	} cases[] = {
#define ARGV(text) text, sizeof(text)
		{ARGV("tool\0--password\0plain words"), "plain words", "--password"},
		{ARGV("tool\0--password=plain words"), "plain words", "--password="},
		{ARGV("/usr/bin/curl\0-u\0me:x y\0http://h"), "x y", "me:"},
		{ARGV("curl\0--user=me:xyz"), "xyz", "--user=me:"},
		{ARGV("sudo\0sshpass\0-pabc\0ssh\0h"), "abc", "-p["},
		{ARGV("mysqldump\0-pabc\0shop"), "abc", "-p["},
		{ARGV("docker\0login\0-u\0me\0-p\0abc"), "abc", "\"me\""},
		{ARGV("openssl\0enc\0-pass\0pass:abc"), "abc", "pass:["},
		{ARGV("mkdir\0-p\0abc/def"), NULL, "abc/def"},
		{ARGV("docker\0run\0-p\0abc:80"), NULL, "abc:80"},
		{ARGV("mysql\0-p\0shop"), NULL, "shop"},
		{ARGV("sort\0-u\0a:b"), NULL, "a:b"},
		{ARGV("tool\0--token\0--verbose"), NULL, "--verbose"},
		{ARGV("env\0DB_PASSWORD=x y\0psql"), "x y", "DB_PASSWORD=["},
		{ARGV("docker\0run\0-e\0api_token=abc\0x"), "abc", "api_token=["},
		{ARGV("make\0TOKENS=12"), NULL, "TOKENS=12"},
		{ARGV("env\0API_KEY=$OTHER\0x"), NULL, "API_KEY=$OTHER"},
		{ARGV("tool\0--token=abc"), "abc", "--token=["},
#undef ARGV
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct redactor *r = new_both();
		struct output out;

		pass_argv(r, cases[i].argv, cases[i].size, &out);
		assert_true(!cases[i].gone || !holds(&out.lines, cases[i].gone));
		assert_true(holds(&out.lines, cases[i].left));
		assert_true(holds(&out.lines, "REDACTED") == (cases[i].gone != NULL));
		redactor_free(r);
		output_free(&out);
	}
}

/* Also where it is split between two. */
static void a_secret_over_two_arguments_is_found(void **state)
{
	static const char token[] = TOKEN;

	(void)state;
	for (size_t split = 1; split < strlen(token); split++) {
		struct redactor *r = new_both();
		struct output out;
		char argv[64] = "x";
		size_t size = 2;

		memcpy(argv + size, token, split);
		size += split + 1;
		memcpy(argv + size, token + split, strlen(token) - split);
		size += strlen(token) - split + 1;
		pass_argv(r, argv, size, &out);
		assert_true(holds(&out.lines, "\"argv\":[\"x\",\"[REDACTED:TOKEN:"));
		assert_true(strlen(token + split) < 4 || !holds(&out.lines, token + split));
		assert_true(split < 4 || !holds(&out.lines, "s3cr"));
		redactor_free(r);
		output_free(&out);
	}
}

static void a_secret_over_labels_is_found(void **state)
{
	struct redactor *r = new_both();
	struct output out = {0};
	struct event e;

	(void)state;
	event_init(&e, EVENT_dns_query, 1, 1);
	event_put_text(&e, FIELD_name, "S3CR.3T-T.0KEN.example.org");
	assert_int_equal(redact_event(r, &e, emit, &out), 0);
	assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
	assert_true(holds(&out.lines, "\"name\":\"[REDACTED:TOKEN:"));
	assert_true(holds(&out.lines, "].example.org\""));
	redactor_free(r);
	output_free(&out);
}

static void a_detector_can_be_switched_off(void **state)
{
	struct redactor *r = new_both();
	struct bytes text = {"ghp_" GITHUB, 40};

	(void)state;
	assert_int_equal(redactor_find(r, text), 0);
	assert_int_equal(r->spans.count, 1);
	assert_int_equal(redactor_switch_off(r, "github-token"), 0);
	assert_int_equal(redactor_find(r, text), 0);
	assert_int_equal(r->spans.count, 0);
	assert_int_equal(redactor_switch_off(r, "no-such-thing"), -ENOENT);
	redactor_free(r);
}

/* A text made to be slow is not read to the end, and what was not read goes. */
static void over_budget_all_goes(void **state)
{
	enum { SIZE = 200000 };
	struct redactor *r = new_both();
	char *text = malloc(SIZE);
	bool has_budget = false;

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		text[i] = "://"[i % 3];
	assert_int_equal(redactor_find(r, (struct bytes){text, SIZE}), 0);
	for (size_t i = 0; i < r->spans.count; i++)
		has_budget |= !strcmp(r->spans.items[i].form, "budget");
	assert_true(has_budget);
	assert_int_equal(r->spans.items[r->spans.count - 1].end, SIZE);
	free(text);
	redactor_free(r);
}

/* The places that say it, as one text of output and as the arguments of a shell's command. */
static void fields_are_found_in_all_places(void **state)
{
	static const struct {
		const char *text, *gone;
	} cases[] = {
		{"sshpass -p Xk3Lm9Qp ssh root@h", "Xk3Lm9Qp"},
		{"tool --password Xk3Lm9Qp list", "Xk3Lm9Qp"},
		{"tool --token=Xk3Lm9Qp list", "Xk3Lm9Qp"},
		{"curl -u me:Xk3Lm9Qp https://h/", "Xk3Lm9Qp"},
		{"curl -H 'Authorization: Bearer Xk3Lm9QpZ2' https://h/", "Xk3Lm9QpZ2"},
		{"curl -H 'Cookie: sid=Xk3Lm9QpZ2vB7' https://h/", "Xk3Lm9QpZ2vB7"},
		{"git clone https://me:Xk3Lm9Qp@h.example/r", "Xk3Lm9Qp"},
		{"GET https://h.example/r?a=1&token=Xk3Lm9QpZ2vB7 now", "Xk3Lm9QpZ2vB7"},
		{"export DEPLOY_TOKEN=Xk3Lm9QpZ2", "Xk3Lm9QpZ2"},
		{"machine h.example login me password Xk3Lm9Qp", "Xk3Lm9Qp"},
		{"protocol=https\nhost=h.example\nusername=me\npassword=Xk3L9\n", "Xk3L9"},
		{"https://me:Xk3Lm9Qp@git.example.org\n", "Xk3Lm9Qp"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct redactor *r = new_both();
		struct output out = {0};
		uint64_t offset = 0;
		char argv[256] = "sh\0-c";
		size_t size = strlen(cases[i].text);

		write_piece(r, &offset, 1, cases[i].text, size, &out);
		assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
		assert_true(holds(&out.data, "[REDACTED:"));
		assert_false(holds(&out.data, cases[i].gone));
		output_free(&out);

		memcpy(argv + 6, cases[i].text, size + 1);
		pass_argv(r, argv, size + 7, &out);
		assert_true(holds(&out.lines, "[REDACTED:"));
		assert_false(holds(&out.lines, cases[i].gone));
		redactor_free(r);
		output_free(&out);
	}
}

static bool luhn(const char *text)
{
	return checksum_luhn(bytes_of(text));
}

static bool bech32(const char *text)
{
	return checksum_bech32(bytes_of(text));
}

/* Known values of the formats' own documents, and what one character makes of them. */
static void checksums_are_right(void **state)
{
	(void)state;
	assert_true(bech32("nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"));
	assert_false(bech32("nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe4"));
	assert_true(bech32("A12UEL5L"));
	assert_false(bech32("A12UEL5"));
	assert_false(bech32(""));
	assert_true(luhn("4111 1111 1111 1111"));
	assert_false(luhn("4111111111111112"));
	assert_false(luhn("18"));
	assert_false(luhn("4111a11111111111"));
	assert_false(checksum_crc32(bytes_of("short")));
}

static void checksums_decide(void **state)
{
	const struct detector *d = shapes_detector(shapes, shapes_by_name(shapes, "github-token"));

	(void)state;
	assert_true(candidate_is_secret(d, (struct bytes){GITHUB, 36}));
	assert_false(
		candidate_is_secret(d, (struct bytes){"aaaaaaaabbbbbbbbaaaaaaaabbbbbbbbaaaa", 36}));
	assert_true(candidate_entropy((struct bytes){"abcd", 4}) > 1.99);
	assert_true(candidate_entropy((struct bytes){"aaaa", 4}) < 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_detector_has_lines_both_ways),
		cmocka_unit_test(what_was_cut_is_not_cut_again),
		cmocka_unit_test(a_split_shape_is_found),
		cmocka_unit_test(a_pause_leaves_no_rest),
		cmocka_unit_test(nothing_is_held_of_plain_output),
		cmocka_unit_test(arguments_are_secret_by_their_place),
		cmocka_unit_test(a_secret_over_two_arguments_is_found),
		cmocka_unit_test(a_secret_over_labels_is_found),
		cmocka_unit_test(a_detector_can_be_switched_off),
		cmocka_unit_test(over_budget_all_goes),
		cmocka_unit_test(fields_are_found_in_all_places),
		cmocka_unit_test(checksums_are_right),
		cmocka_unit_test(checksums_decide),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
