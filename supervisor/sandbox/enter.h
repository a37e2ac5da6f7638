/*
 * From the launcher's child to pid 1 of a session: mounts, root, capabilities, then what init does.
 */
#pragma once

#include "namespaces.h"

/* Never returns: it is vitrine-init, or reports a failure on the control socket and ends. */
_Noreturn void session_enter(const struct session_start *start);
