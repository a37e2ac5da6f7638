#!/bin/sh
# Several commands in one session: each has its streams, its cgroup and one verdict, and none outlives the session.
# shellcheck disable=SC2016
set -eu
. "$(dirname "$0")/lib.sh"
need_root

vitrine() {
	command=$1
	shift
	"$bin/vitrine" "$command" --state "$state" "$@"
}

# in_session COMMAND...: in the session $id, with nothing on standard error.
in_session() {
	vitrine exec --quiet --no-tty "$id" -- "$@"
}

# ends: exec, reason, exit code, signal and by of each exec.end, in order of their numbers.
ends() {
	vitrine replay --json --kind exec.end "$id" | python3 -c '
import json, sys
ends = sorted((json.loads(line) for line in sys.stdin), key=lambda e: e["exec"])
print(" ".join("%d:%s%s%s" % (e["exec"], e["reason"], e.get("exit_code", e.get("signal", "")), "/" + e["by"] if "by" in e else "") for e in ends))'
}

# on_terminal COMMAND...: on one of 100 columns and 40 rows.
on_terminal() {
	python3 -c '
import fcntl, os, pty, struct, subprocess, sys, termios
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
child = subprocess.Popen(sys.argv[1:], stdin=slave, stdout=slave, stderr=subprocess.DEVNULL, start_new_session=True)
os.close(slave)
said = b""
while True:
    try:
        piece = os.read(master, 4096)
    except OSError:
        break
    if not piece:
        break
    said += piece
child.wait()
print(said.decode().strip())' "$@"
}

# ---- one after another ----

id=$(vitrine start --name box --env WHO=session --limit wall=120s)
check 'a session without a command lives, and its starter is gone' sh -c "'$bin/vitrine' ps --state '$state' | grep -E '^$id +box +running'"
said=$(for i in $(seq 20); do
	status=0
	in_session sh -c 'echo "$WHO $1"; exit $1' sh "$i" || status=$?
	echo "= $status"
done)
want=$(for i in $(seq 20); do printf 'session %d\n= %d\n' "$i" "$i"; done)
is 'twenty commands, each with its output and its status' "$want" "$said"
is 'files stay from one to the next' kept "$(in_session sh -c 'echo kept >/tmp/note' && in_session cat /tmp/note)"
is 'standard input is its own' 'given' "$(echo given | vitrine exec --quiet "$id" cat)"
is 'so are directory, variables and user' '/tmp other 0' "$(vitrine exec "$id" --quiet --cwd /tmp --env WHO=other --user root -- sh -c 'echo "$(pwd) $WHO $(id -u)"')"
is 'and a terminal' '40 100' "$(on_terminal "$bin/vitrine" exec --state "$state" --tty "$id" -- stty size)"
is 'the first process of the session is out of reach of those that follow it' '' "$(vitrine exec --quiet --user root "$id" -- sh -c 'ls /proc/1/fd /proc/1/root/ 2>/dev/null; cat /proc/1/environ /proc/1/maps 2>/dev/null; kill -9 1 2>/dev/null' || :)"
status=0
in_session /no/such/program 2>/dev/null || status=$?
is 'what is not there is 127, and the session goes on' '127 on' "$status $(in_session echo on)"
in_session sh -c 'setsid sleep 1000 & (sleep 1000 &) ; echo $$' >/dev/null
is 'what a command leaves running dies with it' '' "$(in_session sh -c 'grep -l sleep /proc/[0-9]*/comm 2>/dev/null' || :)"

# ---- beside each other ----

i=0
pids=
while [ $i -lt 5 ]; do
	i=$((i + 1))
	in_session sh -c 'for n in 1 2 3 4 5 6 7 8 9 10; do echo "$1 $n"; sleep 0.01; done' sh $i >"$work/out.$i" &
	pids="$pids $!"
done
for pid in $pids; do wait "$pid"; done
is 'five at once keep their output apart' '' "$(for i in 1 2 3 4 5; do seq 10 | sed "s/^/$i /" | diff - "$work/out.$i"; done)"

echo line >"$work/line"
vitrine exec --json "$id" -- sh -c 'echo up; sleep 1000' >"$work/one" 2>"$work/one.err" &
one=$!
vitrine exec --json "$id" -- sh -c 'echo up; read line; echo "got $line"' >"$work/two" 2>"$work/two.err" <"$work/line" &
two=$!
wait_for grep -q up "$work/one"
n=$(sed -n 's/^command \([0-9]*\) of session.*/\1/p' "$work/one.err")
check 'one of two is killed' vitrine kill --exec "$n" "$id"
status=0
wait $one || status=$?
is 'its verdict says by whom' "137 killed user $n" "$status $(tail -n 1 "$work/one.err" | python3 -c 'import json, sys; v = json.load(sys.stdin); print(v["reason"], v["by"], v["exec"])')"
status=0
wait $two || status=$?
is 'the other one ends as it would' '0 up got line' "$status $(tr '\n' ' ' <"$work/two" | sed 's/ $//')"

vitrine exec --quiet "$id" -- sh -c 'trap "echo trapped; exit 9" TERM; echo up; while :; do sleep 0.05; done' >"$work/three" &
three=$!
wait_for grep -q up "$work/three"
n=$(vitrine replay --json --kind exec.start "$id" | tail -n 1 | grep -o '"exec":[0-9]*' | cut -d: -f2)
vitrine kill --exec "$n" --signal TERM "$id"
status=0
wait $three || status=$?
is 'a signal reaches the one that is named' '9 up trapped' "$status $(tr '\n' ' ' <"$work/three" | sed 's/ $//')"

"$bin/vitrine" exec --state "$state" --quiet "$id" -- sh -c 'echo up; sleep 1000' >"$work/four" 2>/dev/null &
four=$!
wait_for grep -q up "$work/four"
kill -9 $four
wait $four 2>/dev/null || :
wait_for sh -c "'$bin/vitrine' replay --state '$state' --json --kind exec.end '$id' | tail -n 1 | grep -q '\"by\":\"client\"'"
is 'the end of its client ends the command alone' 'on' "$(in_session echo on)"

# A process that stays does not end a session either.
vitrine exec --quiet "$id" -- sleep 1000 &
five=$!
wait_for sh -c "'$bin/vitrine' replay --state '$state' --json --kind exec.start '$id' | tail -n 1 | grep -q 1000"
check 'the session ends when it is told to' vitrine kill "$id"
status=0
wait $five 2>/dev/null || status=$?
is 'and with it the command that still ran' 137 "$status"
is 'nothing of it is left' '' "$(left "$id")"
check 'counts add up' counts_add_up --lossless
check 'an ended session takes no command' sh -c "! '$bin/vitrine' exec --state '$state' '$id' -- true 2>'$work/said' && grep -q 'has ended already' '$work/said'"
check 'nor does one that never was' sh -c "! '$bin/vitrine' exec --state '$state' nobody -- true 2>'$work/said' && grep -q 'no such session' '$work/said'"
is 'each command has one start and one end' '' "$(vitrine replay --json "$id" | python3 -c '
import collections, json, sys
seen = collections.Counter()
for line in sys.stdin:
    e = json.loads(line)
    if e["kind"] in ("exec.start", "exec.end"):
        seen[e["kind"], e["exec"]] += 1
last = max(n for _, n in seen)
print(*(k for k in seen if seen[k] != 1), *(n for n in range(1, last + 1) if not seen["exec.end", n]), sep=" ", end="")')"
is 'what a command did is told of that one' '20' "$(vitrine replay --json --filter 'exec:20 kind:process.exec' "$id" | python3 -c '
import json, sys
print(*{json.loads(line)["argv"][-1] for line in sys.stdin})')"
check 'show lists them' sh -c "'$bin/vitrine' show --state '$state' '$id' | grep -E '^ +20: sh -c .* 20  exit 20, after'"

n=$(vitrine replay --json --filter 'kind:exec.start columns:100' "$id" | grep -o '"exec":[0-9]*' | cut -d: -f2)
is 'a cast can be of one of them' '100 40 100' "$(vitrine replay --format asciicast --filter "exec:$n" "$id" | python3 -c '
import json, sys
head, *events = [json.loads(line) for line in sys.stdin]
said = "".join(e[2] for e in events if e[1] == "o")
print(head["term"]["cols"], said.strip())')"
check 'show has all of them' sh -c "'$bin/vitrine' show --state '$state' '$id' | grep -q '^commands     1: sh -c'"
"$bin/vitrine" report --state "$state" --format md -o "$work/report.md" "$id" >"$work/log" 2>&1
check 'and so has a report' grep -q '^- Commands: .[0-9]* given; 1: sh -c' "$work/report.md"

# ---- as many as there may be ----

id=$(vitrine start)
pids=
for _ in $(seq 64); do
	in_session sleep 1000 2>/dev/null &
	pids="$pids $!"
done
wait_for sh -c "[ \$('$bin/vitrine' replay --state '$state' --json --kind exec.start '$id' | wc -l) -eq 64 ]"
status=0
in_session true 2>"$work/said" || status=$?
is 'one too many is told so' '75 yes' "$status $(grep -q 'as many as a session may have' "$work/said" && echo yes)"
vitrine kill "$id"
for pid in $pids; do
	status=0
	wait "$pid" || status=$?
	[ $status -eq 137 ] || echo "$status"
done >"$work/statuses"
is 'and all of them end with their session' '' "$(cat "$work/statuses")"

# ---- a session that lives for a command ----

vitrine run --name own -- sh -c 'echo up; while [ ! -e /tmp/go ]; do sleep 0.05; done; exit 4' >"$work/own" 2>/dev/null &
own=$!
wait_for grep -q up "$work/own"
id=$(vitrine ps --json | python3 -c 'import json, sys; print(*(s["id"] for s in json.load(sys.stdin) if s["name"] == "own"))')
vitrine exec --json own -- sleep 1000 >/dev/null 2>"$work/beside" &
beside=$!
wait_for grep -q command "$work/beside"
vitrine exec --quiet own -- touch /tmp/go
status=0
wait $own || status=$?
other=0
wait $beside || other=$?
is 'it ends with that command, and the others with it' '4 137' "$status $other"
is 'as their verdicts say' '1:exit4 2:killed/session 3:exit0' "$(ends)"

# Not that of a user who has it not.
if command -v setpriv >/dev/null; then
	printf '{"users": {"*": {}}, "group": "daemon"}' >"$work/config.json"
	socket=$work/control.sock
	"$bin/vitrined" --state "$work/shared" --socket "$socket" --config "$work/config.json" >"$work/daemon.log" 2>&1 </dev/null &
	daemon=$!
	wait_for test -S "$socket"
	chmod 666 "$socket"
	as() {
		uid=$1
		shift
		setpriv --reuid "$uid" --regid 65534 --clear-groups "$bin/vitrine" "$@"
	}
	id=$(as 64901 start --socket "$socket" --name theirs)
	is 'a user gives commands to a session of the own' mine "$(as 64901 exec --socket "$socket" --quiet theirs -- echo mine)"
	check 'another user does not' sh -c "! setpriv --reuid 64902 --regid 65534 --clear-groups '$bin/vitrine' exec --socket '$socket' theirs -- true 2>'$work/said' && grep -q 'no session of yours' '$work/said'"
	is 'nor whoever knows its id' 'no_session' "$(setpriv --reuid 64902 --regid 65534 --clear-groups python3 -c '
import array, json, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
fds = array.array("i", [0, 1, 2])
s.sendmsg([json.dumps({"request": "exec.run", "session": sys.argv[2], "command": ["true"]}).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
print(json.loads(s.recv(65536))["error"]["code"])' "$socket" "$id")"
	# What a session holds up, it holds up for itself alone.
	frozen=$("$bin/vitrine" start --state "$work/shared" --socket "$socket")
	freeze=$(find /sys/fs/cgroup -type d -name "$frozen" -path '*vitrine*' -exec test -e '{}/cgroup.freeze' \; -print | head -n 1)/cgroup.freeze
	echo 1 >"$freeze"
	on_terminal "$bin/vitrine" exec --state "$work/shared" --socket "$socket" --tty "$frozen" -- echo thawed >"$work/frozen" &
	waiting=$!
	wait_for sh -c "'$bin/vitrine' replay --state '$work/shared' --json --kind exec.start '$frozen' | grep -q thawed"
	is 'a terminal that does not come holds up no other session' on "$(timeout 8 "$bin/vitrine" exec --state "$work/shared" --socket "$socket" --quiet theirs -- echo on)"
	echo 0 >"$freeze"
	wait $waiting
	is 'and comes in its time' thawed "$(cat "$work/frozen")"
	"$bin/vitrine" kill --state "$work/shared" --socket "$socket" "$frozen"
	check 'its owner ends it' as 64901 kill --socket "$socket" theirs
	kill $daemon
	wait $daemon || :
fi
done_testing
