/*
 * vitrined's loop: clients, their requests, the recorder and the sessions between them.
 */
#pragma once

#include "host.h"

struct supervisor;

/*
 * @private_fd: the one client's socket of a private daemon, which ends with it (owned from here
 * on); -1: listen on config->socket. 0 or -errno with a fault.
 */
int supervisor_new(const struct config *config, const struct log *log, int private_fd,
		   struct supervisor **ret_supervisor, struct fault *ret_fault);
/* Run until told to end and every session has ended. Returns the exit status. */
int supervisor_run(struct supervisor *s);
void supervisor_free(struct supervisor *s);
