/* A frame deeper than ours go, wiped. */
#include "stack_wipe.h"

#include <string.h>

#define DEEPEST (128 << 10)

__attribute__((noinline)) void stack_wipe(void)
{
	char room[DEEPEST];

	explicit_bzero(room, sizeof(room));
}
