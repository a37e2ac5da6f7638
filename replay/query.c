/*
 * Parses a query to a tree of nodes, and walks it.
 *
 *   or    = and { "or" and }
 *   and   = unary { [ "and" ] unary }
 *   unary = ( "not" | "!" ) unary | "(" or ")" | term
 */
#include "query_term.h"

#include "../supervisor/record/cleanup.h"
#include "../supervisor/record/printable.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

enum node_type { NODE_TERM, NODE_NOT, NODE_AND, NODE_OR };

struct node {
	enum node_type type;
	uint16_t left, right; /* numbers of nodes; of a term, left is its number */
};

struct query {
	struct node *nodes;
	struct term *terms;
	size_t node_count, term_count, node_room, term_room;
	uint16_t root;
	bool is_empty;
	uint16_t *codes; /* pool of the patterns */
	char *texts;	 /* pool of the values, of use while it is parsed */
};

struct parse {
	struct query *q;
	const char *text;
	size_t at;
	size_t codes_used, texts_used;
	unsigned int depth;
	struct query_error *error;
};

void query_free(struct query *q)
{
	if (!q)
		return;
	free(q->nodes);
	free(q->terms);
	free(q->codes);
	free(q->texts);
	free(q);
}

__attribute__((format(printf, 3, 4))) static int refuse(struct parse *p, size_t position,
							const char *why, ...)
{
	va_list arguments;

	va_start(arguments, why);
	p->error->position = position;
	vsnprintf(p->error->why, sizeof(p->error->why), why, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* ---- words ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.';
}

static void skip_blanks(struct parse *p)
{
	while (is_blank(p->text[p->at]))
		p->at++;
}

/* The end of a bare word at @at. */
static bool ends_word(char c)
{
	return !c || is_blank(c) || c == '(' || c == ')';
}

/* True, and passed, if the next word is the keyword @word. */
static bool take_keyword(struct parse *p, const char *word)
{
	size_t length = strlen(word);

	if (strncasecmp(p->text + p->at, word, length) || !ends_word(p->text[p->at + length]))
		return false;
	p->at += length;
	skip_blanks(p);
	return true;
}

/* Read a value up to its end, quotes and backslashes taken off. */
static int read_value(struct parse *p, struct term_value *ret_value)
{
	uint16_t *codes = p->q->codes + p->codes_used + 1;
	char *text = p->q->texts + p->texts_used, quote = 0;
	size_t from = p->at, quoted_from = 0, count = 0;

	for (; quote || !ends_word(p->text[p->at]); p->at++) {
		unsigned char c = (unsigned char)p->text[p->at];

		if (!c)
			return refuse(p, quoted_from, "this quote is not closed");
		if (!quote && (c == '"' || c == '\'')) {
			quote = (char)c;
			quoted_from = p->at;
			continue;
		}
		if (quote && c == (unsigned char)quote) {
			quote = 0;
			continue;
		}
		if (c == '\\') {
			c = (unsigned char)p->text[++p->at];
			if (!c)
				return refuse(p, p->at - 1, "nothing stands behind this backslash");
			codes[count] = c;
		} else if (!quote && c == '*') {
			codes[count] = WILD_ANY;
		} else if (!quote && c == '?') {
			codes[count] = WILD_ONE;
		} else {
			codes[count] = c;
		}
		text[count++] = (char)c;
	}
	if (p->at == from)
		return refuse(p, from, "a value is missing here");
	text[count] = 0;
	p->codes_used += count + 2;
	p->texts_used += count + 1;
	*ret_value = (struct term_value){text, codes, count, from};
	return 0;
}

/* ---- nodes ---- */

static int more_room(void *array, size_t *room, size_t count, size_t size)
{
	size_t wanted = *room ? *room * 2 : 8;
	void *grown;

	if (count < *room)
		return 0;
	grown = realloc(*(void **)array, wanted * size);
	if (!grown)
		return -ENOMEM;
	*(void **)array = grown;
	*room = wanted;
	return 0;
}

static int add_node(struct parse *p, enum node_type type, uint16_t left, uint16_t right,
		    uint16_t *ret_number)
{
	struct query *q = p->q;
	int r;

	if (q->node_count >= QUERY_NODES_MAX)
		return refuse(p, p->at, "more than %d terms", QUERY_NODES_MAX / 2);
	r = more_room(&q->nodes, &q->node_room, q->node_count, sizeof(*q->nodes));
	if (r < 0)
		return r;

	q->nodes[q->node_count] = (struct node){type, left, right};
	*ret_number = (uint16_t)q->node_count++;
	return 0;
}

/* Read what stands before the op, and the op. True: there is one. */
static bool take_field(struct parse *p, char *ret_name, size_t room, char *ret_op)
{
	size_t length = 0;
	char c;

	while (is_name(p->text[p->at + length]))
		length++;
	c = p->text[p->at + length];
	if (!length || length >= room || !c || !strchr(":=~<>", c))
		return false;
	memcpy(ret_name, p->text + p->at, length);
	ret_name[length] = 0;
	*ret_op = c;
	p->at += length + (c != '<' && c != '>'); /* these belong to the value */
	return true;
}

static int parse_term(struct parse *p, uint16_t *ret_number)
{
	struct query *q = p->q;
	char name[64], op = 0;
	struct term_value value = {0};
	size_t from = p->at;
	struct term *t;
	const char *why;
	int r = more_room(&q->terms, &q->term_room, q->term_count, sizeof(*q->terms));

	if (r < 0)
		return r;
	t = &q->terms[q->term_count];
	*t = (struct term){.subject = SUBJECT_TEXTS, .is_part = true};
	if (take_field(p, name, sizeof(name), &op)) {
		t->is_part = op == '~';
		if (!term_set_subject(t, name))
			return refuse(p, from,
				      "there is no field \"%s\"; 'vitrine schema' lists them, and "
				      "\"quotes\" make a text of it",
				      name);
	}
	r = read_value(p, &value);
	if (r < 0)
		return r;
	why = term_set_value(t, &value);
	if (why)
		return refuse(p, value.position, "%s", why);
	return add_node(p, NODE_TERM, (uint16_t)q->term_count++, 0, ret_number);
}

static int parse_or(struct parse *p, uint16_t *ret_number);

static int parse_group(struct parse *p, uint16_t *ret_number)
{
	size_t from = p->at++;
	int r;

	skip_blanks(p);
	r = parse_or(p, ret_number);
	if (r < 0)
		return r;
	if (p->text[p->at] != ')')
		return refuse(p, from, "this parenthesis is not closed");
	p->at++;
	skip_blanks(p);
	return 0;
}

static int parse_unary(struct parse *p, uint16_t *ret_number)
{
	bool is_not;
	int r;

	if (p->depth >= QUERY_DEPTH_MAX)
		return refuse(p, p->at, "nested more than %d deep", QUERY_DEPTH_MAX);
	if (!p->text[p->at] || p->text[p->at] == ')')
		return refuse(p, p->at, "a term is missing here");

	p->depth++;
	is_not = p->text[p->at] == '!';
	p->at += is_not;
	if (is_not || take_keyword(p, "not")) {
		skip_blanks(p);
		r = parse_unary(p, ret_number);
		if (r == 0)
			r = add_node(p, NODE_NOT, *ret_number, 0, ret_number);
	} else if (p->text[p->at] == '(') {
		r = parse_group(p, ret_number);
	} else {
		r = parse_term(p, ret_number);
		skip_blanks(p);
	}
	p->depth--;
	return r;
}

/* True if "or" comes next; it stays where it is. */
static bool or_comes(struct parse *p)
{
	return !strncasecmp(p->text + p->at, "or", 2) && ends_word(p->text[p->at + 2]);
}

static int parse_and(struct parse *p, uint16_t *ret_number)
{
	uint16_t left = 0, right = 0;
	int r = parse_unary(p, &left);

	while (r == 0 && p->text[p->at] && p->text[p->at] != ')' && !or_comes(p)) {
		take_keyword(p, "and");
		r = parse_unary(p, &right);
		if (r == 0)
			r = add_node(p, NODE_AND, left, right, &left);
	}
	if (r == 0)
		*ret_number = left;
	return r;
}

static int parse_or(struct parse *p, uint16_t *ret_number)
{
	uint16_t left = 0, right = 0;
	int r = parse_and(p, &left);

	while (r == 0 && take_keyword(p, "or")) {
		r = parse_and(p, &right);
		if (r == 0)
			r = add_node(p, NODE_OR, left, right, &left);
	}
	if (r == 0)
		*ret_number = left;
	return r;
}

int query_parse(const char *text, struct query **ret_query, struct query_error *ret_error)
{
	cleanup(query) struct query *q = calloc(1, sizeof(*q));
	struct parse p = {.q = q, .text = text, .error = ret_error};
	size_t length = strlen(text);
	int r;

	if (!q)
		return -ENOMEM;
	if (length > QUERY_LENGTH_MAX)
		return refuse(&p, QUERY_LENGTH_MAX, "longer than %d bytes", QUERY_LENGTH_MAX);
	/* Each value has a byte at least, and takes two codes and one byte more than it has. */
	q->codes = calloc(3 * length + 3, sizeof(*q->codes));
	q->texts = malloc(2 * length + 2);
	if (!q->codes || !q->texts)
		return -ENOMEM;

	skip_blanks(&p);
	q->is_empty = !text[p.at];
	r = q->is_empty ? 0 : parse_or(&p, &q->root);
	if (r < 0)
		return r;
	if (text[p.at])
		return refuse(&p, p.at, "this parenthesis was not opened");
	*ret_query = take(q);
	return 0;
}

int query_from_option(const char *text, const char *called, FILE *errors, struct query **ret_query)
{
	struct printable printable = printable_for(errors, 400);
	struct query_error error = {0};
	int r;

	*ret_query = NULL;
	if (!text)
		return 0;
	r = query_parse(text, ret_query, &error);
	if (r == -ENOMEM)
		fprintf(errors, "%s: out of memory\n", called);
	if (r != -EINVAL)
		return r;
	fprintf(errors, "%s: bad filter, at character %zu: %s: ", called, error.position + 1,
		error.why);
	printable_word(errors, &printable, bytes_of(text));
	fputc('\n', errors);
	return r;
}

/* ---- matching ---- */

static bool match_node(const struct query *q, uint16_t number, const struct origin *origin,
		       const struct event *e)
{
	const struct node *node = &q->nodes[number];

	switch (node->type) {
	case NODE_TERM:
		return term_match(&q->terms[node->left], origin, e);
	case NODE_NOT:
		return !match_node(q, node->left, origin, e);
	case NODE_AND:
		return match_node(q, node->left, origin, e) &&
		       match_node(q, node->right, origin, e);
	case NODE_OR:
		return match_node(q, node->left, origin, e) ||
		       match_node(q, node->right, origin, e);
	}
	return false;
}

bool query_match(const struct query *q, const struct origin *origin, const struct event *e)
{
	return q->is_empty || match_node(q, q->root, origin, e);
}

/* What is not there is known for certain, what is there is not: a not says nothing. */
static bool node_can_match(const struct query *q, uint16_t number, const struct grams *g)
{
	const struct node *node = &q->nodes[number];

	switch (node->type) {
	case NODE_TERM:
		return term_can_match(&q->terms[node->left], g);
	case NODE_NOT:
		return true;
	case NODE_AND:
		return node_can_match(q, node->left, g) && node_can_match(q, node->right, g);
	case NODE_OR:
		return node_can_match(q, node->left, g) || node_can_match(q, node->right, g);
	}
	return true;
}

bool query_can_match(const struct query *q, const struct grams *g)
{
	return q->is_empty || node_can_match(q, q->root, g);
}
