#!/bin/sh
# Sessions that end faster than the disk takes them: the next one waits, so that what they hold is bounded, and nothing else does.
. "$(dirname "$0")/lib.sh"
. "$here/scale.sh"
need_root
command -v strace >/dev/null || skip_all "needs strace, to hold the disk up"

start_daemon
check 'sessions in a row' in_a_row 3
held() {
	find "/proc/$daemon/fd" "/proc/$recorder/fd" -lname "$state/sessions/[0-9a-z]*" 2>/dev/null | wc -l
}
check 'of which nothing is held' settled 0 held
sockets() {
	find "/proc/$daemon/fd" -lname 'socket:*' | wc -l
}
sockets_quiet=$(sockets)
closer=$(ls "/proc/$recorder/task" | sort -n | tail -n 1)

# stall: the thread that waits for the disk waits for ever.
stall() {
	strace -qq -o /dev/null -e trace=fdatasync -e inject=fdatasync:delay_enter=600000000 -p "$closer" &
	tracer=$!
	wait_for grep -q "^TracerPid:[[:space:]]*$tracer$" "/proc/$recorder/task/$closer/status"
}
check 'the disk stands still' stall
in_a_row 140 &
row=$!
check 'so many end nevertheless' settled $((3 + 128)) ended

# asks REQUEST [SECONDS]: what the daemon answers to who connects and, so much later, sends it; nothing if it lets it wait.
asks() {
	python3 - "$socket" "$1" "${2:-0}" <<-'PY'
		import socket, sys, time
		with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
		    s.connect(sys.argv[1])
		    time.sleep(float(sys.argv[3]))
		    s.send(b'{"request":"%s"}' % sys.argv[2].encode())
		    s.settimeout(0.5 if sys.argv[2] in ("session.run", "session.start") else 30)
		    try:
		        print(s.recv(65536).decode()[:11])
		    except TimeoutError:
		        pass
	PY
}
is 'then a request for another one waits' '' "$(asks session.run)"
is 'in each of its forms' '' "$(asks session.start)"
# It looks first and reads then: what comes between waits too.
strace -qq -o /dev/null -e trace=recvmsg -e inject=recvmsg:delay_enter=300000 -p "$daemon" &
reader=$!
wait_for grep -q "^TracerPid:[[:space:]]*$reader$" "/proc/$daemon/status"
is 'whenever it comes' '' "$(asks session.run 0.15)"
kill "$reader"
wait "$reader" 2>/dev/null
is 'what else is asked is answered' '{"ok":true,' "$(asks daemon.info)"
is 'and no more have ended' $((3 + 128)) "$(ended)"
check 'of those that waited and went nothing is left' settled $((sockets_quiet + 1)) sockets

kill "$tracer"
wait "$tracer" 2>/dev/null
wait "$row"
ok $? 'when the disk goes on, they do'
is 'all have ended' $((3 + 140)) "$(ended)"
check 'and nothing is held of them' settled 0 held
stop_daemon
done_testing
