/*
 * Sockets: TCP and UDP over v4, v6 and v4-mapped, unix sockets, DNS over UDP and TCP. Both ends are
 * in this process, so that every fact is known here.
 */
#include "truth.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static union address make_address(const char *text, int port)
{
	union address a = {};

	if (strchr(text, ':')) {
		a.v6.sin6_family = AF_INET6;
		a.v6.sin6_port = htons(port);
		inet_pton(AF_INET6, text, &a.v6.sin6_addr);
	} else {
		a.v4.sin_family = AF_INET;
		a.v4.sin_port = htons(port);
		inet_pton(AF_INET, text, &a.v4.sin_addr);
	}
	return a;
}

static socklen_t size_of(const union address *a)
{
	return a->any.sa_family == AF_INET ? sizeof(a->v4) : sizeof(a->v6);
}

static int port_of(const union address *a)
{
	return ntohs(a->any.sa_family == AF_INET ? a->v4.sin_port : a->v6.sin6_port);
}

static int local_port(int fd)
{
	union address a;
	socklen_t size = sizeof(a);

	MUST(getsockname(fd, &a.any, &size));
	return port_of(&a);
}

static int make_socket(const char *address, int type)
{
	return MUST(socket(strchr(address, ':') ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC, 0));
}

/* A socket bound to @address. */
static int bound(const char *address, int type, int port)
{
	int fd = make_socket(address, type), one = 1;
	union address a = make_address(address, port);

	MUST(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	MUST(bind(fd, &a.any, size_of(&a)));
	truth("net.bind", getpid());
	truth_text("src.address", address);
	truth_number("src.port", local_port(fd));
	truth_number("result", 0);
	truth_end();
	return fd;
}

static int listening(const char *address, int port)
{
	int fd = bound(address, SOCK_STREAM, port);

	MUST(listen(fd, 5));
	truth("net.listen", getpid());
	truth_number("src.port", local_port(fd));
	truth_number("backlog", 5);
	truth_end();
	return fd;
}

static void connect_to(int fd, const char *address, int port, int error, const char *name)
{
	union address a = make_address(address, port);
	int r = connect(fd, &a.any, size_of(&a));

	if ((r ? errno : 0) != error)
		acts_fail("connect", __FILE__, __LINE__);
	truth("net.connect", getpid());
	truth_text("dst.address", address);
	truth_number("dst.port", port);
	truth_number("result", -error);
	if (name)
		truth_text("error", name);
	truth_end();
}

static int accept_from(int fd, int client)
{
	int accepted = MUST(accept4(fd, NULL, NULL, SOCK_CLOEXEC));

	truth("net.accept", getpid());
	truth_number("src.port", local_port(fd));
	truth_number("dst.port", local_port(client));
	truth_end();
	return accepted;
}

static void transfer(int from, int to, size_t size)
{
	char *data = calloc(1, size);
	size_t sent = 0, received = 0;

	if (!data)
		acts_fail("calloc", __FILE__, __LINE__);
	while (received < size) {
		if (sent < size)
			sent += MUST(
				send(from, data, size - sent < 16384 ? size - sent : 16384, 0));
		received += MUST(recv(to, data, size, 0));
	}
	free(data);
}

static void close_with(int fd, long long sent, long long received)
{
	truth("net.close", getpid());
	truth_number("src.port", local_port(fd));
	truth_number("bytes_sent", sent);
	truth_number("bytes_received", received);
	truth_end();
	MUST(close(fd));
}

static void tcp(const char *listen_on, const char *connect_by)
{
	int server = listening(listen_on, 0), client = make_socket(connect_by, SOCK_STREAM), peer;

	connect_to(client, connect_by, local_port(server), 0, NULL);
	peer = accept_from(server, client);
	transfer(client, peer, 100000);
	transfer(peer, client, 5000);
	close_with(client, 100000, 5000);
	close_with(peer, 5000, 100000);
	close_with(server, 0, 0);
}

static void refused(void)
{
	int server = make_socket("127.0.0.1", SOCK_STREAM),
	    client = make_socket("127.0.0.1", SOCK_STREAM);

	connect_to(client, "127.0.0.1", 9, ECONNREFUSED, "ECONNREFUSED");
	close(server); /* never had an address: nothing was opened that could be closed */
	truth("net.close", getpid());
	truth_number("dst.port", 9);
	truth_number("bytes_sent", 0);
	truth_number("bytes_received", 0);
	truth_end();
	close(client);
}

/* A socket that is connected a second time counts on. */
static void connected_again(void)
{
	int server = listening("127.0.0.1", 0), client = make_socket("127.0.0.1", SOCK_STREAM);
	struct sockaddr nobody = {.sa_family = AF_UNSPEC};
	int peer;

	connect_to(client, "127.0.0.1", local_port(server), 0, NULL);
	peer = accept_from(server, client);
	transfer(client, peer, 1000);
	MUST(connect(client, &nobody, sizeof(nobody)));
	close_with(peer, 0, 1000);
	connect_to(client, "127.0.0.1", local_port(server), 0, NULL);
	peer = accept_from(server, client);
	transfer(client, peer, 30);
	transfer(peer, client, 4);
	close_with(client, 1030, 4);
	close_with(peer, 4, 30);
	close_with(server, 0, 0);
}

static void sent_to(const char *address, int port)
{
	truth("net.send", getpid());
	truth_text("dst.address", address);
	truth_number("dst.port", port);
	truth_end();
}

static void udp_connected(const char *address)
{
	int server = bound(address, SOCK_DGRAM, 0), client = make_socket(address, SOCK_DGRAM);

	connect_to(client, address, local_port(server), 0, NULL);
	transfer(client, server, 100);
	close_with(client, 100, 0);
	close_with(server, 0, 100);
}

static void udp_unconnected(const char *address)
{
	int server = bound(address, SOCK_DGRAM, 0), client = make_socket(address, SOCK_DGRAM);
	union address to = make_address(address, local_port(server));
	struct iovec part = {"datagram", 8};
	struct mmsghdr many[3];
	char data[64];

	MUST(sendto(client, "1", 1, 0, &to.any, size_of(&to)));
	sent_to(address, local_port(server));
	for (int i = 0; i < 3; i++) {
		many[i].msg_hdr = (struct msghdr){.msg_name = &to,
						  .msg_namelen = size_of(&to),
						  .msg_iov = &part,
						  .msg_iovlen = 1};
	}
	MUST(sendmsg(client, &many[0].msg_hdr, 0));
	sent_to(address, local_port(server));
	if (sendmmsg(client, many, 3, 0) != 3)
		acts_fail("sendmmsg", __FILE__, __LINE__);
	for (int i = 0; i < 3; i++)
		sent_to(address, local_port(server));
	for (int i = 0; i < 5; i++)
		MUST(recv(server, data, sizeof(data), 0));
	close_with(client, 33, 0);
	close_with(server, 0, 33);
}

void acts_net(void)
{
	tcp("127.0.0.1", "127.0.0.1");
	tcp("::1", "::1");
	tcp("127.0.0.1", "::ffff:127.0.0.1");
	refused();
	connected_again();
	udp_connected("127.0.0.1");
	udp_connected("::1");
	udp_unconnected("127.0.0.1");
	udp_unconnected("::1");
}

/* ---- unix ---- */

static socklen_t unix_address(struct sockaddr_un *a, const char *name, bool abstract)
{
	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(a->sun_path + abstract, name, strlen(name));
	return offsetof(struct sockaddr_un, sun_path) + strlen(name) + 1;
}

static void truth_unix(const char *act, const char *name, bool abstract)
{
	truth("net.unix", getpid());
	truth_text("act", act);
	truth_text(abstract ? "unix.abstract" : "unix.path", name);
	truth_end();
}

static void unix_stream(const char *name, bool abstract)
{
	int server = MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	int client = MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	struct sockaddr_un a;
	socklen_t size = unix_address(&a, name, abstract);

	MUST(bind(server, (struct sockaddr *)&a, size));
	truth_unix("bind", name, abstract);
	MUST(listen(server, 3));
	truth_unix("listen", name, abstract);
	MUST(connect(client, (struct sockaddr *)&a, size));
	truth_unix("connect", name, abstract);
	close(MUST(accept4(server, NULL, NULL, SOCK_CLOEXEC)));
	truth_unix("accept", name, abstract);
	close(client);
	close(server);
}

static void truth_unix_send(const char *name)
{
	truth("net.unix", getpid());
	truth_text("act", "send");
	truth_text("protocol", "datagram");
	truth_text("unix.path", name);
	truth_text("path_source", "args");
	truth_number("result", 0);
	truth_end();
}

static void unix_datagrams(const char *name)
{
	int server = MUST(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	int client = MUST(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	struct iovec part = {"datagram", 8};
	struct mmsghdr many[2];
	struct sockaddr_un a;
	socklen_t size = unix_address(&a, name, false);

	MUST(bind(server, (struct sockaddr *)&a, size));
	truth_unix("bind", name, false);
	MUST(sendto(client, "1", 1, 0, (struct sockaddr *)&a, size));
	truth_unix_send(name);
	for (int i = 0; i < 2; i++) {
		many[i].msg_hdr = (struct msghdr){
			.msg_name = &a, .msg_namelen = size, .msg_iov = &part, .msg_iovlen = 1};
	}
	MUST(sendmsg(client, &many[0].msg_hdr, 0));
	truth_unix_send(name);
	if (sendmmsg(client, many, 2, 0) != 2)
		acts_fail("sendmmsg", __FILE__, __LINE__);
	truth_unix_send(name);
	truth_unix_send(name);
	close(client);
	close(server);
}

static void unix_pair(void)
{
	int ends[2];

	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	truth("net.unix", getpid());
	truth_text("act", "pair");
	truth_text("protocol", "seqpacket");
	truth_end();
	close(ends[0]);
	close(ends[1]);
}

void acts_unix(void)
{
	unix_stream("/tmp/acts.socket", false);
	unix_stream("acts-abstract", true);
	unix_datagrams("/tmp/acts.datagram");
	unix_pair();
}

/* ---- DNS ---- */

static size_t question(unsigned char *out, int id, const char *name, int type)
{
	size_t at = 12;

	memset(out, 0, 12);
	out[0] = id >> 8;
	out[1] = id;
	out[2] = 1; /* recursion desired */
	out[5] = 1;
	while (*name) {
		size_t label = strcspn(name, ".");

		out[at++] = label;
		memcpy(out + at, name, label);
		at += label;
		name += label + (name[label] == '.');
	}
	out[at++] = 0;
	out[at++] = type >> 8;
	out[at++] = type;
	out[at++] = 0;
	out[at++] = 1;
	return at;
}

/* The answer to @query: @rcode, and 192.0.2.7 where it is 0. */
static size_t answer(unsigned char *out, const unsigned char *query, size_t size, int rcode)
{
	static const unsigned char record[] = {0xc0, 12, 0, 1, 0,   1, 0, 0,
					       0,    60, 0, 4, 192, 0, 2, 7};

	memcpy(out, query, size);
	out[2] = 0x85;
	out[3] = 0x80 | rcode;
	if (rcode)
		return size;
	out[7] = 1;
	memcpy(out + size, record, sizeof(record));
	return size + sizeof(record);
}

static void truth_dns(const char *kind, int id, const char *name, const char *type,
		      const char *transport)
{
	truth(kind, getpid());
	truth_number("id", id);
	truth_text("name", name);
	truth_text("type", type);
	truth_text("transport", transport);
}

static void truth_answer(int id, const char *name, const char *transport, int rcode)
{
	char *answers[] = {"A 192.0.2.7", NULL};

	truth_dns("dns.answer", id, name, "A", transport);
	truth_text("rcode", rcode ? "NXDOMAIN" : "NOERROR");
	if (!rcode)
		truth_list("answers", answers);
	truth_end();
}

static void dns_over_udp(const char *address, bool connected, int id, const char *name, int rcode)
{
	int server = bound(address, SOCK_DGRAM, 53), client = make_socket(address, SOCK_DGRAM);
	union address to = make_address(address, 53), from;
	socklen_t from_size = sizeof(from);
	unsigned char query[512], reply[600];
	size_t size = question(query, id, name, 1);

	if (connected) {
		connect_to(client, address, 53, 0, NULL);
		MUST(send(client, query, size, 0));
	} else {
		MUST(sendto(client, query, size, 0, &to.any, size_of(&to)));
		sent_to(address, 53);
	}
	truth_dns("dns.query", id, name, "A", "udp");
	truth_end();
	MUST(recvfrom(server, query, sizeof(query), 0, &from.any, &from_size));
	MUST(sendto(server, reply, answer(reply, query, size, rcode), 0, &from.any, from_size));
	sent_to(address, port_of(&from));
	truth_answer(id, name, "udp", rcode);
	MUST(recv(client, reply, sizeof(reply), 0));
	close(client);
	close(server);
}

static size_t with_length(unsigned char *out, const unsigned char *message, size_t size)
{
	out[0] = size >> 8;
	out[1] = size;
	memcpy(out + 2, message, size);
	return size + 2;
}

/* Two questions down one connection, byte by byte; then both answers in one piece. */
static void dns_over_tcp(const char *address)
{
	int server = listening(address, 53), client = make_socket(address, SOCK_STREAM), peer,
	    one = 1;
	unsigned char message[512], stream[2048], reply[600];
	size_t size, total = 0;

	connect_to(client, address, 53, 0, NULL);
	MUST(setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)));
	peer = accept_from(server, client);
	for (int id = 71; id <= 72; id++) {
		size = question(message, id, id == 71 ? "first.tcp.test" : "second.tcp.test", 1);
		total += with_length(stream + total, message, size);
		truth_dns("dns.query", id, id == 71 ? "first.tcp.test" : "second.tcp.test", "A",
			  "tcp");
		truth_end();
	}
	for (size_t i = 0; i < total; i++)
		MUST(send(client, stream + i, 1, 0));
	for (size_t got = 0; got < total;)
		got += MUST(recv(peer, stream, sizeof(stream), 0));
	total = 0;
	for (int id = 71; id <= 72; id++) {
		const char *name = id == 71 ? "first.tcp.test" : "second.tcp.test";

		size = question(message, id, name, 1);
		total += with_length(stream + total, reply, answer(reply, message, size, 0));
		truth_answer(id, name, "tcp", 0);
	}
	MUST(send(peer, stream, total, 0));
	for (size_t got = 0; got < total;)
		got += MUST(recv(client, stream, sizeof(stream), 0));
	close(client);
	close(peer);
	close(server);
}

void acts_dns(void)
{
	dns_over_udp("127.0.0.1", false, 11, "plain.udp.test", 0);
	dns_over_udp("127.0.0.1", true, 12, "connected.udp.test", 0);
	dns_over_udp("127.0.0.1", false, 13, "missing.udp.test", 3);
	dns_over_udp("::1", false, 14, "plain.udp6.test", 0);
	dns_over_tcp("127.0.0.1");
	dns_over_tcp("::1");
}
