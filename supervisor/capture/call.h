/*
 * A request of vitrined's while it is served: its fields and descriptors, checked as they are read.
 * What is wrong is refused, never asserted, although it comes from root.
 */
#pragma once

#include "recordings.h"

#include <stdint.h>

struct call {
	struct recordings *all;
	struct control_message *message;
	json_t *body;		     /* of the message */
	struct recording *recording; /* of its session; NULL where the request needs none */
	json_t *reply;		     /* what is put into it goes along */
	const char *why;	     /* words, if it is refused; static or of the recording */
};

/* Returns @error, so that a function can `return call_refuse(...)`. */
int call_refuse(struct call *c, int error, const char *why);

/* A number of 0 to @max; @otherwise where there is none. 0 or -EINVAL. */
int call_number(struct call *c, const char *name, uint64_t max, uint64_t otherwise,
		uint64_t *ret_value);

/* The place of a word in @words (NULL-terminated); 0 where the message has none. 0 or -EINVAL. */
int call_word(struct call *c, const char *name, const char *const *words, int *ret_index);

/* The object `fields`, borrowed. 0 or -EINVAL. */
int call_fields(struct call *c, json_t **ret_fields);

/* The command `exec` of the recording. 0, -EINVAL or -ENOENT. */
int call_exec(struct call *c, struct exec_relays **ret_exec);

/* The descriptor of that name, -1 if there is none: for the time of the call, or for good. */
int call_borrow_fd(const struct call *c, const char *name);
int call_take_fd(struct call *c, const char *name);

/* Put into @reply what went wrong; @why NULL: what errno says. */
void call_put_error(json_t *reply, int error, const char *why);

/*
 * The key that signs the record, in *ret_key, made of @seed and @key; left alone where the message
 * has none. 0 or -EINVAL. @seed is the caller's to wipe.
 */
int call_signing(struct call *c, uint8_t seed[SIGN_SEED_SIZE], struct checkpoints_key *key,
		 const struct checkpoints_key **ret_key);

/* Serve `start`: recordings_start.c. */
int call_serve_start(struct call *c);
/* Serve `prepare`, `forget` and `open`: recordings_open.c. */
int call_serve_prepare(struct call *c);
int call_serve_forget(struct call *c);
int call_serve_open(struct call *c);
/* Serve `close`: recordings_close.c. */
int call_serve_close(struct call *c);
