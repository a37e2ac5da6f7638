/*
 * Finds our own programs, in a build directory as well as under any prefix. The search starts at
 * /proc/self/exe and never looks at PATH: root must not run what somebody else put there.
 */
#include "install.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const places[] = {"",	"/../libexec/vitrine", "/../sbin",
				     "/../bin", "/../../sbin",	       "/../../bin"};

int install_find(const char *program, char ret_dir[PATH_MAX])
{
	char self[PATH_MAX], path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return -errno;
	self[n] = 0;
	char *slash = strrchr(self, '/');
	if (!slash)
		return -ENOENT;
	*slash = 0;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char dir[PATH_MAX];

		if (snprintf(dir, sizeof(dir), "%s%s", self, places[i]) >= (int)sizeof(dir) ||
		    snprintf(path, sizeof(path), "%s/%s", dir, program) >= (int)sizeof(path))
			continue;
		if (access(path, X_OK) == 0) {
			memcpy(ret_dir, dir, sizeof(dir));
			return 0;
		}
	}
	return -ENOENT;
}
