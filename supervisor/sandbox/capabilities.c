/*
 * Capabilities. See capabilities.h.
 */
#include "capabilities.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

int capabilities_keep(uint64_t kept)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{.effective = (uint32_t)kept, .permitted = (uint32_t)kept},
		{.effective = (uint32_t)(kept >> 32), .permitted = (uint32_t)(kept >> 32)},
	};

	return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}
