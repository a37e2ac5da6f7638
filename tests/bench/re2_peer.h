/* RE2 as a peer of the shape net: all patterns as one set, behind three C functions. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct re2_peer;

/* NULL when out of memory. *ret_count says how many of the patterns it can read. */
struct re2_peer *re2_peer_new(const char *const *patterns, size_t count, size_t *ret_count);
void re2_peer_free(struct re2_peer *p);
/* How many of the patterns match somewhere in @text. */
size_t re2_peer_search(const struct re2_peer *p, const char *text, size_t size);

#ifdef __cplusplus
}
#endif
