// SPDX-License-Identifier: GPL-2.0
/*
 * Calls on sockets, as they return: connect, bind, listen, accept and what a send left unsaid. What
 * was asked for comes from the programs in net_cgroup.bpf.c, what came of it from the kernel's
 * socket. Unix sockets, which those programs do not see, are taken from the kernel's objects.
 */
#include "net.h"
#include "descriptor.h"
#include "path.h"
#include "syscalls.h"

#define EINPROGRESS 115
#define UNIX_NAME_MAX 108
#define UNIX_PATH_ROOM 16384
#define MESSAGES_MAX 1024 /* of one sendmmsg: the kernel's own limit */

struct called_socket {
	struct sock *sk;
	__u64 inode;
};

/* The socket behind descriptor @fd of the running task; false if it is none. */
static __always_inline bool socket_of_fd(__u32 fd, struct called_socket *ret)
{
	struct file *file = file_of_fd(fd);
	struct socket *socket;

	if (!file)
		return false;
	if (BPF_CORE_READ(file, f_inode, i_sb, s_magic) != SOCKFS_MAGIC)
		return false;
	socket = BPF_CORE_READ(file, private_data);
	ret->inode = BPF_CORE_READ(file, f_inode, i_ino);
	ret->sk = BPF_CORE_READ(socket, sk);
	return ret->sk;
}

static __always_inline __u32 family_of(struct sock *sk)
{
	return BPF_CORE_READ(sk, __sk_common.skc_family);
}

/* What this thread asked for in the call that returns now, forgotten at once. */
static __always_inline bool take_asked(struct asked *ret_asked)
{
	__u64 thread = current_thread();
	struct asked *asked = bpf_map_lookup_elem(&asked_by_thread, &thread);

	if (!asked)
		return false;
	*ret_asked = *asked;
	bpf_map_delete_elem(&asked_by_thread, &thread);
	return true;
}

static __always_inline struct wire_socket_call *
begin_call(struct session_slot *slot, __u32 call, const struct socket_ends *ends, __u64 cookie)
{
	struct wire_socket_call *r = EMIT_BEGIN(slot, socket_call);

	if (!r)
		return NULL;
	ZERO_FIXED(r);
	r->call = call;
	r->cookie = cookie;
	PUT_ENDS(r, ends);
	r->type = ends->type;
	r->known = ends->known;
	return r;
}

static __always_inline void set_result(struct wire_socket_call *r, long ret)
{
	r->result = ret < 0 ? ret : 0;
	r->known |= SOCKET_KNOWN_RESULT;
}

/* ---- unix ---- */

/* The address of @sk and the file that it is bound to. */
static __always_inline void put_unix_name(struct wire_socket_call *r, struct sock *sk)
{
	struct unix_sock *unix_sock = (struct unix_sock *)sk;
	struct unix_address *address = BPF_CORE_READ(unix_sock, addr);
	struct path *path = (void *)sk + bpf_core_field_offset(struct unix_sock, path);
	__u32 length, flags = 0;

	if (!address)
		return;
	length = BPF_CORE_READ(address, len) - sizeof(__u16);
	BARRIER_VAR(length);
	if (length == 0 || length > UNIX_NAME_MAX)
		return;
	if (bpf_probe_read_kernel(emit_tail_room(r), length, &address->name[0].sun_path))
		return;
	EMIT_TAIL(r, unix_name, length);
	if (!BPF_CORE_READ(path, dentry))
		return;
	length = path_tail(r, path, UNIX_PATH_ROOM, &flags);
	EMIT_TAIL(r, unix_path, length);
	r->path_flags = flags;
}

/* The name that the caller passed, from its own memory. */
static __always_inline void put_passed_name(struct wire_socket_call *r, __u64 address, __u32 size)
{
	__u16 family = 0;
	__u32 length = size - sizeof(family);

	BARRIER_VAR(length);
	if (length == 0 || length > UNIX_NAME_MAX)
		return;
	bpf_probe_read_user(&family, sizeof(family), (void *)address);
	if (family != AF_UNIX)
		return;
	if (bpf_probe_read_user(emit_tail_room(r), length, (void *)address + sizeof(family)))
		return;
	EMIT_TAIL(r, unix_name, length);
	r->known |= SOCKET_FROM_MEMORY;
}

static __always_inline struct wire_socket_call *begin_unix(struct session_slot *slot, __u32 call,
							   const struct called_socket *called)
{
	struct socket_ends ends = {.family = AF_UNIX};
	struct sock *sk = called->sk;

	ends.type = BPF_CORE_READ(sk, sk_type);
	return begin_call(slot, call, &ends, called->inode);
}

static __always_inline int unix_connected(struct session_slot *slot, struct pt_regs *regs, long ret,
					  const struct called_socket *called)
{
	struct wire_socket_call *r = begin_unix(slot, SOCKET_CONNECT, called);
	struct unix_sock *sk = (struct unix_sock *)called->sk;
	struct sock *peer = NULL;

	if (!r)
		return 0;
	if (ret == 0)
		peer = BPF_CORE_READ(sk, peer);
	if (peer)
		put_unix_name(r, peer);
	else
		put_passed_name(r, SYSCALL_ARG2(regs), SYSCALL_ARG3(regs));
	set_result(r, ret);
	emit_end(slot, r);
	return 0;
}

/* A socket that now has its own name: bound, listening or accepted. */
static __always_inline int unix_named(struct session_slot *slot, __u32 call,
				      const struct called_socket *called, __u32 backlog)
{
	struct wire_socket_call *r = begin_unix(slot, call, called);

	if (!r)
		return 0;
	put_unix_name(r, called->sk);
	r->backlog = backlog;
	if (call == SOCKET_BIND)
		set_result(r, 0);
	emit_end(slot, r);
	return 0;
}

static __always_inline int unix_not_bound(struct session_slot *slot, struct pt_regs *regs, long ret,
					  const struct called_socket *called)
{
	struct wire_socket_call *r = begin_unix(slot, SOCKET_BIND, called);

	if (!r)
		return 0;
	put_passed_name(r, SYSCALL_ARG2(regs), SYSCALL_ARG3(regs));
	set_result(r, ret);
	emit_end(slot, r);
	return 0;
}

/* ---- connect, bind, listen, accept, socketpair ---- */

/* Multipath TCP asks once for each of its paths; what the caller holds is the socket above them. */
static __always_inline bool is_asked_on(const struct asked *asked, struct sock *sk)
{
	return cookie_of(sk) == asked->cookie || BPF_CORE_READ(sk, sk_protocol) == IPPROTO_MPTCP;
}

/* What was asked for, with the local end that the kernel chose meanwhile. If the descriptor is
 * another socket by now, it has nothing to say. */
static __always_inline void complete(struct asked *asked, const struct called_socket *called)
{
	struct socket_ends now = {};

	if (!called->sk || !is_asked_on(asked, called->sk))
		return;
	read_ends(called->sk, &now);
	__builtin_memcpy(asked->ends.src, now.src, sizeof(now.src));
	asked->ends.src_port = now.src_port;
	asked->ends.known |= now.known & SOCKET_KNOWN_SRC;
	asked->ends.protocol = now.protocol;
	asked->cookie = cookie_of(called->sk);
}

static __always_inline int emit_asked(struct session_slot *slot, const struct asked *asked,
				      bool has_result, long ret)
{
	struct wire_socket_call *r = begin_call(slot, asked->call, &asked->ends, asked->cookie);

	if (!r)
		return 0;
	if (has_result)
		set_result(r, ret);
	emit_end(slot, r);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_connect, struct pt_regs *regs, long ret)
{
	struct session_slot *slot = session_of_current();
	struct called_socket called = {};
	struct asked asked = {};
	__u32 family;

	if (!slot)
		return 0;
	socket_of_fd(SYSCALL_ARG1(regs), &called);
	if (take_asked(&asked) && asked.call == SOCKET_CONNECT) {
		if (ret == 0 || ret == -EINPROGRESS)
			complete(&asked, &called);
		return emit_asked(slot, &asked, true, ret);
	}
	if (!called.sk)
		return 0;
	family = family_of(called.sk);
	if (family == AF_UNIX)
		return unix_connected(slot, regs, ret, &called);
	asked = (struct asked){.call = SOCKET_CONNECT, .cookie = cookie_of(called.sk)};
	read_ends(called.sk, &asked.ends);
	if (family == AF_NETLINK)
		return 0;
	/* connect(AF_UNSPEC) dissolves a connection and asks for none. */
	if (ret == 0 && !(asked.ends.known & SOCKET_KNOWN_DST) &&
	    (family == AF_INET || family == AF_INET6))
		return 0;
	return emit_asked(slot, &asked, true, ret);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_bind, struct pt_regs *regs, long ret)
{
	struct session_slot *slot = session_of_current();
	struct called_socket called = {};
	struct asked asked = {};

	if (!slot)
		return 0;
	socket_of_fd(SYSCALL_ARG1(regs), &called);
	if (take_asked(&asked) && asked.call == SOCKET_BIND) {
		if (ret == 0)
			complete(&asked, &called);
		return emit_asked(slot, &asked, true, ret);
	}
	if (!called.sk || family_of(called.sk) != AF_UNIX)
		return 0;
	if (ret < 0)
		return unix_not_bound(slot, regs, ret, &called);
	return unix_named(slot, SOCKET_BIND, &called, 0);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_listen, struct pt_regs *regs, long ret)
{
	struct session_slot *slot = ret == 0 ? session_of_current() : NULL;
	struct called_socket called = {};
	struct wire_socket_call *r;
	struct socket_ends ends = {};

	if (!slot || !socket_of_fd(SYSCALL_ARG1(regs), &called))
		return 0;
	if (family_of(called.sk) == AF_UNIX)
		return unix_named(slot, SOCKET_LISTEN, &called, SYSCALL_ARG2(regs));
	read_ends(called.sk, &ends);
	r = begin_call(slot, SOCKET_LISTEN, &ends, cookie_of(called.sk));
	if (!r)
		return 0;
	r->backlog = SYSCALL_ARG2(regs);
	emit_end(slot, r);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_accept, struct pt_regs *regs, long ret)
{
	struct session_slot *slot = ret >= 0 ? session_of_current() : NULL;
	struct called_socket called = {};
	struct wire_socket_call *r;
	struct socket_ends ends = {};

	if (!slot || !socket_of_fd(ret, &called))
		return 0;
	if (family_of(called.sk) == AF_UNIX)
		return unix_named(slot, SOCKET_ACCEPT, &called, 0);
	read_ends(called.sk, &ends);
	r = begin_call(slot, SOCKET_ACCEPT, &ends, cookie_of(called.sk));
	if (r)
		emit_end(slot, r);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_socketpair, struct pt_regs *regs, long ret)
{
	struct session_slot *slot = ret == 0 ? session_of_current() : NULL;
	struct socket_ends ends = {};
	struct wire_socket_call *r;

	if (!slot || SYSCALL_ARG1(regs) != AF_UNIX)
		return 0;
	ends.family = AF_UNIX;
	ends.type = SYSCALL_ARG2(regs) & 15;
	r = begin_call(slot, SOCKET_PAIR, &ends, 0);
	if (r)
		emit_end(slot, r);
	return 0;
}

/* ---- sends ---- */

static __always_inline void unix_sent(struct session_slot *slot, const struct called_socket *called,
				      __u64 name, __u32 name_size, bool has_size, long ret)
{
	struct wire_socket_call *r = begin_unix(slot, SOCKET_SEND, called);

	if (!r)
		return;
	put_passed_name(r, name, name_size);
	set_result(r, ret);
	if (has_size && ret >= 0) {
		r->size = ret;
		r->known |= SOCKET_KNOWN_SIZE;
	}
	emit_end(slot, r);
}

#define MMSGHDR_BYTES 64
#define UNREADABLE ((__u64)-1)

/* The beginning of struct msghdr and mmsghdr, in the caller's memory. */
struct user_message {
	__u64 name;
	__u32 name_size;
	__u32 reserved;
};

struct many {
	struct session_slot *slot;
	struct called_socket called;
	__u64 messages;
};

/* Memory that is gone by now does not hide the act: it is told without a name. */
static __always_inline void read_message(__u64 address, struct user_message *message)
{
	if (bpf_probe_read_user(message, sizeof(*message), (void *)address))
		message->name = UNREADABLE;
}

static long unix_sent_one(__u32 index, void *context)
{
	struct many *many = context;
	struct user_message message = {};
	struct session_slot *slot = many->slot;
	struct called_socket called = many->called;

	read_message(many->messages + index * MMSGHDR_BYTES, &message);
	if (message.name)
		unix_sent(slot, &called, message.name, message.name_size, false, 0);
	return 0;
}

/* A unix datagram with a peer's name. */
static __always_inline int unix_sends(struct session_slot *slot, struct pt_regs *regs, long ret)
{
	struct many many = {.slot = slot, .messages = SYSCALL_ARG2(regs)};
	struct user_message message = {};
	struct sock *sk;
	__u32 count = ret > MESSAGES_MAX ? MESSAGES_MAX : ret;

	if (regs->orig_ax == __NR_sendto) {
		message.name = SYSCALL_ARG5(regs);
		message.name_size = SYSCALL_ARG6(regs);
	} else {
		read_message(SYSCALL_ARG2(regs), &message);
	}
	if (!message.name && regs->orig_ax != __NR_sendmmsg)
		return 0;
	if (!socket_of_fd(SYSCALL_ARG1(regs), &many.called))
		return 0;
	sk = many.called.sk;
	if (family_of(sk) != AF_UNIX || BPF_CORE_READ(sk, sk_type) != SOCK_DGRAM)
		return 0;
	if (regs->orig_ax != __NR_sendmmsg || ret < 0)
		unix_sent(slot, &many.called, message.name, message.name_size, true, ret);
	else
		bpf_loop(count, unix_sent_one, &many, 0);
	return 0;
}

/*
 * sendto, sendmsg, sendmmsg. A datagram that left has its record already; what is still asked for
 * failed, waits in a corked socket, or is a connect by TCP fast open. Which message of sendmmsg
 * failed is known, but not why: the call returns the number of those before it.
 */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_send, struct pt_regs *regs, long ret)
{
	struct session_slot *slot = session_of_current();
	struct called_socket called = {};
	struct asked asked = {};

	if (!slot)
		return 0;
	if (!take_asked(&asked))
		return unix_sends(slot, regs, ret);
	if (asked.call == SOCKET_CONNECT && ret >= 0 && socket_of_fd(SYSCALL_ARG1(regs), &called))
		complete(&asked, &called);
	return emit_asked(slot, &asked, ret < 0 || regs->orig_ax != __NR_sendmmsg, ret);
}
