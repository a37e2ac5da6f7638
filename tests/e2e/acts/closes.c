/*
 * Connections that both ends close at the same moment: how much went through each does not depend
 * on who was first.
 */
#include "truth.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#define TALK_BYTES 10
#define SPREAD 2000 /* of one end's close behind the other's, in turns of an empty loop */

struct pair {
	int listener, count;
	atomic_int arrivals;
};

/* Say as much as is heard, and close when the other end is about to. */
static void talk(struct pair *p, int fd, bool is_late)
{
	char bytes[TALK_BYTES] = {0};
	size_t heard = 0;

	MUST(send(fd, bytes, sizeof(bytes), 0));
	while (heard < sizeof(bytes))
		heard += (size_t)MUST(recv(fd, bytes, sizeof(bytes) - heard, 0));

	int both = atomic_fetch_add(&p->arrivals, 1) / 2 * 2 + 2;
	while (atomic_load(&p->arrivals) < both)
		continue;
	for (volatile int turn = 0; is_late && turn < both * 7 % SPREAD; turn++)
		continue;
	MUST(close(fd));
}

static void *answer(void *context)
{
	struct pair *p = context;

	for (int i = 0; i < p->count; i++)
		talk(p, MUST(accept4(p->listener, NULL, NULL, SOCK_CLOEXEC)), i % 2);
	return NULL;
}

void acts_closes(int count)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct pair p = {.listener = MUST(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
			 .count = count};
	socklen_t size = sizeof(address);
	pthread_t thread;

	MUST(bind(p.listener, (struct sockaddr *)&address, sizeof(address)));
	MUST(listen(p.listener, 1));
	MUST(getsockname(p.listener, (struct sockaddr *)&address, &size));
	if (pthread_create(&thread, NULL, answer, &p) != 0)
		acts_fail("pthread_create", __FILE__, __LINE__);
	for (int i = 0; i < count; i++) {
		int fd = MUST(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

		MUST(connect(fd, (struct sockaddr *)&address, sizeof(address)));
		talk(&p, fd, i % 2 == 0);
	}
	pthread_join(thread, NULL);
	MUST(close(p.listener));
	truth("closes", 0);
	truth_number("connections", count);
	truth_end();
}
