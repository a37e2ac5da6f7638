/*
 * Matching with one place to come back to for each kind of star, so that a hostile path costs at
 * most its length squared.
 */
#include "glob.h"

/* Where a star stands: the pattern behind it, and how much of the path it has taken. */
struct star {
	const char *pattern; /* NULL: none */
	size_t at;
};

/* A set like [a-z]; *pattern is behind the bracket and goes behind the closing one. An unclosed one
 * is a plain bracket. */
static bool match_set(const char **pattern, unsigned char c)
{
	const char *p = *pattern;
	bool is_negated = *p == '!' || *p == '^', is_in = false;

	p += is_negated;
	for (bool is_first = true; *p && (*p != ']' || is_first); is_first = false) {
		unsigned char low = *p++, high = low;

		if (*p == '-' && p[1] && p[1] != ']') {
			high = p[1];
			p += 2;
		}
		if (c >= low && c <= high)
			is_in = true;
	}
	if (*p != ']')
		return c == '[';
	*pattern = p + 1;
	return is_in != is_negated && c != '/';
}

/* One character of the path against one element of the pattern, which is not a star. */
static bool match_one(const char **pattern, unsigned char c)
{
	switch (*(*pattern)++) {
	case '?':
		return c != '/';
	case '[':
		return match_set(pattern, c);
	case '\\':
		if (**pattern)
			return (unsigned char)*(*pattern)++ == c;
		/* fall through */
	default:
		return (unsigned char)(*pattern)[-1] == c;
	}
}

/* Let the star take one more character. */
static bool extend(struct star *star, bool crosses, struct bytes path, const char **ret_pattern,
		   size_t *ret_at)
{
	const char *text = path.data;

	if (!star->pattern || star->at == path.size || (!crosses && text[star->at] == '/'))
		return false;
	*ret_at = ++star->at;
	*ret_pattern = star->pattern;
	return true;
}

bool glob_match(const char *pattern, struct bytes path)
{
	struct star one = {0}, two = {0};
	const char *text = path.data;
	size_t at = 0;

	for (;;) {
		if (pattern[0] == '*' && pattern[1] == '*') {
			while (*pattern == '*')
				pattern++;
			two = (struct star){pattern, at};
			one.pattern = NULL;
		} else if (*pattern == '*') {
			one = (struct star){++pattern, at};
		} else if (*pattern ? at < path.size && match_one(&pattern, text[at])
				    : at == path.size) {
			if (!*pattern && at == path.size)
				return true;
			at++;
		} else if (!extend(&one, false, path, &pattern, &at)) {
			one.pattern = NULL;
			if (!extend(&two, true, path, &pattern, &at))
				return false;
		}
	}
}
