/* vitrine-recorder: started by vitrined, spoken to on descriptor 3. See recordings.h. */
#include "recordings.h"

#include "../record/jansson_cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define SOCKET_FD 3

int main(void)
{
	struct log log;
	int flags = fcntl(SOCKET_FD, F_GETFL);

	json_set_up();
	log_init(&log, "vitrine-recorder", LOG_LEVEL_NOTICE);
	if (flags < 0) {
		log_write(&log, LOG_LEVEL_ERROR,
			  "is started by vitrined, with a socket as descriptor 3");
		return EXIT_FAILURE;
	}
	fcntl(SOCKET_FD, F_SETFL, flags | O_NONBLOCK);
	fcntl(SOCKET_FD, F_SETFD, FD_CLOEXEC);

	/* It ends when vitrined closes the socket, so that nothing that is known goes unwritten. */
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);

	int e = recordings_run(SOCKET_FD, &log);
	if (e < 0) {
		log_write(&log, LOG_LEVEL_ERROR, "%s", strerror(-e));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
