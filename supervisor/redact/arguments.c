/* A table of options, each with the programs for which it means a secret. */
#include "arguments.h"
#include "candidate.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum where {
	NEXT,	    /* the next argument, or behind = */
	NEXT_COLON, /* of the next argument what is behind its first colon */
	NEXT_PERCENT,
	NEXT_PASS, /* the next argument, if it begins with pass: */
	ATTACHED,  /* in the same argument */
	NEXT_OR_ATTACHED,
};

/* Without a program: of any. A program that ends with * stands for all that begin so. */
static const struct rule {
	const char *program, *command, *option;
	enum where where;
} rules[] = {
	{NULL, NULL, "--password", NEXT},
	{NULL, NULL, "--passwd", NEXT},
	{NULL, NULL, "--passphrase", NEXT},
	{NULL, NULL, "--pass", NEXT},
	{NULL, NULL, "--token", NEXT},
	{NULL, NULL, "--secret", NEXT},
	{NULL, NULL, "--api-key", NEXT},
	{NULL, NULL, "--apikey", NEXT},
	{NULL, NULL, "--api-token", NEXT},
	{NULL, NULL, "--access-token", NEXT},
	{NULL, NULL, "--auth-token", NEXT},
	{NULL, NULL, "--access-key", NEXT},
	{NULL, NULL, "--secret-key", NEXT},
	{NULL, NULL, "--client-secret", NEXT},
	{NULL, NULL, "--http-password", NEXT},
	{NULL, NULL, "--ftp-password", NEXT},
	{NULL, NULL, "--proxy-password", NEXT},
	{NULL, NULL, "--db-password", NEXT},
	{"curl", NULL, "-u", NEXT_COLON},
	{"curl", NULL, "--user", NEXT_COLON},
	{"curl", NULL, "-U", NEXT_COLON},
	{"curl", NULL, "--proxy-user", NEXT_COLON},
	{"http", NULL, "-a", NEXT_COLON},
	{"https", NULL, "-a", NEXT_COLON},
	{"http", NULL, "--auth", NEXT_COLON},
	{"sshpass", NULL, "-p", NEXT_OR_ATTACHED},
	{"mysql*", NULL, "-p", ATTACHED},
	{"mariadb*", NULL, "-p", ATTACHED},
	{"mongo*", NULL, "-p", NEXT},
	{"redis-cli", NULL, "-a", NEXT},
	{"ldap*", NULL, "-w", NEXT},
	{"sqlcmd", NULL, "-P", NEXT_OR_ATTACHED},
	{"zip", NULL, "-P", NEXT},
	{"unzip", NULL, "-P", NEXT},
	{"7z*", NULL, "-p", ATTACHED},
	{"smbclient", NULL, "-U", NEXT_PERCENT},
	{"openssl", NULL, "-pass", NEXT_PASS},
	{"openssl", NULL, "-passin", NEXT_PASS},
	{"openssl", NULL, "-passout", NEXT_PASS},
	{"docker", "login", "-p", NEXT},
	{"podman", "login", "-p", NEXT},
	{"nerdctl", "login", "-p", NEXT},
	{"buildah", "login", "-p", NEXT},
	{"helm", "login", "-p", NEXT},
	{"az", "login", "-p", NEXT},
	{"oc", "login", "-p", NEXT},
};

/* How a value is judged that its name makes a secret: no variable, no placeholder. */
static const struct detector assignment = {.name = "argument", .check = CHECK_VALUE};

static bool is_text(struct bytes item, const char *text)
{
	return item.size == strlen(text) && !memcmp(item.data, text, item.size);
}

static bool begins(struct bytes item, const char *text)
{
	size_t size = strlen(text);

	return item.size >= size && !memcmp(item.data, text, size);
}

static struct bytes base_name(struct bytes path)
{
	const char *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;
	size_t skip = slash ? (size_t)(slash + 1 - (const char *)path.data) : 0;

	return (struct bytes){(const char *)path.data + skip, path.size - skip};
}

static bool is_program(struct bytes path, const char *program)
{
	struct bytes name = base_name(path);
	size_t size = strlen(program);

	if (program[size - 1] != '*')
		return is_text(name, program);
	return name.size >= size - 1 && !memcmp(name.data, program, size - 1);
}

static bool has_command(const struct bytes *items, size_t count, const char *command)
{
	for (size_t i = 1; i < count; i++) {
		if (is_text(items[i], command))
			return true;
	}
	return false;
}

/* sudo, env and their like run another program: its name may be any of the first arguments. */
#define PROGRAM_AMONG 6

static bool applies(const struct rule *rule, const struct bytes *items, size_t i)
{
	bool is_there = !rule->program;

	for (size_t at = 0; at < i && at < PROGRAM_AMONG && !is_there; at++)
		is_there = is_program(items[at], rule->program);
	return is_there && (!rule->command || has_command(items, i, rule->command));
}

/* The bytes of @item behind the first @c. */
static bool behind(struct bytes item, char c, size_t *ret_start)
{
	const char *at = memchr(item.data, c, item.size);

	if (!at)
		return false;
	*ret_start = (size_t)(at + 1 - (const char *)item.data);
	return *ret_start < item.size;
}

/* Item @i stands behind the rule's option. */
static bool is_next(const struct rule *rule, struct bytes item, size_t *ret_start)
{
	*ret_start = 0;
	switch (rule->where) {
	case NEXT:
	case NEXT_OR_ATTACHED:
		return item.size && !begins(item, "--");
	case NEXT_COLON:
		return behind(item, ':', ret_start);
	case NEXT_PERCENT:
		return behind(item, '%', ret_start);
	case NEXT_PASS:
		*ret_start = 5;
		return begins(item, "pass:") && item.size > 5;
	default:
		return false;
	}
}

/* The rule's option stands in the item itself. */
static bool is_within(const struct rule *rule, struct bytes item, size_t *ret_start)
{
	size_t size = strlen(rule->option);
	bool is_long = rule->option[1] == '-';

	if (item.size <= size || !begins(item, rule->option))
		return false;
	*ret_start = size;
	if (rule->where == ATTACHED || rule->where == NEXT_OR_ATTACHED)
		return !is_long;
	if (!is_long || ((const char *)item.data)[size] != '=' || item.size == size + 1)
		return false;
	*ret_start = size + 1;
	return rule->where != NEXT_COLON || behind(item, ':', ret_start);
}

/* NAME ends with one of these, as a word of its own: its value is secret, whatever it looks like.
 */
static bool is_secret_name(struct bytes name)
{
	static const char *const ends[] = {
		"PASSWORD",    "PASSWD",	 "PASSPHRASE",	"SECRET",     "TOKEN",
		"APIKEY",      "API_KEY",	 "ACCESS_KEY",	"SECRET_KEY", "PRIVATE_KEY",
		"SIGNING_KEY", "ENCRYPTION_KEY", "CREDENTIALS", "MASTER_KEY",
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t size = strlen(ends[i]);
		const char *end = (const char *)name.data + name.size - size;

		if (name.size >= size && !strncasecmp(end, ends[i], size))
			return true;
	}
	return false;
}

/* NAME=VALUE, as env, sudo and docker -e take it. */
static bool is_assignment(struct bytes item, size_t *ret_start)
{
	const char *t = item.data;
	struct bytes name;
	size_t at = 0;

	while (at < item.size && (isalnum((unsigned char)t[at]) || t[at] == '_'))
		at++;
	if (!at || isdigit((unsigned char)*t) || item.size - at < 2 || t[at] != '=')
		return false;
	name = (struct bytes){t, at};
	*ret_start = at + 1;
	return is_secret_name(name);
}

bool argument_is_secret(const struct bytes *items, size_t count, size_t i, size_t *ret_start,
			size_t *ret_end)
{
	if (i >= count)
		return false;
	if (is_assignment(items[i], ret_start) &&
	    candidate_is_secret(&assignment,
				(struct bytes){(const char *)items[i].data + *ret_start,
					       items[i].size - *ret_start})) {
		*ret_end = items[i].size;
		return true;
	}
	if (i == 0)
		return false;
	for (size_t k = 0; k < sizeof(rules) / sizeof(*rules); k++) {
		const struct rule *rule = &rules[k];
		bool is_found = is_text(items[i - 1], rule->option)
					? is_next(rule, items[i], ret_start)
					: is_within(rule, items[i], ret_start);

		if (!is_found || !applies(rule, items, i) || candidate_is_source(items[i]))
			continue;
		*ret_end = items[i].size;
		return true;
	}
	return false;
}
