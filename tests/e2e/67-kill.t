#!/bin/sh
# vitrine kill ends a session whatever its processes do, once however many ask, and the record says who it was.
set -eu
. "$(dirname "$0")/lib.sh"
need_root

# start NAME COMMAND...: in the background; $client and $id are set when the command says "ready".
start() {
	name=$1
	shift
	: >"$work/out"
	"$bin/vitrine" run --state "$state" --name "$name" --json ${socket:+--socket "$socket"} -- "$@" >"$work/out" 2>"$work/err" </dev/null &
	client=$!
	wait_for grep -q ready "$work/out"
	id=$(sed -n 's/^session //p' "$work/err")
}

# $end: the client's exit status, and the verdict's reason, signal and by.
ended() {
	status=0
	wait "$client" || status=$?
	end=$(tail -n 1 "$work/err" | python3 -c '
import json, sys
v = json.load(sys.stdin)
print(sys.argv[1], v["reason"], v.get("signal", "-"), v.get("by", "-"))' "$status")
}

kill_session() {
	"$bin/vitrine" kill --state "$state" "$@"
}

# shellcheck disable=SC2016
stubborn='
trap "" TERM INT HUP QUIT
setsid sleep 1000 &
( ( sleep 1000 & ) & )
sleep 1000 & kill -STOP $!
echo ready
while :; do sleep 0.1; done'

start one sh -c "$stubborn"
check 'a session is killed by its name' kill_session one
is 'nothing of it is left when kill returns' '' "$(left "$id")"
ended
is 'the verdict says by whom' '137 killed - user' "$end"
is 'so does the record' '"killed" "user"' "$(replay --kind session.end | grep -oE '"(killed|user)"' | tr '\n' ' ' | sed 's/ $//')"
check 'counts add up' counts_add_up --lossless
check 'it cannot be killed twice' sh -c "! '$bin/vitrine' kill --state '$state' one 2>'$work/said' && grep -q 'has ended already' '$work/said'"
check 'nor can what never was' sh -c "! '$bin/vitrine' kill --state '$state' nobody 2>'$work/said' && grep -q 'no such session' '$work/said'"

start frozen sh -c "$stubborn"
echo 1 >"$(find /sys/fs/cgroup -type d -name "$id" -path '*vitrine*' -exec test -e '{}/cgroup.freeze' \; -print | head -n 1)/cgroup.freeze"
check 'a frozen one too' kill_session "$id"
ended
is 'and it is as dead' '137 killed - user' "$end"
is 'and as gone' '' "$(left "$id")"

start many sh -c "$stubborn"
callers=
for _ in $(seq 20); do
	kill_session "$id" >/dev/null 2>&1 &
	callers="$callers $!"
done
for caller in $callers; do wait "$caller" || :; done
ended
is 'twenty who ask at once get one end' '137 killed - user' "$end"
is 'of which there is one record' 1 "$(replay --kind session.end | wc -l)"
is 'and nothing is left' '' "$(left "$id")"

start term sh -c 'echo ready; exec sleep 1000'
check 'a signal goes to the command' kill_session --signal TERM term
ended
is 'and the verdict says who sent it' '143 signal 15 user' "$end"
# shellcheck disable=SC2016
start own sh -c 'echo ready; sleep 0.5; kill -TERM $$'
ended
is 'a signal of its own is nobody else'"'"'s' '143 signal 15 process' "$end"
start fault python3 -c 'import ctypes; print("ready", flush=True); ctypes.string_at(0)'
ended
is 'a fault is the kernel'"'"'s' '139 signal 11 kernel' "$end"
start alien sh -c 'echo ready; exec sleep 1000'
kill -TERM "$(replay --kind process.exec | python3 -c '
import json, sys
print([r["host_pid"] for r in map(json.loads, sys.stdin) if r["argv"][0] == "sleep"][-1])')"
ended
is 'what another process of the host sends comes from outside' '143 signal 15 outside' "$end"
# shellcheck disable=SC2016
start inner sh -c 'sh -c "kill -KILL $$" & echo ready; exec sleep 1000'
ended
is 'a child that kills its parent is named' '137 signal 9 process' "$end"
replay --kind process.exec --kind session.end >"$work/records"
check 'as a process of the record' python3 -c '
import json, sys
records = list(map(json.loads, open(sys.argv[1])))
end, execs = records[-1], {r["proc"]: r for r in records[:-1]}
sender = execs[end["sender"]["proc"]]
assert "kill -KILL" in sender["argv"][2], sender
assert sender["pid"] == end["sender"]["pid"]' "$work/records"
start caught sh -c 'trap "echo caught; exit 3" USR1; echo ready; while :; do sleep 0.1; done'
check 'a signal can be caught' kill_session --signal SIGUSR1 last
ended
is 'and the end is its own' '3 exit - -' "$end"
check 'a signal that is none is refused' sh -c "! '$bin/vitrine' kill --state '$state' --signal NONE last 2>/dev/null"

start zombies python3 -c '
import os, time
print("ready", flush=True)
for i in range(50):
    if os.fork() == 0:
        if os.fork() == 0: time.sleep(0.2); os._exit(0)
        os._exit(0)
    os.wait()
time.sleep(1)
states = [open("/proc/%s/stat" % p).read().rsplit(")", 1)[1].split()[0] for p in os.listdir("/proc") if p.isdigit()]
print(states.count("Z"), "zombies")'
wait "$client"
check 'orphans that end are reaped' grep -q '^0 zombies' "$work/out"

is 'no socket of a private daemon is left' '' "$(find /run/vitrine -name "*.sock" -newer "$work" ! -name control.sock | while read -r s; do
	[ -d "/proc/$(basename "$s" .sock)" ] || echo "$s"
done)"

# ---- the same by a daemon ----

socket=$work/control.sock
"$bin/vitrined" --state "$state" --socket "$socket" >"$work/daemon.log" 2>&1 </dev/null &
daemon=$!
wait_for test -S "$socket"
start served sh -c "$stubborn"
check 'a daemon knows where its sessions are' "$bin/vitrine" kill --socket "$socket" served
ended
is 'and ends them' '137 killed - user' "$end"
is 'leaving nothing' '' "$(left "$id")"
start limited sh -c "$stubborn"
kill -9 "$daemon"
wait "$daemon" 2>/dev/null || :
wait "$client" || :
run --quiet -- true >/dev/null 2>&1
is 'a killed daemon leaves nothing after the next start' '' "$(left "$id")"

done_testing
