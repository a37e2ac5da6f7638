/* The request record.access: who is about to read a record says so (announce.h). */
#pragma once

#include "client.h"

/*
 * Write down that the client reads record @id ("-": all): what it asks for is @query. 0 or -errno
 * with a fault.
 */
int access_note(struct client *c, const char *id, struct bytes query, struct fault *ret_fault);
#define ACCESS_QUERY_MOST 4096

/* Write it down, if the client is root or of the group that may read records. */
void access_serve(struct client *c, struct control_message *m);
