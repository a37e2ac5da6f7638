/*
 * What the tree of a session is like at its end, as vitrine-final tells it: a file.final record for
 * each name that is not as the session found it, and what of that no record explains.
 */
#pragma once

#include "explained.h"

#include <jansson.h>
#include <systemd/sd-event.h>

struct final;
struct recording;

struct final_options {
	sd_event *loop;
	struct recording *recording; /* gets the records */
	struct explained *explained; /* what its records say; borrowed; NULL: is not known */
	uint32_t uid_base, uid_count;
	uint64_t seconds; /* that vitrine-final may take */
	int socket; /* to it; taken over on success; -1: there is nothing in the tree to tell */
};

int final_new(const struct final_options *options, struct final **ret_final);
void final_free(struct final *f);

/*
 * All records of the session are written: write those of its tree. Calls @done once, maybe before
 * it returns; @done may free @f.
 */
typedef void final_done(void *context);
void final_read(struct final *f, final_done *done, void *context);

/*
 * For session.end, as JSON text (malloc'ed) or NULL: how whole the look was; and, where it can be
 * said, what no record explains. @lost: records of files that are declared lost explain it.
 */
char *final_summary(const struct final *f);
char *final_unexplained(const struct final *f, bool lost);
