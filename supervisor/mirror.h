/*
 * A copy of one record that a vitrined lends (lend.h), in a directory of one's own. At any time it
 * is one that its writer could have left: no checkpoint over records that are not there, no end
 * before what it is the end of. So whatever reads records reads it, also while it grows.
 */
#pragma once

#include "fault.h"
#include "record/store.h"

struct mirror;

/*
 * Make the copy of record @id below @sessions_fd (borrowed), of what the vitrined at @socket
 * (borrowed) has now; @query is what it is asked for. 0 or -errno with a fault: "forbidden" where
 * it is not the user's own.
 */
int mirror_new(int socket, int sessions_fd, const char *id, const char *query,
	       struct mirror **ret_mirror, struct fault *ret_fault);
void mirror_free(struct mirror *m);

/* True as long as the session has not ended, by what is copied. */
bool mirror_is_live(const struct mirror *m);
/* Copy what has come since. 0 or -errno with a fault. */
int mirror_go_on(struct mirror *m, struct fault *ret_fault);
