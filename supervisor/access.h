/* The request record.access: who is about to read a record says so (announce.h). */
#pragma once

#include "client.h"

/* Write it down, if the client is root or of the group that may read records. */
void access_serve(struct client *c, struct control_message *m);
