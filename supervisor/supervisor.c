/*
 * vitrined's loop. Messages of the recorder come before those of clients, and the end of one of our
 * own processes before both: what is seen first is acted on first.
 */
#include "supervisor.h"

#include "announce.h"
#include "client.h"
#include "host_metrics.h"
#include "leftovers.h"
#include "listener.h"
#include "passed.h"
#include "pool.h"
#include "record/cleanup.h"
#include "retention.h"
#include "session.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#define CLIENTS_MAX 2048
#define CLIENTS_OF_USER_MAX 256 /* of root as many as there are */
#define CLIENTS_OF_ROOT 64	/* of them at least, however many users come together */
#define LEFTOVERS_US 100000	/* between two looks at records that are still written */
#define LEFTOVERS_WAIT_NS 5000000000ull
#define LINGER_MS 1000
#define RETENTION_US (3600ull * 1000000)
#define RETENTION_NEXT_US 20000 /* between two records, for what is more urgent */

struct supervisor {
	struct log log;
	const struct config *config;
	sd_event *loop;
	struct host host;
	bool has_host;
	int listening;			/* -1: not */
	char socket[108];		/* where */
	struct client *clients, *owner; /* owner: whom a private daemon serves; without him
					       it ends with its last session */
	size_t client_count;
	bool is_private;
	bool is_leaving; /* ends when the last session has ended */
	bool has_failed; /* exits with 1 */
	bool has_lost_recorder;
	sd_event_source *recorder, *names, *leftovers, *retention;
	sd_event_source *turn; /* runs while clients wait to be read */
};

/* ---- the end ---- */

static void exit_when_empty(struct supervisor *s)
{
	bool is_alone = s->is_private && !s->owner;

	if ((s->is_leaving || is_alone) && s->host.session_count == 0)
		sd_event_exit(s->loop, s->has_failed);
}

static void end_all(struct supervisor *s, const struct verdict *verdict)
{
	s->is_leaving = true;
	for (struct session *session = s->host.sessions, *next; session; session = next) {
		next = session_next(session);
		session_end(session, verdict, true);
	}
	exit_when_empty(s);
}

/* The first signal ends the sessions, and with them the daemon; the second one does not wait. */
static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
	struct supervisor *s = context;
	struct verdict killed = {.reason = VERDICT_KILLED, .by = "vitrined"};

	(void)source;
	log_write(&s->log, LOG_LEVEL_NOTICE, "signal %u: ending %zu sessions", info->ssi_signo,
		  s->host.session_count);
	sd_notify(0, "STOPPING=1");
	if (s->is_leaving)
		sd_event_exit(s->loop, 1);
	else
		end_all(s, &killed);
	return 0;
}

/* ---- clients ---- */

/* With what was not read yet descriptors are closed that the client chose. */
static void close_client(int socket)
{
	int unread = 0;

	shutdown(socket, SHUT_RDWR);
	if (ioctl(socket, FIONREAD, &unread) == 0 && unread == 0)
		close(socket);
	else
		passed_close(&socket, 1);
}

static void drop_client(struct client *c)
{
	struct supervisor *s = c->supervisor;
	struct session *session = c->session[0] ? session_find(&s->host, c->session) : NULL;
	struct verdict gone = {.reason = VERDICT_KILLED, .by = "client"};

	for (struct client **at = &s->clients; *at; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			metric_set(s->host.metrics->clients, --s->client_count);
			break;
		}
	sd_event_source_disable_unref(c->source);
	close_client(c->socket);
	if (c == s->owner)
		s->owner = NULL;
	client_end_exec(c);
	free(c);
	if (session) {
		session_forget_client(session);
		session_end(session, &gone, true);
	}
	exit_when_empty(s);
}

/* Clients who wait are read again as soon as they need not any more. */
static int on_turn(sd_event_source *source, void *context)
{
	struct supervisor *s = context;
	const struct client *refused = NULL;

	for (struct client *c = s->clients; c; c = c->next) {
		if (!c->is_waiting || (refused && refused->who.uid == c->who.uid))
			continue;
		if (session_has_to_wait(&s->host, c->who.uid)) {
			refused = c;
			continue;
		}
		c->is_waiting = false;
		sd_event_source_set_io_events(c->source, EPOLLIN);
	}
	return refused ? 0 : sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

/* Its request stays in its socket, so that it is the client who keeps it; that it goes is seen. 0
 * or -errno. */
static int make_wait(struct client *c)
{
	struct supervisor *s = c->supervisor;
	int r = s->turn ? sd_event_source_set_enabled(s->turn, SD_EVENT_ON)
			: sd_event_add_post(s->loop, &s->turn, on_turn, s);

	if (r >= 0)
		r = sd_event_source_set_io_events(c->source, 0);
	c->is_waiting = r >= 0;
	return r;
}

static int on_client(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct client *c = context;
	struct control_message m;

	(void)source, (void)events;
	if (c->is_waiting) {
		drop_client(c);
		return 0;
	}
	int r = client_has_to_wait(c);
	if (r == -EAGAIN || (r > 0 && make_wait(c) >= 0))
		return 0;
	r = control_receive_from(fd, passed_close, &m);
	if (r == -EAGAIN)
		return 0;
	if (r == -EBADMSG)
		client_refuse(c, "bad_request", "not a message");
	if (r < 0) {
		drop_client(c);
		return 0;
	}
	client_serve(c, &m);
	control_message_free(&m);
	exit_when_empty(c->supervisor);
	return 0;
}

/* No user may take the places of all, nor all users that of root. */
static bool is_crowding(const struct supervisor *s, uid_t uid)
{
	size_t own = 0;

	if (uid == 0)
		return s->client_count >= CLIENTS_MAX;
	for (const struct client *c = s->clients; c; c = c->next)
		own += c->who.uid == uid;
	return own >= CLIENTS_OF_USER_MAX || s->client_count >= CLIENTS_MAX - CLIENTS_OF_ROOT;
}

/* Take a connected socket as a client; it is closed in any case when this fails. */
static int add_client(struct supervisor *s, int fd)
{
	cleanup(close_fd) int socket = fd;
	socklen_t size = sizeof(struct ucred);
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	*c = (struct client){.host = &s->host, .supervisor = s, .socket = socket};
	int r = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &c->who, &size) < 0 ? -errno : 0;
	if (r == 0 && is_crowding(s, c->who.uid)) {
		client_refuse(c, "capacity", "as many connections are open as may be");
		r = -EBUSY;
	}
	if (r == 0)
		r = sd_event_add_io(s->loop, &c->source, socket, EPOLLIN, on_client, c);
	if (r < 0) {
		free(c);
		return r;
	}
	take_fd(socket);
	c->next = s->clients;
	s->clients = c;
	metric_set(s->host.metrics->clients, ++s->client_count);
	return 0;
}

/* Who connects has something to ask, as a rule by now. */
static int on_connect(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct supervisor *s = context;
	int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)source, (void)events;
	if (client < 0)
		return 0;
	if (s->is_leaving)
		close(client);
	else if (add_client(s, client) == 0)
		on_client(NULL, client, EPOLLIN, s->clients);
	return 0;
}

/* ---- our own processes ---- */

static int watch_recorder(struct supervisor *s);

/* Everything that runs is killed; its records are finished by a new recorder, once. */
static void lose_recorder(struct supervisor *s, const char *who)
{
	struct fault f = {0};
	bool again = !s->has_lost_recorder && s->host.session_count > 0;

	log_write(&s->log, LOG_LEVEL_ERROR, "%s ended; %zu sessions are killed", who,
		  s->host.session_count);
	metric_add(s->host.metrics->recorder_losses, 1);
	s->has_failed = s->is_leaving = s->has_lost_recorder = true;
	s->recorder = sd_event_source_disable_unref(s->recorder);
	s->names = sd_event_source_disable_unref(s->names);
	if (again && host_restart_recorder(&s->host, &f) == 0 && watch_recorder(s) == 0) {
		for (struct session *session = s->host.sessions, *next; session; session = next) {
			next = session_next(session);
			session_lost(session);
		}
	} else {
		if (f.text[0])
			log_write(&s->log, LOG_LEVEL_ERROR, "%s", f.text);
		while (s->host.sessions)
			session_abandon(s->host.sessions);
	}
	exit_when_empty(s);
}

static int on_recorder(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct supervisor *s = context;
	struct recorder_message m;

	(void)source, (void)fd, (void)events;
	for (;;) {
		int r = recorder_receive(s->host.recorder, &m);

		if (r == -EAGAIN)
			break;
		if (r < 0) {
			lose_recorder(s, "the recorder");
			return 0;
		}
		struct session *session = session_find(&s->host, m.session);
		if (session)
			session_recorder_message(session, &m);
		else
			pool_recorder_message(s->host.pool, &m);
		recorder_message_free(&m);
	}
	exit_when_empty(s);
	return 0;
}

/* Without names of files the record would be less than it says. */
static int on_names(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct supervisor *s = context;

	(void)source, (void)fd, (void)events;
	s->names = sd_event_source_disable_unref(s->names);
	if (recorder_is_alive(s->host.recorder)) /* else its end is the cause, and told by itself */
		lose_recorder(s, "the resolver of names");
	return 0;
}

static int watch_recorder(struct supervisor *s)
{
	int r = sd_event_add_io(s->loop, &s->recorder, recorder_socket(s->host.recorder), EPOLLIN,
				on_recorder, s);

	if (r >= 0)
		r = sd_event_source_set_priority(s->recorder, SD_EVENT_PRIORITY_IMPORTANT);
	if (r >= 0)
		r = sd_event_add_io(s->loop, &s->names, recorder_names_pidfd(s->host.recorder),
				    EPOLLIN, on_names, s);
	return r < 0 ? r : 0;
}

static int on_launcher(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct supervisor *s = context;
	struct verdict lost = {.reason = VERDICT_SUPERVISOR_LOST,
			       .text = "the launcher ended; the session was killed"};

	(void)fd, (void)events;
	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	log_write(&s->log, LOG_LEVEL_ERROR, "the launcher ended; %zu sessions are killed",
		  s->host.session_count);
	s->has_failed = true;
	end_all(s, &lost);
	return 0;
}

static int on_leftovers(sd_event_source *source, uint64_t now_us, void *context)
{
	struct supervisor *s = context;

	(void)source, (void)now_us;
	s->leftovers = sd_event_source_disable_unref(s->leftovers);
	if (leftovers_finish(&s->host) > 0)
		return sd_event_add_time_relative(s->loop, &s->leftovers, CLOCK_MONOTONIC,
						  LEFTOVERS_US, 0, on_leftovers, s);
	return 0;
}

/* ---- retention ---- */

/* Remove the next record that the configuration asks to go; its id in @ret_id. True if there are
 * more. */
static bool remove_next(struct supervisor *s, struct clerk *clerk,
			char ret_id[SESSION_ID_LENGTH + 1])
{
	const struct clerk_client client = {.uid = geteuid(), .by = "retention"};
	const struct retention_rule rule = {
		.max_age_ns = s->config->retention_days * 86400 * 1000000000ull,
		.max_bytes = s->config->retention_bytes,
	};
	struct retention_plan plan;
	size_t done = 0;

	if (retention_plan(s->host.state_fd, clerk_acts(clerk), &rule,
			   session_clock_ns(CLOCK_REALTIME), &plan) < 0)
		return false;
	bool is_part = false;
	for (size_t i = 0; i < plan.count && !done; i++) {
		const struct retention_item *item = &plan.items[i];
		int r = item->goes ? retention_remove(clerk, s->host.state_fd, item, &client) : 0;

		done = item->goes && r == 0;
		is_part = done && item->part;
		if (done && !is_part)
			memcpy(ret_id, item->manifest.id, sizeof(item->manifest.id));
		if (done)
			log_write(&s->log, LOG_LEVEL_NOTICE,
				  "session %s: removed by retention: %s%s", item->manifest.id,
				  item->reason, is_part ? ", its first segments alone" : "");
		else if (r < 0 && r != -EAGAIN && r != -EBUSY)
			log_write(&s->log, LOG_LEVEL_WARNING, "session %s: cannot be removed: %s",
				  item->manifest.id, strerror(-r));
	}
	bool has_more = done && plan.going > 1;
	retention_plan_free(&plan);
	return has_more;
}

static int on_retention(sd_event_source *source, uint64_t now_us, void *context)
{
	struct supervisor *s = context;
	struct clerk *clerk = NULL;
	struct fault f = {0};
	bool has_more = false;
	char id[SESSION_ID_LENGTH + 1] = "";

	(void)source, (void)now_us;
	if (clerk_open(s->config->state, ACTS_READ, &clerk, &f) < 0) {
		log_write(&s->log, LOG_LEVEL_ERROR, "retention: %s", f.text);
	} else {
		retention_finish(clerk, s->host.state_fd);
		has_more = remove_next(s, clerk, id);
	}
	clerk_close(clerk);
	if (id[0])
		retention_empty(s->host.state_fd, id);
	s->retention = sd_event_source_disable_unref(s->retention);
	return sd_event_add_time_relative(s->loop, &s->retention, CLOCK_MONOTONIC,
					  has_more ? RETENTION_NEXT_US : RETENTION_US, 0,
					  on_retention, s);
}

static int start_retention(struct supervisor *s)
{
	if (s->is_private || (!s->config->retention_days && !s->config->retention_bytes))
		return 0;
	return sd_event_add_time_relative(s->loop, &s->retention, CLOCK_MONOTONIC,
					  RETENTION_NEXT_US, 0, on_retention, s);
}

/* ---- the start ---- */

/* Who reads the records finds us by their place. */
static int tell_served(struct supervisor *s, struct fault *f)
{
	int fd = s->host.state_fd, r = config_keep(fd, s->config);

	if (r < 0)
		return fault_set(f, r, "state", "%s/" CONFIG_KEPT ": %s", s->config->state,
				 strerror(-r));
	if (unlinkat(fd, SERVED_LINK, 0) < 0 && errno != ENOENT)
		return fault_set(f, -errno, "state", "%s/" SERVED_LINK ": %s", s->config->state,
				 strerror(errno));
	if (symlinkat(s->socket, fd, SERVED_LINK) < 0)
		return fault_set(f, -errno, "state", "%s/" SERVED_LINK ": %s", s->config->state,
				 strerror(errno));
	return 0;
}

static int listen_for_clients(struct supervisor *s, struct fault *f)
{
	cleanup(close_fd) int fd = -1;

	if (s->is_private)
		snprintf(s->socket, sizeof(s->socket), CONTROL_PRIVATE_SOCKET, (long long)getpid());
	else
		snprintf(s->socket, sizeof(s->socket), "%s", s->config->socket);
	int r = listener_open(s->socket, s->is_private ? NULL : s->config->group, &fd, f);
	if (r < 0)
		return r;
	r = sd_event_add_io(s->loop, NULL, fd, EPOLLIN, on_connect, s);
	if (r < 0)
		return fault_set(f, r, "loop", "event loop: %s", strerror(-r));
	s->listening = take_fd(fd);
	return s->is_private ? 0 : tell_served(s, f);
}

/* Clients come when what was left is finished, so that they see no session as running that is dead;
 * but not for ever. */
static void finish_leftovers(struct supervisor *s)
{
	uint64_t end_ns = session_clock_ns(CLOCK_MONOTONIC) + LEFTOVERS_WAIT_NS;
	int status;

	on_leftovers(NULL, 0, s);
	while ((s->host.session_count > 0 || s->leftovers) &&
	       session_clock_ns(CLOCK_MONOTONIC) < end_ns &&
	       sd_event_get_exit_code(s->loop, &status) < 0)
		if (sd_event_run(s->loop, LEFTOVERS_US) < 0)
			return;
}

static int add_sources(struct supervisor *s)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
	sigset_t blocked;
	int r = 0;

	/* Not before: the launcher hands on what it inherits. */
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&blocked, signals[i]);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	for (size_t i = 0; r >= 0 && i < sizeof(signals) / sizeof(signals[0]); i++)
		r = sd_event_add_signal(s->loop, NULL, signals[i], on_signal, s);
	if (r >= 0)
		r = watch_recorder(s);
	if (r >= 0)
		r = sd_event_add_io(s->loop, NULL, launcher_pidfd(s->host.launcher), EPOLLIN,
				    on_launcher, s);
	return r;
}

static int set_up(struct supervisor *s, int private_fd, struct fault *f)
{
	cleanup(close_fd) int owned = private_fd;
	int r = s->is_private ? 0 : listener_refuse_second(s->config->socket, f);
	if (r < 0)
		return r;
	r = sd_event_new(&s->loop);
	if (r < 0)
		return fault_set(f, r, "loop", "event loop: %s", strerror(-r));

	r = host_open(s->config, &s->log, s->loop, &s->host, f);
	if (r < 0)
		return r;
	s->has_host = true;
	r = add_sources(s);
	if (r >= 0 && s->is_private) {
		r = add_client(s, take_fd(owned));
		s->owner = s->clients;
	}
	if (r < 0)
		return fault_set(f, r, "loop", "event loop: %s", strerror(-r));
	if (s->is_private) {
		on_leftovers(NULL, 0, s);
		if (listen_for_clients(s, f) < 0) /* vitrine kill alone needs it */
			log_write(&s->log, LOG_LEVEL_WARNING, "%s", f->text);
		return 0;
	}
	finish_leftovers(s);
	const struct session_dir_owner owner = host_session_owner(&s->host);
	r = spare_dirs_open(s->loop, s->host.sessions_fd, &owner, &s->host.spare_dirs);
	if (r == 0)
		r = leftovers_look_again(&s->host);
	if (r == 0)
		r = start_retention(s);
	if (r < 0)
		return fault_set(f, r, "loop", "event loop: %s", strerror(-r));
	r = host_metrics_serve(&s->host, f);
	return r < 0 ? r : listen_for_clients(s, f);
}

int supervisor_new(const struct config *config, const struct log *log, int private_fd,
		   struct supervisor **ret_supervisor, struct fault *ret_fault)
{
	struct supervisor *s = calloc(1, sizeof(*s));

	if (!s)
		return fault_set(ret_fault, -ENOMEM, "no_memory", "out of memory");
	*s = (struct supervisor){
		.config = config,
		.log = *log,
		.listening = -1,
		.is_private = private_fd >= 0,
	};
	int r = set_up(s, private_fd, ret_fault);
	if (r < 0) {
		supervisor_free(s);
		return r;
	}
	*ret_supervisor = s;
	return 0;
}

int supervisor_run(struct supervisor *s)
{
	sd_notify(0, "READY=1");
	int r = sd_event_loop(s->loop);
	if (r < 0) {
		log_write(&s->log, LOG_LEVEL_ERROR, "event loop: %s", strerror(-r));
		return 1;
	}
	return r;
}

void supervisor_free(struct supervisor *s)
{
	if (s->listening >= 0) {
		unlink(s->socket);
		if (!s->is_private)
			unlinkat(s->host.state_fd, SERVED_LINK, 0);
		close(s->listening);
	}
	while (s->has_host && s->host.sessions)
		session_abandon(s->host.sessions);
	for (int wait_ms = LINGER_MS; s->clients; drop_client(s->clients))
		if (!control_linger(s->clients->socket, wait_ms))
			wait_ms = 0; /* one that stays shall not hold up the others too */
	s->recorder = sd_event_source_disable_unref(s->recorder);
	s->names = sd_event_source_disable_unref(s->names);
	s->leftovers = sd_event_source_disable_unref(s->leftovers);
	s->retention = sd_event_source_disable_unref(s->retention);
	s->turn = sd_event_source_disable_unref(s->turn);
	if (s->has_host)
		host_close(&s->host);
	sd_event_unref(s->loop);
	free(s);
}
