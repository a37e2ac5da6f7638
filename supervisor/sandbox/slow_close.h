/*
 * Descriptors whose last close waits for grace periods of the kernel: of fanotify groups, of mounts
 * that are in no namespace, and of namespaces with mounts.
 */
#pragma once

#include <stddef.h>

#define SLOW_CLOSE_MAX 5

/* Close @count of them (SLOW_CLOSE_MAX at most; -1: none), in this order, in a thread of its own:
 * nobody waits for it. */
void slow_close(const int *fds, size_t count);
