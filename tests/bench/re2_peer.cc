/*
 * RE2 has no look-around, branch reset or possessive repetition and repeats at most 1,000 times:
 * what it cannot say is left out of a pattern, so it has less to do than we have.
 */
#include "re2_peer.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <string>
#include <vector>

struct re2_peer {
	re2::RE2::Set set;

	re2_peer(const re2::RE2::Options &options) : set(options, re2::RE2::UNANCHORED)
	{
	}
};

/* The end of the group that begins at @at. */
static size_t end_of_group(const std::string &pattern, size_t at)
{
	size_t depth = 0;
	bool in_class = false;

	for (size_t i = at; i < pattern.size(); i++) {
		if (pattern[i] == '\\')
			i++;
		else if (in_class)
			in_class = pattern[i] != ']' || pattern[i - 1] == '[';
		else if (pattern[i] == '[')
			in_class = true;
		else if (pattern[i] == '(')
			depth++;
		else if (pattern[i] == ')' && --depth == 0)
			return i + 1;
	}
	return pattern.size();
}

static void cut_look_around(std::string &pattern)
{
	static const char *const heads[] = {"(?<!", "(?<=", "(?!", "(?="};

	for (const char *head : heads) {
		for (size_t at; (at = pattern.find(head)) != std::string::npos;) {
			size_t end = end_of_group(pattern, at);

			while (end < pattern.size() && pattern[end] == '?')
				end++;
			pattern.erase(at, end - at);
		}
	}
}

static void replace_all(std::string &text, const std::string &from, const std::string &to)
{
	for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
		text.replace(at, from.size(), to);
}

static void cut_repetitions(std::string &pattern)
{
	for (size_t at = 0; (at = pattern.find(",", at)) != std::string::npos; at++) {
		size_t end = at + 1;

		while (end < pattern.size() && isdigit(pattern[end]))
			end++;
		if (end < pattern.size() && pattern[end] == '}' && end - at > 4)
			pattern.replace(at + 1, end - at - 1, "1000");
	}
}

re2_peer *re2_peer_new(const char *const *patterns, size_t count, size_t *ret_count)
{
	re2::RE2::Options options;
	re2_peer *peer;

	options.set_encoding(re2::RE2::Options::EncodingLatin1);
	options.set_log_errors(false);
	options.set_max_mem(256 << 20);
	peer = new (std::nothrow) re2_peer(options);
	*ret_count = 0;
	for (size_t i = 0; peer && i < count; i++) {
		std::string pattern = patterns[i];

		cut_look_around(pattern);
		replace_all(pattern, "(?|", "(?:");
		replace_all(pattern, "}+", "}");
		cut_repetitions(pattern);
		*ret_count += peer->set.Add(pattern, nullptr) >= 0;
	}
	if (peer && !peer->set.Compile()) {
		delete peer;
		return nullptr;
	}
	return peer;
}

void re2_peer_free(struct re2_peer *p)
{
	delete p;
}

size_t re2_peer_search(const struct re2_peer *p, const char *text, size_t size)
{
	std::vector<int> found;

	p->set.Match(re2::StringPiece(text, size), &found);
	return found.size();
}
