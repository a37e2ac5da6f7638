/*
 * Syslog, RFC 5424: a datagram each (unix, udp), or octet-counted over TCP and TLS.
 *
 * Nothing acknowledges a message: it counts as delivered when the kernel has taken a datagram, or
 * the peer's kernel has acknowledged the bytes of a stream. A connection that ends while a batch is
 * on its way gets all of that batch again.
 */
#include "http.h"
#include "sink.h"
#include "syslog_message.h"

#include "../../supervisor/record/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#define CONFIRM_MS 10

static const char *const transports[] = {"unix", "udp", "tcp", "tls", NULL};
static const char *const protocols[] = {"5424", "3164", NULL};
static const char *const facilities[] = {"user",   "daemon", "auth",   "authpriv", "audit",
					 "local0", "local1", "local2", "local3",   "local4",
					 "local5", "local6", "local7", NULL};

struct syslog {
	struct sink_setup setup;
	struct syslog_form form;
	bool is_stream;
	int fd;			    /* of datagrams; -1: not open */
	struct http_client *client; /* of streams */
	bool is_connected;
	char *url; /* owned */
	sd_event_source *writable, *confirming;
	struct batch *batch;
	size_t count;
	size_t sent; /* bytes of a stream, messages of a socket of datagrams */
};

static unsigned facility_of(const char *name)
{
	static const unsigned numbers[] = {1, 3, 4, 10, 13, 16, 17, 18, 19, 20, 21, 22, 23};

	for (size_t i = 0; facilities[i]; i++)
		if (!strcmp(facilities[i], name))
			return numbers[i];
	return 1;
}

static void free_sink(void *state)
{
	struct syslog *s = state;

	sd_event_source_disable_unref(s->writable);
	sd_event_source_disable_unref(s->confirming);
	http_client_free(s->client);
	if (s->fd >= 0)
		close(s->fd);
	free(s->url);
	free(s);
}

static int open_stream(struct syslog *s, bool is_tls)
{
	const json_t *values = s->setup.values;
	const struct http_options options = {
		.timeout_ms = 10000,
		.ca_file = knob_text(values, "ca_file"),
		.cert_file = knob_text(values, "cert_file"),
		.key_file = knob_text(values, "key_file"),
	};

	if (asprintf(&s->url, "%s://%s", is_tls ? "https" : "http", knob_text(values, "address")) <
	    0) {
		s->url = NULL;
		return -ENOMEM;
	}
	return s->setup.http ? http_client_new(s->setup.http, &options, &s->client) : 0;
}

/* HOST:PORT, or [V6]:PORT; a path for a unix socket. */
static bool is_address(const char *address, bool is_unix)
{
	const char *colon = strrchr(address, ':');

	if (is_unix)
		return address[0] == '/' &&
		       strlen(address) < sizeof(((struct sockaddr_un *)0)->sun_path);
	return colon && colon > address && colon[1] &&
	       strspn(colon + 1, "0123456789") == strlen(colon + 1) && !strpbrk(address, "/@?# \"");
}

/* Names are not looked up for datagrams: the resolver would hold up all other sinks. */
static int numeric(const char *address, struct addrinfo **ret_list)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM,
				       .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	cleanup(free) char *host = strdup(address);
	char *port = host ? strrchr(host, ':') : NULL, *name = host;

	if (!port)
		return -EINVAL;
	*port++ = 0;
	if (*name == '[' && name[strlen(name) - 1] == ']') {
		name[strlen(name) - 1] = 0;
		name++;
	}
	return getaddrinfo(name, port, &hints, ret_list) ? -EINVAL : 0;
}

static bool is_numeric(const char *address)
{
	struct addrinfo *list = NULL;

	if (numeric(address, &list) < 0)
		return false;
	freeaddrinfo(list);
	return true;
}

static int open_sink(const struct sink_setup *setup, void **ret_state, struct knob_fault *f)
{
	const char *transport = knob_text(setup->values, "transport");
	const char *address = knob_text(setup->values, "address");
	bool is_tls = !strcmp(transport, "tls");
	struct syslog *s;
	int r = 0;

	if (!is_address(address, !strcmp(transport, "unix")) ||
	    (!strcmp(transport, "udp") && !is_numeric(address)))
		return knob_fault_set(f, "address",
				      "address: \"%s\": bad value; allowed: a path shorter than "
				      "108 bytes for unix, IP:PORT for udp, else HOST:PORT",
				      address);
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->setup = *setup;
	s->fd = -1;
	s->is_stream = is_tls || !strcmp(transport, "tcp");
	s->form = (struct syslog_form){
		.is_old = !strcmp(knob_text(setup->values, "protocol"), "3164"),
		.is_counted = s->is_stream,
		.facility = facility_of(knob_text(setup->values, "facility")),
		.max_bytes = (size_t)knob_number(setup->values, "max_bytes"),
		.key = setup->key,
	};
	if (s->is_stream)
		r = open_stream(s, is_tls);
	if (r < 0) {
		free_sink(s);
		return r;
	}
	*ret_state = s;
	return 0;
}

static int frame(void *state, const struct projected *p, struct bytes line, struct json_buffer *out)
{
	const struct syslog *s = state;

	return syslog_message(&s->form, p, line, out);
}

/* ---- answers ---- */

static void stop_waiting(struct syslog *s)
{
	s->writable = sd_event_source_disable_unref(s->writable);
}

static void disconnect(struct syslog *s)
{
	stop_waiting(s);
	if (s->confirming)
		sd_event_source_set_enabled(s->confirming, SD_EVENT_OFF);
	if (s->client)
		http_client_disconnect(s->client);
	s->is_connected = false;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static void fail(struct syslog *s, const char *why)
{
	struct sink_answer a;

	disconnect(s);
	sink_answer_set(&a, ANSWER_RETRY, "%s: %s", knob_text(s->setup.values, "address"), why);
	s->setup.answer(s->setup.lane, &a);
}

static void succeed(struct syslog *s)
{
	struct sink_answer a = {.answer = ANSWER_DONE};

	stop_waiting(s);
	batch_judge(s->batch, s->count, VERDICT_DELIVERED, NULL);
	s->setup.answer(s->setup.lane, &a);
}

static void go_on(struct syslog *s);

static int on_writable(sd_event_source *source, int fd, uint32_t events, void *context)
{
	(void)source, (void)fd, (void)events;
	go_on(context);
	return 0;
}

/* A socket of a stream belongs to libcurl, which may watch it too: ours is a duplicate. */
static void wait_writable(struct syslog *s)
{
	int fd = s->is_stream ? http_client_fd(s->client) : s->fd;

	if (s->writable)
		return;
	fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0 ||
	    sd_event_add_io(s->setup.event, &s->writable, fd, EPOLLOUT, on_writable, s) < 0) {
		if (fd >= 0)
			close(fd);
		fail(s, "cannot wait for it");
		return;
	}
	sd_event_source_set_io_fd_own(s->writable, true);
}

/* ---- sending ---- */

static void confirm(struct syslog *s);

static int on_confirm(sd_event_source *source, uint64_t usec, void *context)
{
	(void)source, (void)usec;
	confirm(context);
	return 0;
}

/*
 * All was given to the kernel; wait until the peer's has it. Whether the server read it nobody
 * says, but a connection that breaks before that is seen.
 */
static void confirm(struct syslog *s)
{
	int waiting = 0, r = http_client_drain(s->client);

	if (ioctl(http_client_fd(s->client), SIOCOUTQ, &waiting) < 0)
		waiting = 0;
	if (r < 0 && (waiting || r != -ENODATA)) {
		fail(s, "the connection is gone");
		return;
	}
	if (!waiting) {
		succeed(s);
		return;
	}
	if (!s->confirming &&
	    sd_event_add_time_relative(s->setup.event, &s->confirming, CLOCK_MONOTONIC, 0, 1000,
				       on_confirm, s) < 0) {
		fail(s, "out of memory");
		return;
	}
	sd_event_source_set_time_relative(s->confirming, CONFIRM_MS * 1000);
	sd_event_source_set_enabled(s->confirming, SD_EVENT_ONESHOT);
}

static void send_stream(struct syslog *s)
{
	const struct batch_item *last = &s->batch->items[s->count - 1];
	size_t size = last->offset + last->length;

	while (s->sent < size) {
		ssize_t n =
			http_client_send(s->client, s->batch->body.text + s->sent, size - s->sent);

		if (n == -EAGAIN) {
			wait_writable(s);
			return;
		}
		if (n < 0) {
			fail(s, "the connection is gone");
			return;
		}
		s->sent += (size_t)n;
	}
	stop_waiting(s);
	confirm(s);
}

static void send_datagrams(struct syslog *s)
{
	for (; s->sent < s->count; s->sent++) {
		struct batch_item *item = &s->batch->items[s->sent];
		ssize_t n = send(s->fd, s->batch->body.text + item->offset, item->length,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			item->verdict = VERDICT_DELIVERED;
		} else if (errno == EAGAIN || errno == ENOBUFS) {
			wait_writable(s);
			return;
		} else if (errno == EMSGSIZE) {
			item->verdict = VERDICT_REFUSED;
			snprintf(item->why, sizeof(item->why),
				 "%zu bytes are too many for one datagram: see max_bytes",
				 item->length);
		} else {
			fail(s, strerror(errno));
			return;
		}
	}
	struct sink_answer a = {.answer = ANSWER_DONE};
	stop_waiting(s);
	s->setup.answer(s->setup.lane, &a);
}

static void go_on(struct syslog *s)
{
	if (s->is_stream)
		send_stream(s);
	else
		send_datagrams(s);
}

static void on_connected(void *context, const struct http_result *result)
{
	struct syslog *s = context;

	if (result->error) {
		fail(s, result->error_text);
		return;
	}
	s->is_connected = true;
	go_on(s);
}

static int connect_unix(struct syslog *s)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s",
		 knob_text(s->setup.values, "address"));
	s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return -errno;
	return connect(s->fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

static int connect_udp(struct syslog *s)
{
	struct addrinfo *list = NULL;
	int r = numeric(knob_text(s->setup.values, "address"), &list);

	if (r < 0)
		return r;
	r = -EHOSTUNREACH;
	for (const struct addrinfo *a = list; a && r < 0; a = a->ai_next) {
		s->fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		r = s->fd < 0 || connect(s->fd, a->ai_addr, a->ai_addrlen) < 0 ? -errno : 0;
		if (r < 0 && s->fd >= 0)
			close(s->fd);
		if (r < 0)
			s->fd = -1;
	}
	freeaddrinfo(list);
	return r;
}

static void send_batch(void *state, struct batch *b, size_t count)
{
	struct syslog *s = state;
	int r = 0;

	s->batch = b;
	s->count = count;
	s->sent = 0;
	if (s->is_stream) {
		if (s->is_connected && http_client_drain(s->client) < 0)
			disconnect(s);
		if (!s->is_connected)
			r = http_client_connect(s->client, s->url, on_connected, s);
	} else if (s->fd < 0) {
		r = !strcmp(knob_text(s->setup.values, "transport"), "unix") ? connect_unix(s)
									     : connect_udp(s);
	}
	if (r < 0)
		fail(s, strerror(-r));
	else if (!s->is_stream || s->is_connected)
		go_on(s);
}

const struct sink_type sink_syslog = {
	.name = "syslog",
	.doc = "A syslog server. Nothing acknowledges what it gets: over a connection that breaks, "
	       "what the peer's kernel had taken may be lost.",
	.format = "jsonl",
	.knobs =
		(const struct knob[]){
			{"transport", KNOB_CHOICE, .choices = transports, .is_required = true,
			 .doc = "how; tcp and tls count octets"},
			{"address", KNOB_TEXT, .is_required = true,
			 .doc = "path of a unix socket, IP:PORT for udp, else HOST:PORT"},
			{"protocol", KNOB_CHOICE, "\"5424\"", .choices = protocols,
			 .doc = "form of the messages, by RFC"},
			{"facility", KNOB_CHOICE, "\"authpriv\"", .choices = facilities,
			 .doc = "facility of the messages"},
			{"max_bytes", KNOB_NUMBER, "8000", .min = 1024, .max = 1048576,
			 .doc = "of a message; longer ones are cut, and say so"},
			{"ca_file", KNOB_PATH,
			 .doc = "certificates to trust instead of the system's"},
			{"cert_file", KNOB_PATH, .doc = "certificate to show"},
			{"key_file", KNOB_PATH, .doc = "its private key"},
			{0},
		},
	.open = open_sink,
	.frame = frame,
	.send = send_batch,
	.free = free_sink,
};
