#!/bin/sh
# Whatever dies, nothing of a session lives on, its record is whole up to there, and the next start writes its end.
. "$(dirname "$0")/lib.sh"
need_root

start_daemon() {
	"$bin/vitrined" --state "$state" --socket "$work/socket" >>"$work/daemon.log" 2>&1 &
	daemon=$!
	wait_for test -S "$work/socket"
}

# A session that says it is there and then waits; $marker is an argument that finds its processes on the host.
start_session() {
	marker=$((300000 + $$ + count))
	: >"$work/out" # the shell behind & truncates it too, but later
	"$bin/vitrine" run --quiet --socket "$work/socket" --name "$1" -- sh -c "setsid sleep $marker & echo ready; sleep $marker" \
		>"$work/out" 2>"$work/err" &
	client=$!
	wait_for grep -q ready "$work/out"
}

gone() {
	! pgrep -f "^sleep $marker" >/dev/null
}

child_of_daemon() {
	pgrep -P "$daemon" -f "$1"
}

reason_of() {
	"$bin/vitrine" replay --state "$state" --json "$1" --kind session.end | sed -n 's/.*"reason":"\([a-z_]*\)".*/\1/p'
}

start_daemon
start_session client-dies
kill -9 $client
check 'the client is killed: its session ends' wait_for gone
wait_for test -n "$(reason_of client-dies)"
sleep 0.5
is 'and says by whom' 'killed' "$(reason_of client-dies)"

start_session recorder-dies
kill -9 "$(child_of_daemon vitrine-recorder)"
check 'the recorder is killed: no session runs on unseen' wait_for gone
wait $client
is 'its client is told' 125 $?
wait $daemon
rm -f "$work/socket"
start_daemon
is 'its end is written' supervisor_lost "$(reason_of recorder-dies)"

start_session daemon-dies
kill -9 "$daemon"
check 'the daemon is killed: nothing of the session lives on' wait_for gone
wait $client
is 'its client ends with 125' 125 $?
"$bin/vitrine" replay --state "$state" --json daemon-dies >"$work/before"
grep -q '"data":"ready' "$work/before"
ok $? 'what was recorded before is there'
rm -f "$work/socket"
start_daemon
is 'the next start writes the end' supervisor_lost "$(reason_of daemon-dies)"
"$bin/vitrine" replay --state "$state" --json daemon-dies | head -n "$(wc -l <"$work/before")" | cmp - "$work/before"
ok $? 'and changes nothing of what was there'
is 'every session has ended' 0 "$("$bin/vitrine" ps --state "$state" --json | grep -c '"state": "running"')"

start_session launcher-dies
kill -9 "$(child_of_daemon vitrine-launcher)"
check 'the launcher is killed: nothing of the session lives on' wait_for gone
wait $client
[ $? -ne 0 ]
ok $? 'its client does not take it for success'
kill "$daemon" 2>/dev/null
wait "$daemon"

left=0
for id in $("$bin/vitrine" ps --state "$state" --json | python3 -c 'import json, sys; print(*(s["id"] for s in json.load(sys.stdin)))'); do
	find /sys/fs/cgroup -maxdepth 3 -name "$id" 2>/dev/null | grep -q . && left=$((left + 1))
done
is 'no cgroup is left' 0 $left

done_testing
