/* Both nets over one text. */
#include "reading.h"
#include "redactor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct detector *redactor_detector(const struct redactor *r, size_t detector)
{
	return shapes_detector(shape_search_shapes(r->shapes), detector);
}

const char *redactor_rule(const struct redactor *r, uint32_t rule)
{
	size_t secrets = secrets_count(r->secrets);

	return rule < secrets ? secrets_name(r->secrets, rule)
			      : redactor_detector(r, rule - secrets)->name;
}

size_t redactor_marker(const struct redactor *r, const struct span *span, char out[MARKER_ROOM])
{
	return (size_t)snprintf(out, MARKER_ROOM, "[REDACTED:%s:%08x]",
				redactor_rule(r, span->rule), span->tag);
}

int redactor_add_shape(struct redactor *r, struct bytes text, size_t start, size_t end,
		       size_t detector, const char *form)
{
	struct bytes value = {(const char *)text.data + start, end - start};

	return spans_merge(&r->spans,
			   (struct span){
				   .start = start,
				   .end = end,
				   .rule = (uint32_t)(secrets_count(r->secrets) + detector),
				   .tag = secrets_tag(r->secrets, value),
				   .form = form,
			   });
}

/* A text in which something was found. */
struct found {
	struct redactor *r;
	struct bytes text;
};

static const char *form_of(const struct redactor *r, const struct shape_hit *hit)
{
	if (hit->is_over_budget)
		return "budget";
	return strcmp(redactor_detector(r, hit->detector)->category, "field") ? "shape" : "field";
}

static int take_hit(void *context, const struct shape_hit *hit)
{
	const struct found *f = context;

	return redactor_add_shape(f->r, f->text, hit->start, hit->end, hit->detector,
				  form_of(f->r, hit));
}

int redactor_find_exact(struct redactor *r, struct bytes text)
{
	r->spans.count = 0;
	return secrets_find(r->secrets, text, &r->spans);
}

static int find_shapes(struct redactor *r, struct bytes text, bool may_go_on, size_t *ret_held,
		       size_t *ret_context)
{
	struct found found = {r, text};

	if (!r->shapes)
		return 0;
	return shapes_find(r->shapes, text, may_go_on, ret_held, ret_context, take_hit, &found);
}

int redactor_add_shapes(struct redactor *r, struct bytes text)
{
	return find_shapes(r, text, false, NULL, NULL);
}

int redactor_find(struct redactor *r, struct bytes text)
{
	int error = redactor_find_exact(r, text);

	return error ? error : redactor_add_shapes(r, text);
}

/* A line that was drawn over so far may be drawn over further. */
#define LINE_MOST 1024

static size_t drawn_line(struct bytes text)
{
	const char *bytes = text.data;
	size_t at = text.size, least = at > LINE_MOST ? at - LINE_MOST : 0;
	bool is_drawn;

	while (at > least && bytes[at - 1] != '\n')
		at--;
	return reading_differs((struct bytes){bytes + at, text.size - at}, &is_drawn) ? at
										      : text.size;
}

static size_t least_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

int redactor_find_begun(struct redactor *r, struct bytes text, struct unfinished *ret_rest)
{
	struct unfinished rest = {.held = text.size, .context = text.size};
	int error = redactor_find_exact(r, text);

	if (!error)
		error = find_shapes(r, text, true, &rest.held, &rest.context);
	if (!error)
		error = secrets_begun(r->secrets, text, &rest.begun);
	if (error)
		return error;
	if (begun_has_to_wait(&rest.begun))
		rest.held = least_of(rest.held, rest.begun.start);
	if (r->shapes && rest.held < text.size)
		rest.context = least_of(rest.context, rest.held > SHAPES_CONTEXT_MOST
							      ? rest.held - SHAPES_CONTEXT_MOST
							      : 0);
	rest.context = least_of(rest.context, least_of(rest.begun.start, rest.held));
	rest.context = least_of(rest.context, drawn_line(text));
	*ret_rest = rest;
	return 0;
}
