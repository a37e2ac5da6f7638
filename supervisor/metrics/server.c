/*
 * One answer for each request, and then the connection ends. What a client may cost is bounded: how
 * many, how long, how much memory; an answer is a copy of its own, made at once, so that a client
 * that reads slowly holds up nobody.
 */
#include "server.h"

#include "../record/cleanup.h"

#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#define IDLE_S 5

struct visit {
	int fd; /* -1: none */
	uint64_t since_s;
};

struct metrics_server {
	struct metrics_server_options options;
	struct MHD_Daemon *daemon;
	pthread_mutex_t lock;
	struct visit visits[METRICS_CONNECTIONS];
};

/* ---- connections ---- */

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void replace(struct metrics_server *s, int fd, struct visit with)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < METRICS_CONNECTIONS; i++)
		if (s->visits[i].fd == fd) {
			s->visits[i] = with;
			break;
		}
	pthread_mutex_unlock(&s->lock);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	(void)socket_context;
	if (!info)
		return;
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		replace(context, -1,
			(struct visit){info->connect_fd, now_ns(CLOCK_MONOTONIC) / 1000000000});
	else
		replace(context, info->connect_fd, (struct visit){.fd = -1});
}

/* The socket is closed by its own thread only after on_connection was told: it is still this one.
 */
void metrics_server_sweep(struct metrics_server *s, uint64_t now_s)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < METRICS_CONNECTIONS; i++)
		if (s->visits[i].fd >= 0 && now_s >= s->visits[i].since_s + METRICS_DEADLINE_S)
			shutdown(s->visits[i].fd, SHUT_RDWR);
	pthread_mutex_unlock(&s->lock);
}

size_t metrics_server_connections(struct metrics_server *s)
{
	size_t count = 0;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < METRICS_CONNECTIONS; i++)
		count += s->visits[i].fd >= 0;
	pthread_mutex_unlock(&s->lock);
	return count;
}

/* ---- answers ---- */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status,
			      struct MHD_Response *response, const char *type)
{
	if (!response)
		return MHD_NO;
	enum MHD_Result r = MHD_add_response_header(response, "Content-Type", type);
	if (r == MHD_YES)
		r = MHD_add_response_header(response, "Connection", "close");
	if (r == MHD_YES)
		r = MHD_add_response_header(response, "Cache-Control", "no-store");
	if (r == MHD_YES && status == MHD_HTTP_METHOD_NOT_ALLOWED)
		r = MHD_add_response_header(response, "Allow", "GET, HEAD");
	if (r == MHD_YES)
		r = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return r;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *text)
{
	return answer(
		connection, status,
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT),
		"text/plain; charset=utf-8");
}

static enum MHD_Result tell(const struct metrics_server *s, struct MHD_Connection *connection)
{
	const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept");
	bool is_open = accept && strstr(accept, "application/openmetrics-text");
	struct json_buffer text = {0};
	int r = metrics_write(&text, s->options.source,
			      is_open ? METRICS_OPENMETRICS : METRICS_PROMETHEUS,
			      now_ns(CLOCK_REALTIME));

	if (r < 0) {
		json_buffer_free(&text);
		return refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	}
	struct MHD_Response *response =
		MHD_create_response_from_buffer(text.length, text.text, MHD_RESPMEM_MUST_FREE);
	if (!response)
		json_buffer_free(&text);
	return answer(connection, MHD_HTTP_OK, response,
		      is_open ? METRICS_TYPE_OPENMETRICS : METRICS_TYPE_PROMETHEUS);
}

/*
 * A page in a browser can have its own name point to the loopback address and read what is served
 * there; the name that it asks for gives it away.
 */
static bool is_our_name(const char *host)
{
	static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

	if (!host)
		return true; /* no browser */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i]);

		if (!strncasecmp(host, names[i], length) && (!host[length] || host[length] == ':'))
			return true;
	}
	/* The rest of 127.0.0.0/8. */
	return !strncmp(host, "127.", 4) && strspn(host, "0123456789.:") == strlen(host);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **request_context)
{
	const struct metrics_server *s = context;

	(void)version, (void)upload, (void)upload_size, (void)request_context;
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	if (s->options.is_network &&
	    !is_our_name(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host")))
		return refuse(connection, MHD_HTTP_FORBIDDEN, "no name of this host's loopback\n");
	if (strcmp(url, "/metrics") != 0)
		return refuse(connection, MHD_HTTP_NOT_FOUND, "only /metrics\n");
	return tell(s, connection);
}

/* ---- life ---- */

/* What a client did wrong is its own affair, and no text of its is for our log. */
static void ignore_log(void *context, const char *format, va_list arguments)
{
	(void)context, (void)format, (void)arguments;
}

static int start(struct metrics_server *s)
{
	bool is_alone = s->options.listen_fd < 0;
	unsigned flags =
		is_alone ? MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET : MHD_USE_EPOLL_INTERNAL_THREAD;
	const struct MHD_OptionItem items[] = {
		{MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)ignore_log, NULL},
		{MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, s},
		{MHD_OPTION_CONNECTION_LIMIT, METRICS_CONNECTIONS, NULL},
		{MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, NULL},
		{MHD_OPTION_CONNECTION_MEMORY_LIMIT, METRICS_MEMORY, NULL},
		{MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
		{is_alone ? MHD_OPTION_END : MHD_OPTION_LISTEN_SOCKET, s->options.listen_fd, NULL},
		{MHD_OPTION_END, 0, NULL},
	};

	s->daemon = MHD_start_daemon(flags, 0, NULL, NULL, on_request, s, MHD_OPTION_ARRAY, items,
				     MHD_OPTION_END);
	return s->daemon ? 0 : -EIO;
}

int metrics_server_new(const struct metrics_server_options *options,
		       struct metrics_server **ret_server)
{
	struct metrics_server *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->options = *options;
	pthread_mutex_init(&s->lock, NULL);
	for (size_t i = 0; i < METRICS_CONNECTIONS; i++)
		s->visits[i].fd = -1;
	int r = start(s);
	if (r < 0) {
		metrics_server_free(s);
		return r;
	}
	*ret_server = s;
	return 0;
}

void metrics_server_free(struct metrics_server *s)
{
	if (!s)
		return;
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int metrics_server_add(struct metrics_server *s, int fd)
{
	static const struct sockaddr nobody = {.sa_family = AF_UNIX};

	/* It closes @fd where it does not take it. */
	return MHD_add_connection(s->daemon, fd, &nobody, sizeof(nobody)) == MHD_YES ? 0 : -EIO;
}

void metrics_server_turn(struct metrics_server *s)
{
	MHD_run(s->daemon);
}
