/* Both nets over one text. */
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

static int find(struct redactor *r, struct bytes text, bool may_go_on, size_t *ret_held,
		size_t *ret_context)
{
	struct found found = {r, text};
	int error = redactor_find_exact(r, text);

	if (error || !r->shapes)
		return error;
	return shapes_find(r->shapes, text, may_go_on, ret_held, ret_context, take_hit, &found);
}

int redactor_find(struct redactor *r, struct bytes text)
{
	return find(r, text, false, NULL, NULL);
}

int redactor_find_begun(struct redactor *r, struct bytes text, size_t *ret_begun,
			size_t *ret_context)
{
	struct span span;
	size_t held = text.size, context = text.size, begun;
	int error = find(r, text, true, &held, &context);

	if (error)
		return error;
	begun = secrets_begun(r->secrets, text, &span);
	*ret_begun = begun < held ? begun : held;
	if (r->shapes && *ret_begun < text.size)
		begun = *ret_begun > SHAPES_CONTEXT_MOST ? *ret_begun - SHAPES_CONTEXT_MOST : 0;
	*ret_context = context < begun ? context : begun;
	return 0;
}
