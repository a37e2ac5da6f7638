/* Fields and descriptors of a request. */
#include "call.h"

#include "../record/cleanup.h"

#include <errno.h>
#include <string.h>

int call_refuse(struct call *c, int error, const char *why)
{
	c->why = why;
	return error;
}

int call_number(struct call *c, const char *name, uint64_t max, uint64_t otherwise,
		uint64_t *ret_value)
{
	const json_t *value = json_object_get(c->body, name);

	if (!value || json_is_null(value)) {
		*ret_value = otherwise;
		return 0;
	}
	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    (uint64_t)json_integer_value(value) > max)
		return call_refuse(c, -EINVAL, "a number is missing or out of range");
	*ret_value = json_integer_value(value);
	return 0;
}

int call_word(struct call *c, const char *name, const char *const *words, int *ret_index)
{
	const json_t *value = json_object_get(c->body, name);
	int index = 0;

	while (value && words[index] &&
	       (!json_is_string(value) || strcmp(words[index], json_string_value(value)) != 0))
		index++;
	if (!words[index])
		return call_refuse(c, -EINVAL, "a word is none of those allowed");
	*ret_index = index;
	return 0;
}

/* The place of the descriptor of that name in the message; -1 if it has none. */
static int find_fd(const struct call *c, const char *name)
{
	const json_t *names = json_object_get(c->body, "fds");

	for (size_t i = 0; i < json_array_size(names) && i < c->message->fd_count; i++) {
		const char *there = json_string_value(json_array_get(names, i));

		if (there && !strcmp(there, name))
			return (int)i;
	}
	return -1;
}

int call_borrow_fd(const struct call *c, const char *name)
{
	int i = find_fd(c, name);

	return i < 0 ? -1 : c->message->fds[i];
}

int call_take_fd(struct call *c, const char *name)
{
	int i = find_fd(c, name);

	return i < 0 ? -1 : take_fd(c->message->fds[i]);
}

int call_fields(struct call *c, json_t **ret_fields)
{
	json_t *fields = json_object_get(c->body, "fields");

	if (!json_is_object(fields))
		return call_refuse(c, -EINVAL, "no fields");
	*ret_fields = fields;
	return 0;
}

int call_exec(struct call *c, struct exec_relays **ret_exec)
{
	uint64_t number;
	int e = call_number(c, "exec", UINT32_MAX, 0, &number);
	if (e < 0)
		return e;
	*ret_exec = recording_exec(c->recording, number);
	return *ret_exec ? 0 : call_refuse(c, -ENOENT, "no such command");
}

void call_put_error(json_t *reply, int error, const char *why)
{
	json_object_set_new(reply, "errno", json_integer(error));
	json_object_set_new(reply, "error", json_string(why ? why : strerror(error)));
}
