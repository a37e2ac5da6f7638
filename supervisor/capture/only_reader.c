/* The order is the kernel's: a user that is given up takes the capabilities along unless they are
 * kept, and what is effective goes in any case. See only_reader.h. */
#include "only_reader.h"

#include "../record/core_dump.h"

#include <errno.h>
#include <grp.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NOBODY 65534

static int keep_one_capability(void)
{
	const cap_value_t one = CAP_DAC_READ_SEARCH;
	cap_t caps = cap_init();
	int r = caps ? 0 : -ENOMEM;

	if (r == 0 &&
	    (cap_set_flag(caps, CAP_PERMITTED, 1, &one, CAP_SET) < 0 ||
	     cap_set_flag(caps, CAP_EFFECTIVE, 1, &one, CAP_SET) < 0 || cap_set_proc(caps) < 0))
		r = -errno;
	if (caps)
		cap_free(caps);
	return r;
}

int only_reader_become(void)
{
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setgroups(0, NULL) < 0 ||
	    setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return -errno;

	int r = keep_one_capability();
	if (r < 0)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	/* Others run as nobody too. */
	return core_dump_forbid();
}
