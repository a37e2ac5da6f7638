/*
 * From the launcher's child to pid 1 of a session: mounts, root, capabilities, then vitrine-init.
 */
#pragma once

#include "namespaces.h"

/* Never returns: becomes vitrine-init, or reports a failure on the control socket and ends. */
_Noreturn void session_enter(const struct session_start *start);
