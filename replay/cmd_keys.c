/*
 * vitrine keys: the host's signing key, as far as it may be seen.
 */
#include "commands.h"

#include "../supervisor/record/base64.h"
#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/ledger_write.h"
#include "../supervisor/record/store.h"
#include "evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#define CALLED "vitrine keys"

struct keys_arguments {
	const char *state;
	bool json, current;
};

/* "INDEX ed25519 KEY", as verify takes it. */
static void write_key(uint64_t index, const uint8_t public[SIGN_PUBLIC_SIZE], bool json)
{
	char key[BASE64_LENGTH(SIGN_PUBLIC_SIZE) + 1] = "";

	base64_encode(public, SIGN_PUBLIC_SIZE, key);
	if (json)
		printf("{\"index\":%" PRIu64 ",\"algorithm\":\"" SIGN_ALGORITHM
		       "\",\"public\":\"%s\"",
		       index, key);
	else
		printf("%" PRIu64 " " SIGN_ALGORITHM " %s\n", index, key);
}

static int fail(const char *what, int r)
{
	fprintf(stderr, CALLED ": %s: %s\n", what,
		r == -ENOENT	     ? "there is no key yet: the first session makes it"
		: r == -EKEYREJECTED ? "the key is not the one that the end of the ledger names"
				     : strerror(-r));
	return 1;
}

static int read_book(const char *state, struct trusted_keys *keys, struct book *ret_book)
{
	cleanup(close_fd) int fd = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? -errno : evidence_read_keys(NULL, state, CALLED, stderr, keys);

	return r ? r : book_read(fd, LEDGER_FILE, keys, ret_book);
}

/* What the ledger came to; needs no root. */
static int keys_show(const struct keys_arguments *a)
{
	struct trusted_keys keys = {0};
	struct book book = {0};
	uint64_t counts[LEDGER_KIND_COUNT] = {0};
	int r = read_book(a->state, &keys, &book);

	if (r || !book.count) {
		trusted_keys_free(&keys);
		book_free(&book);
		return fail(a->state, r ? r : -ENOENT);
	}
	const struct book_line *last = &book.lines[book.count - 1];
	for (size_t i = 0; i < book.count; i++)
		counts[book.lines[i].line.kind]++;
	if (!a->json)
		fputs("next key  ", stdout);
	write_key(last->line.index + 1, last->line.next, a->json);
	for (size_t i = 0; i < LEDGER_KIND_COUNT; i++)
		printf(a->json ? ",\"%s\":%" PRIu64 : "%-9s %" PRIu64 "\n", ledger_kind_names[i],
		       counts[i]);
	if (a->json)
		printf(",\"trusted\":%s}\n", last->is_trusted ? "true" : "false");
	else
		printf("trusted   %s\n", last->is_trusted ? "yes" : "no");
	trusted_keys_free(&keys);
	book_free(&book);
	return 0;
}

/* The keys that nothing before vouches for; with --current the one of now, which vouches only for
 * what comes after. */
static int keys_export(const struct keys_arguments *a)
{
	struct trusted_keys keys = {0};
	struct book book = {0};
	int r = read_book(a->state, &keys, &book);

	if (!r && a->current && book.count)
		write_key(book.lines[book.count - 1].line.index + 1,
			  book.lines[book.count - 1].line.next, false);
	else if (!r)
		for (size_t i = 0; i < keys.count; i++)
			write_key(keys.list[i].index, keys.list[i].public, false);
	if (!r && !keys.count)
		r = -ENOENT;
	trusted_keys_free(&keys);
	book_free(&book);
	return r ? fail(a->state, r) : 0;
}

static int keys_rotate(const struct keys_arguments *a)
{
	uint8_t public[SIGN_PUBLIC_SIZE];
	uint64_t index;
	int r = ledger_key(a->state, &index, public);

	if (!r)
		r = ledger_add(a->state, LEDGER_ROTATE, "-", NULL, true, NULL);
	if (!r)
		r = ledger_key(a->state, &index, public);
	if (r)
		return fail(a->state, r);
	write_key(index, public, a->json);
	if (a->json)
		puts("}");
	return 0;
}

static const struct {
	const char *name;
	int (*run)(const struct keys_arguments *a);
} acts[] = {{"show", keys_show}, {"export", keys_export}, {"rotate", keys_rotate}};

static int keys_run(const void *values, int argument_count, char **arguments)
{
	const char *act = argument_count ? arguments[0] : "show";

	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		if (!strcmp(acts[i].name, act))
			return acts[i].run(values);
	fprintf(stderr, CALLED ": there is no such act; allowed: show, export, rotate\n");
	return COMMAND_STATUS_USAGE;
}

/* clang-format off */
#define OFFSET(member) offsetof(struct keys_arguments, member)

const struct command command_keys = {
	.name = "keys",
	.summary = "show, export or rotate the key that signs records",
	.positional = "[show|export|rotate]",
	.positional_max = 1,
	.options = (const struct command_option[]){
		{"current", 0, NULL, "export: the key of now instead of the first one", OPTION_FLAG, OFFSET(current)},
		{"json", 'j', NULL, "show, rotate: one JSON object", OPTION_FLAG, OFFSET(json)},
		{"state", 0, "DIR", "state directory (" STORE_DEFAULT_STATE ")", OPTION_TEXT, OFFSET(state)},
		{0},
	},
	.values_size = sizeof(struct keys_arguments),
	.defaults = &(const struct keys_arguments){.state = STORE_DEFAULT_STATE},
	.description =
		"Every record is signed by keys that a key of the host vouches for. The host's key is made with the "
		"first session. Each line of the ledger, <state>/chain, takes it one step on, and what was used is "
		"overwritten: who gets hold of the key of today cannot sign what is of yesterday.\n\n"
		"show tells which key comes next, and how many lines of each kind the ledger has.\n\n"
		"export prints public keys for 'vitrine verify --key', one a line: the first key of the host, which "
		"leads to all others. Keep the output where root of this host cannot reach it.\n\n"
		"rotate, for root, goes on with a new key that is not made of the one before; the old one signs it, so "
		"that what was exported still leads there. Do it when somebody may have seen the key.",
	.sections = (const struct command_section[]){
		{"FILES",
		 "<state>.sign: the private key, root's alone, beside the state directory.\n\n"
		 "<state>.pub: the public keys that nothing before vouches for.\n\n"
		 "<state>/chain: the ledger."},
		{0},
	},
	.run = keys_run,
};
/* clang-format on */
