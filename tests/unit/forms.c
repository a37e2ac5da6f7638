/*
 * The forms of a secret, as other programs write them (Python's base64, urllib, json and html
 * modules made the texts here), wherever they stand and however they are split.
 */
#include "redact_output.h"

#define AWKWARD "p@ss w/ord'\"x&y<\303\251>"
#define FORM(text) text, sizeof(text) - 1

static const struct {
	const char *form;
	const char *text;
	size_t size;
} forms[] = {
	{"raw", FORM(AWKWARD)},
	{"base64", FORM("cEBzcyB3L29yZCcieCZ5PMOpPg==")},
	{"base64", FORM("cEBzcyB3L29yZCcieCZ5PMOpPgo")},
	{"base64", FORM("cEBzcyB3L29yZCcieCZ5PMOpPg==")},
	{"base64", FORM("cEBzcyB3L29yZCcieCZ5PMOpPgo")},
	{"base64", FORM("YXBAc3Mgdy9vcmQnIngmeTzDqT4=")},
	{"base64", FORM("YXBAc3Mgdy9vcmQnIngmeTzDqT4K")},
	{"base64", FORM("YXBAc3Mgdy9vcmQnIngmeTzDqT4=")},
	{"base64", FORM("YXBAc3Mgdy9vcmQnIngmeTzDqT4K")},
	{"base64", FORM("YWJwQHNzIHcvb3JkJyJ4Jnk8w6k+")},
	{"base64", FORM("YWJwQHNzIHcvb3JkJyJ4Jnk8w6k+Cg")},
	{"base64", FORM("YWJwQHNzIHcvb3JkJyJ4Jnk8w6k-")},
	{"base64", FORM("YWJwQHNzIHcvb3JkJyJ4Jnk8w6k-Cg")},
	{"hex", FORM("7040737320772f6f726427227826793cc3a93e")},
	{"hex", FORM("7040737320772F6F726427227826793CC3A93E")},
	{"hex", FORM("\\x70\\x40\\x73\\x73\\x20\\x77\\x2f\\x6f\\x72\\x64\\x27\\x22\\x78\\x26\\x79\\"
		     "x3c\\xc3\\xa9\\x3e")},
	{"hex", FORM("7040 7373 2077 2f6f 7264 2722 7826 793c\nc3a9 3e")},
	{"hex", FORM("0x70, 0x40, 0x73, 0x73, 0x20, 0x77, 0x2f, 0x6f,\n 0x72, 0x64, 0x27, 0x22, "
		     "0x78, 0x26, 0x79, 0x3c, 0xc3, 0xa9, 0x3e")},
	{"base32", FORM("OBAHG4ZAO4XW64TEE4RHQJTZHTB2SPQ=")},
	{"base32", FORM("MFYEA43TEB3S633SMQTSE6BGPE6MHKJ6")},
	{"hex", FORM("70:40:73:73:20:77:2F:6F:72:64:27:22:78:26:79:3C:C3:A9:3E")},
	{"percent", FORM("p%40ss%20w/ord%27%22x%26y%3C%C3%A9%3E")},
	{"percent", FORM("p%40ss%20w%2Ford%27%22x%26y%3C%C3%A9%3E")},
	{"percent", FORM("p%40ss+w%2Ford%27%22x%26y%3C%C3%A9%3E")},
	{"percent", FORM("%70%40%73%73%20%77%2f%6f%72%64%27%22%78%26%79%3c%c3%a9%3e")},
	{"percent", FORM("p%40ss%20w%2Ford'%22x%26y%3C%C3%A9%3E")},
	{"json", FORM("p@ss w/ord'\\\"x&y<\\u00e9>")},
	{"split", FORM("p@ss w/ord'\\\"x&y<\303\251>")},
	{"json", FORM("p@ss w\\/ord'\\\"x&y<\\u00e9>")},
	{"json", FORM("p@ss w/ord'\\\"x\\u0026y\\u003c\303\251\\u003e")},
	{"split", FORM("p@ss w/ord'\\''\"x&y<\303\251>")},
	{"split", FORM("p@ss w/ord'\\\"x&y<\303\251>")},
	{"html", FORM("p@ss w/ord&#x27;&quot;x&amp;y&lt;\303\251&gt;")},
	{"split",
	 FORM("p\000@\000s\000s\000 "
	      "\000w\000/\000o\000r\000d\000'\000\"\000x\000&\000y\000<\000\303\000\251\000>\000")},
	{"raw", FORM("P@SS W/ORD'\"X&Y<\303\251>")},
};

#define FORMS (sizeof(forms) / sizeof(*forms))

static struct redactor *redactor_of(const char *name, const char *value)
{
	const struct redact_secret secret = {name, value, strlen(value)};
	struct redactor *r;

	assert_int_equal(redactor_new(key, NULL, &secret, 1, &r), 0);
	return r;
}

static void write_piece(struct redactor *r, uint64_t offset, const char *text, size_t size,
			struct output *out)
{
	struct event e;

	event_init(&e, EVENT_output, 1, 1);
	event_put_text(&e, FIELD_stream, "stdout");
	event_put_u64(&e, FIELD_offset, offset);
	event_put_bytes(&e, FIELD_data, text, size);
	assert_int_equal(redact_event(r, &e, emit, out), 0);
}

/* What is left of a text of @size behind the markers in it. */
static size_t left_of(const struct output *out)
{
	size_t left = 0;
	const char *at = out->data.text, *end = at + out->data.length, *mark, *close;

	while ((mark = memmem(at, (size_t)(end - at), "[REDACTED:", 10))) {
		left += (size_t)(mark - at);
		close = memchr(mark, ']', (size_t)(end - mark));
		assert_non_null(close);
		at = close + 1;
	}
	return left + (size_t)(end - at);
}

/*
 * What may stay: of base64 the digit before, where a write ends there; what was put before the
 * secret, and what fills up the last digits. The backslash of \\x, the NUL of UTF-16.
 */
static size_t left_by(const char *form)
{
	return !strncmp(form, "base", 4) ? 5 : 1;
}

static void each_form_is_found_at_every_split(void **state)
{
	(void)state;
	for (size_t f = 0; f < FORMS; f++) {
		for (size_t split = 0; split <= forms[f].size; split++) {
			struct redactor *r = redactor_of("TOKEN", AWKWARD);
			struct output out = {0};
			char said[64];

			snprintf(said, sizeof(said), "\"form\":\"%s\"", forms[f].form);
			write_piece(r, 0, forms[f].text, split, &out);
			write_piece(r, split, forms[f].text + split, forms[f].size - split, &out);
			assert_int_equal(redact_flush(r, UINT64_MAX, emit, &out), 0);
			assert_true(left_of(&out) <= left_by(forms[f].form));
			assert_true(holds(&out.lines, said));
			redactor_free(r);
			output_free(&out);
		}
	}
}

/* Each in a list of its own: what is left of all items. */
static size_t left_of_items(const struct output *out)
{
	size_t left = 0;
	const char *at = memmem(out->lines.text, out->lines.length, "\"argv\":[", 8);
	const char *end = at ? memmem(at, 512, "],\"", 3) : NULL;

	assert_non_null(end);
	for (at += 8; at < end; at++) {
		if (!strncmp(at, "[REDACTED:", 10))
			at = strchr(at, ']');
		else if (*at == '\\')
			left++, at++;
		else
			left += *at != '"' && *at != ',';
	}
	return left;
}

static void each_form_is_found_over_two_arguments(void **state)
{
	(void)state;
	for (size_t f = 0; f < FORMS; f++) {
		for (size_t split = 0; split <= forms[f].size; split++) {
			struct output out = {0};
			struct redactor *r;
			struct event e;
			char argv[256];

			/* A NUL within is no argument. */
			if (memchr(forms[f].text, 0, forms[f].size))
				continue;
			r = redactor_of("TOKEN", AWKWARD);
			memcpy(argv, forms[f].text, split);
			argv[split] = 0;
			memcpy(argv + split + 1, forms[f].text + split, forms[f].size - split);
			argv[forms[f].size + 1] = 0;
			event_init(&e, EVENT_process_exec, 1, 1);
			event_put_bytes(&e, FIELD_argv, argv, forms[f].size + 2);
			event_put_u64(&e, FIELD_argv_bytes, forms[f].size + 2);
			assert_int_equal(redact_event(r, &e, emit, &out), 0);
			assert_true(left_of_items(&out) <= left_by(forms[f].form));
			redactor_free(r);
			output_free(&out);
		}
	}
}

static size_t left_after(const char *secret, const char *text, struct output *out)
{
	struct redactor *r = redactor_of("TOKEN", secret);
	size_t left;

	*out = (struct output){0};
	write_piece(r, 0, text, strlen(text), out);
	assert_int_equal(redact_flush(r, UINT64_MAX, emit, out), 0);
	left = left_of(out);
	redactor_free(r);
	return left;
}

static void leaves_of_json_are_secrets(void **state)
{
	static const char secret[] = "{\"user\": \"somebody-else\", \"n\": [123456789, true],"
				     " \"pw\": \"hunter2hunter2\", \"short\": \"abc\"}";
	struct output out;

	(void)state;
	assert_int_equal(left_after(secret, "<hunter2hunter2> 123456789 abc\n", &out), 8);
	assert_false(holds(&out.lines, "hunter2"));
	assert_true(holds(&out.lines, "> [REDACTED:TOKEN:"));
	output_free(&out);
	/* "somebody-else" in base64 */
	left_after(secret, "c29tZWJvZHktZWxzZQ==\n", &out);
	assert_true(holds(&out.lines, "\"form\":\"base64\""));
	output_free(&out);
}

static void lines_are_secrets(void **state)
{
	static const char secret[] = "-----BEGIN KEY-----\nMIIEowIBAAKCAQEA1c7\n"
				     "  wq9kQXQ1qkQe2Hh\r\nab\n-----END KEY-----\n";
	struct output out;

	(void)state;
	assert_int_equal(left_after(secret, "ab -----BEGIN KEY----- x", &out), 24);
	output_free(&out);
	assert_int_equal(left_after(secret, "x wq9kQXQ1qkQe2Hh y MIIEowIBAAKCAQEA1c7 z", &out), 7);
	output_free(&out);
}

/* As `base64` writes it: 76 columns, with something before it in the second case. */
static void wrapped_base64_is_found(void **state)
{
	static const char secret[] =
		"0123456789abcdefghijklmnopqrstuvwxyz-0123456789-ABCDEFGHIJKLMNOPQRSTUVWXYZ-01234";
	static const char alone[] =
		"MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6LTAxMjM0NTY3ODktQUJDREVGR0hJ\n"
		"SktMTU5PUFFSU1RVVldYWVotMDEyMzQ=\n";
	static const char behind[] =
		"c29tZXRoaW5nIDAxMjM0NTY3ODlhYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ei0wMTIzNDU2Nzg5\n"
		"LUFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXWFlaLTAxMjM0\n";
	struct output out;

	(void)state;
	assert_true(left_after(secret, alone, &out) <= 3);
	output_free(&out);
	assert_true(left_after(secret, behind, &out) <= strlen("c29tZXRoaW5nI\n"));
	output_free(&out);
}

static void long_secrets_are_found_in_pieces(void **state)
{
	enum { SIZE = 5000 };
	static char secret[SIZE + 1], text[3 * SIZE + 1];
	struct output out;

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		secret[i] = (char)('a' + i * i * 7 % 23);
	memset(text, '.', sizeof(text) - 1);
	memcpy(text + 1000, secret, SIZE);
	assert_int_equal(left_after(secret, text, &out), 2 * SIZE);
	output_free(&out);
}

/* What only looks like a form is left alone. */
static void look_alikes_stay(void **state)
{
	static const char text[] = "hunter2hunter hunter2-hunter2 68756e746572 aHVudGVyMg== "
				   "h%75nter2hunter2, hunter2\\nhunter2\n";
	struct output out;

	(void)state;
	assert_int_equal(left_after("hunter2hunter2", text, &out), sizeof(text) - 1);
	output_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_is_found_at_every_split),
		cmocka_unit_test(each_form_is_found_over_two_arguments),
		cmocka_unit_test(leaves_of_json_are_secrets),
		cmocka_unit_test(lines_are_secrets),
		cmocka_unit_test(wrapped_base64_is_found),
		cmocka_unit_test(long_secrets_are_found_in_pieces),
		cmocka_unit_test(look_alikes_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
