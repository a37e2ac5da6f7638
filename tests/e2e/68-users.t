#!/bin/sh
# Users other than root run sessions by a daemon, as far as its configuration lets them, and reach nothing by it that
# they could not reach alone.
set -eu
. "$(dirname "$0")/lib.sh"
need_root
command -v setpriv >/dev/null || skip_all "needs setpriv (util-linux)"

group=$(getent group nogroup nobody | head -n 1 | cut -d: -f1)
gid=$(getent group "$group" | cut -d: -f3)
socket=$work/control.sock

# as UID GID COMMAND...
as() {
	uid=$1
	with=$2
	shift 2
	setpriv --reuid "$uid" --regid "$with" --clear-groups --inh-caps=-all "$@"
}
as 64901 "$gid" test -x "$bin/vitrine" || skip_all "the programs are where only root can run them"

cat >"$work/config.json" <<EOF
{"group": "$group",
 "users": {"root": {}, "@$group": {"sessions": 2, "limits": {"pids": 64, "wall": "1m", "memory": "256M"}, "tenant": "team"}}}
EOF
"$bin/vitrined" --state "$state" --socket "$socket" --config "$work/config.json" >"$work/daemon.log" 2>&1 </dev/null &
daemon=$!
wait_for test -S "$socket"

# user OPTION... -- COMMAND...: as uid 64901; $status, $work/out and $work/err.
user() {
	status=0
	as 64901 "$gid" "$bin/vitrine" run --socket "$socket" --quiet --json "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# refused NAME WORDS: the last run was, by the daemon or the client.
refused() {
	cp "$work/err" "$work/log"
	if [ "$status" -eq 125 ] && grep -q "$2" "$work/err"; then ok 0 "$1"; else ok 1 "$1"; fi
}

is 'the socket is the group'"'"'s' "660 0 $gid" "$(stat -c '%a %u %g' "$socket")"
user -- sh -c 'id -u; echo done'
is 'a member of the group runs a command' '0 1000 done' "$status $(tr '\n' ' ' <"$work/out" | sed 's/ $//')"
check 'the record says who it was, and what holds for that user' python3 -c '
import json, sys
start = json.loads(sys.stdin.readline())
assert start["user"]["uid"] == 64901 and start["tenant"] == "team", start
assert start["policy"]["limits"] == {"pids": 64, "wall": 60, "memory": 268435456}, start["policy"]["limits"]' <<EOF
$(replay --kind session.start)
EOF

status=0
as 64902 64902 "$bin/vitrine" run --socket "$socket" --quiet -- true 2>"$work/err" || status=$?
refused 'who is not of the group cannot connect' 'group'

# ---- what may not be asked for ----

user --limit pids=65 -- true
refused 'a limit above what is granted' 'limits.pids.*at most 64'
user --limit pids=32 -- true
is 'one below it is had' 0 "$status"
user --net host -- true
refused 'the host'"'"'s network' 'net_host'
user --tenant other -- true
refused 'another tenant' 'tenant'
user --on-loss count -- true
refused 'a record that may lose something' 'record'
echo '{"redact_off": ["jwt"]}' >"$work/policy.json"
user --policy "$work/policy.json" -- true
refused 'redaction that is switched off' 'record'
user --rootfs /usr -- true
refused 'a directory as root file system' 'only root'
check 'the refusal is JSON with a code' sh -c "tail -n 1 '$work/err' | grep -q '^{\"error\":' || grep -q 'only root' '$work/err'"

# ---- workspaces ----

mkdir "$work/own" "$work/roots" "$work/shared"
chown 64901:"$gid" "$work/own"
chown 0:"$gid" "$work/shared"
chmod 775 "$work/shared"
ln -s "$work/roots" "$work/own/link"
user --workspace "$work/own" -- sh -c 'echo text >/workspace/file'
is 'a directory of the user'"'"'s own is a workspace' "0 64901" "$status $(stat -c %u "$work/own/file" 2>/dev/null)"
user --workspace "$work/roots" -- true
refused 'root'"'"'s is none' 'belongs to uid 0'
user --workspace "$work/own/link" -- true
refused 'nor by a link' 'belongs to uid 0'
user --workspace "$work/shared" -- true
refused 'nor is one that the user may write to, but does not own' 'belongs to uid 0'
mkdir -m 700 "$work/closed"
mkdir "$work/closed/in"
chown 64901 "$work/closed/in"
user --workspace "$work/closed/in" -- true
refused 'nor one that the user cannot come to' 'Permission denied'

# What no client of ours would send.
cat >"$work/send.py" <<'PYTHON'
import json, os, socket, sys
message, directory = json.loads(sys.argv[2]), sys.argv[3]
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
null = os.open("/dev/null", os.O_RDWR)
fds = [null] * 3 + ([os.open(directory, os.O_PATH | os.O_DIRECTORY)] if directory else [])
socket.send_fds(s, [json.dumps(message).encode()], fds)
print(json.loads(s.recv(65536))["error"]["code"])
PYTHON
chmod 644 "$work/send.py"
sent() {
	as 64901 "$gid" /usr/bin/python3 "$work/send.py" "$socket" "$@" 2>&1 | tail -n 1
}
is 'a workspace by its name alone' forbidden "$(sent "{\"request\":\"session.run\",\"command\":[\"true\"],\"workspace\":\"$work/own\"}" '')"
is 'a name with another directory'"'"'s descriptor' bad_request \
	"$(sent "{\"request\":\"session.run\",\"command\":[\"true\"],\"workspace\":\"$work/roots\"}" "$work/own")"
is 'a descriptor of the daemon'"'"'s own' forbidden \
	"$(sent '{"request":"session.run","command":["true"],"workspace":"/proc/self/fd/5"}' '')"
is 'a directory as root file system, without our client' setup_failed \
	"$(sent '{"request":"session.run","command":["true"],"rootfs":"/usr"}' '')"

# ---- secrets and terminals are the user's ----

echo 'only-the-user-reads-this' >"$work/own/secret"
chown 64901 "$work/own/secret"
chmod 600 "$work/own/secret"
user --secret "TOKEN=file:$work/own/secret" -- sh -c 'echo ${#TOKEN}'
is 'a secret is read by the user' '0 24' "$status $(cat "$work/out")"
echo 'only-root-reads-this' >"$work/roots/secret"
chmod 600 "$work/roots/secret"
user --secret "TOKEN=file:$work/roots/secret" -- true
refused 'and not by the daemon' 'Permission denied'
as 64901 "$gid" /usr/bin/python3 -c '
import pty, sys
sys.exit(pty.spawn(sys.argv[1:]) >> 8)' "$bin/vitrine" run --socket "$socket" --quiet -- sh -c 'test -t 0 && test -t 1 && echo is-a-terminal' \
	>"$work/out" 2>&1 </dev/null || :
check 'a terminal is the user'"'"'s own' grep -q is-a-terminal "$work/out"

# What is another terminal to the daemon than to the user is no stream (each case: tests/unit/streams.c).
as 64901 "$gid" /usr/bin/python3 -c '
import pty, sys
sys.exit(pty.spawn(["sh", "-c", "exec /usr/bin/python3 \"$@\" 3<>/dev/tty", "sh"] + sys.argv[1:]) >> 8)' -c '
import json, os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
null = os.open("/dev/null", os.O_RDWR)
socket.send_fds(s, [b"{\"request\":\"session.run\",\"command\":[\"echo\",\"seen\"]}"], [null, 3, null])
print(json.loads(s.recv(65536))["error"]["message"])' "$socket" >"$work/out" 2>&1 </dev/null || :
check 'nor is /dev/tty, which to the daemon is its own' grep -q 'another terminal' "$work/out"

# Sessions that are given up while they are made: what is made is killed at any point of it, and nothing else is.
cat >"$work/give-up.py" <<'PYTHON'
import json, os, socket, sys
null = os.open("/dev/null", os.O_RDWR)
no_stream = os.open("/dev/null", os.O_PATH)
said = set()
failed = 0
while failed < 40:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    socket.send_fds(s, [b'{"request":"session.run","command":["true"]}'], [null, null, no_stream])
    answer = json.loads(s.recv(65536))
    if answer["error"]["code"] == "capacity": # the one before is not put away yet
        continue
    said.add(answer["verdict"]["step"])
    failed += 1
print(*said)
PYTHON
chmod 644 "$work/give-up.py"
is 'many that cannot be set up have the true reason' streams "$(as 64901 "$gid" /usr/bin/python3 "$work/give-up.py" "$socket" 2>&1 | tail -n 1)"
user -- true
is 'and none of them ends the daemon' 0 "$status"

# A descriptor may keep whoever closes it waiting: here for a peer that takes nothing. It comes where one is asked for, where none
# is, with too many others, and with a message that nobody reads any more.
cat >"$work/linger.py" <<'PYTHON'
import os, signal, socket, struct, sys
path, daemon = sys.argv[1], int(sys.argv[2])
def full():
    listener = socket.create_server(("127.0.0.1", 0))
    one = socket.create_connection(listener.getsockname())
    kept.append(listener.accept()[0])
    one.setblocking(False)
    try:
        while True:
            one.send(bytes(65536))
    except BlockingIOError:
        pass
    one.setblocking(True)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 600))
    return one
kept, ones, connections = [], [], []
null = os.open("/dev/null", os.O_RDWR)
os.kill(daemon, signal.SIGSTOP)
for messages in ([(b'{"request":"session.list"}', 1)], [(b'{"request":"session.list"}', 100)], [(b"none", 1), (b"none", 1)],
                 [(b'{"request":"session.run","command":["true"]}', 3)]):
    connections.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    connections[-1].connect(path)
    for text, count in messages:
        one = full()
        socket.send_fds(connections[-1], [text], [null] * (count - 1) + [one.fileno()])
        ones.append(one)
if os.fork() == 0:
    # The peers live on; of what was passed the daemon alone has the rest, when the parent has ended.
    for one in ones + connections[2:3]:
        os.close(one.detach())
    os.close(1)
    signal.pause()
os.write(1, b"sent\n")
PYTHON
chmod 644 "$work/linger.py"
setsid -w /usr/bin/python3 "$work/linger.py" "$socket" "$daemon" >"$work/sent"
kill -CONT "$daemon"
check 'a descriptor whose end lets wait keeps nobody waiting' timeout 60 "$bin/vitrine" run --socket "$socket" --quiet -- true
pkill -f "$work/linger.py"

# ---- sessions of one's own, and as many as one may have ----

hold() {
	as "$1" "$gid" "$bin/vitrine" run --socket "$socket" --name "$2" --json -- sh -c 'echo ready; exec sleep 1000' >"$work/$2" 2>"$work/$2.err" </dev/null &
	wait_for grep -q ready "$work/$2"
}
kill_as() {
	as "$1" "$gid" "$bin/vitrine" kill --socket "$socket" "$2" 2>"$work/said"
}
hold 64901 one
first=$!
hold 64901 two
second=$!
began=$(date +%s)
user -- true
is 'one too many is told so' "75 capacity" "$status $(tail -n 1 "$work/err" | python3 -c 'import json, sys; print(json.load(sys.stdin)["error"]["code"])')"
check 'at once' test $(($(date +%s) - began)) -lt 10
status=0
as 64903 "$gid" "$bin/vitrine" run --socket "$socket" --quiet -- true >/dev/null 2>&1 || status=$?
is 'another user has room' 0 "$status"
check 'but cannot end what is not theirs' sh -c "! setpriv --reuid 64903 --regid $gid --clear-groups '$bin/vitrine' kill --socket '$socket' one 2>'$work/said' && grep -q 'no session of yours' '$work/said'"
id=$(sed -n 's/^session //p' "$work/one.err")
is 'nor by its id' no_session "$(as 64903 "$gid" /usr/bin/python3 "$work/send.py" "$socket" "{\"request\":\"session.kill\",\"session\":\"$id\"}" '')"
is 'of which they are not told' '[]' "$(as 64903 "$gid" /usr/bin/python3 -c '
import json, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
s.send(b"{\"request\":\"session.list\"}")
print(json.loads(s.recv(65536))["sessions"])' "$socket")"
check 'the owner can' kill_as 64901 one
wait "$first" || :
is 'and the verdict says so' '"killed" "user"' "$(tail -n 1 "$work/one.err" | grep -oE '"(killed|user)"' | tr '\n' ' ' | sed 's/ $//')"
user -- true
is 'then there is room again' 0 "$status"
check 'root can end all' "$bin/vitrine" kill --socket "$socket" two
wait "$second" || :
user -- sh -c 'exit 3'
is 'and what a user runs ends as ever' 3 "$status"

kill "$daemon"
wait "$daemon" || :
done_testing
