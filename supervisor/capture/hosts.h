/*
 * Which name stands behind an address: the one for which the session's own DNS answers gave it
 * last. Bounded: the oldest is forgotten for a new one.
 */
#pragma once

#include "../record/event.h"

#define HOSTS_MAX 4096
#define HOST_NAME_MAX_SHOWN 255 /* longer ones (escaped bytes count) are not kept */

struct hosts;

/* Where a host's name was found, to be asked for again. 0: nowhere. */
typedef uint64_t host_ref;

int hosts_new(struct hosts **ret_hosts);
void hosts_free(struct hosts *h);

/* @size is 4 or 16. Without memory the name is not learnt. */
void hosts_learn(struct hosts *h, const uint8_t *address, size_t size, struct bytes name);

host_ref hosts_find(const struct hosts *h, const uint8_t *address, size_t size);

/* {NULL, 0} if the address has got another name since, or its place another address. */
struct bytes hosts_name(const struct hosts *h, host_ref ref);
