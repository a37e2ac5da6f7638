#!/bin/sh
# vitrined is killed at each step of a session's set-up and tear-down, with and without a pool: the next start leaves
# nothing of it, and each session and command has its one end. Needs the build that can be made to die (make CRASH=1).
. "$(dirname "$0")/../e2e/lib.sh"
need_root
crash=${VITRINE_CRASH_BIN:-$bin/../crash/bin}
[ -x "$crash/vitrined" ] || skip_all "no $crash/vitrined: make CRASH=1"
cgroups=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/self/mounts)/vitrine
marker=crash-point-$$
socket=$work/socket

# start DIR OPTION...: the daemon of the programs in DIR, until it listens or is dead.
start() {
	programs=$1
	shift
	rm -f "$socket"
	"$programs/vitrined" --state "$state" --socket "$socket" "$@" >>"$work/daemon.log" 2>&1 &
	daemon=$!
	while [ ! -S "$socket" ] && kill -0 "$daemon" 2>/dev/null; do
		sleep 0.05
	done
}

stop() {
	kill "$daemon" 2>/dev/null
	wait "$daemon" 2>/dev/null
}

sessions() {
	ls "$state/sessions" 2>/dev/null
}

# Sandboxes that nobody holds; those that another daemon just makes are not held for a moment either.
strays() {
	for dir in "$cgroups"/*/; do
		[ -d "$dir" ] && grep -qs '^populated 0' "$dir/cgroup.events" && flock -n "$dir" true 2>/dev/null && echo "cgroup $dir"
	done
}

# What may not be there when a daemon has started after a crash and ended.
leftovers() {
	pgrep -f "$marker" >/dev/null && echo "a process of the session"
	grep -q "$work" /proc/mounts && echo "a mount"
	strays >"$work/strays"
	[ ! -s "$work/strays" ] || { sleep 1; strays | grep -Fxf "$work/strays"; }
	for id in $(sessions); do
		for dir in "$cgroups/$id" /sys/fs/cgroup/*/vitrine/"$id"; do
			[ ! -d "$dir" ] || echo "cgroup $dir"
		done
		grep -qs '"state": "ended"' "$state/sessions/$id/manifest.json" || echo "session $id has not ended"
	done
	find "$state/sessions" -name '*.tmp' -o -name '*.before' 2>/dev/null
}

# The recorder of the killed daemon may still be writing: its record is finished when it has let go.
all_ended() {
	tries=0
	while [ $tries -lt 200 ] && [ -n "$(grep -sL '"state": "ended"' "$state"/sessions/*/manifest.json)" ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
}

# Every session's record ends, once, and so does every command that was given to it.
ends() {
	for id in $(sessions); do
		"$bin/vitrine" replay --state "$state" --json "$id" --kind session.end,exec.start,exec.end | python3 -c '
import collections, json, sys
seen = collections.Counter()
for line in sys.stdin:
    e = json.loads(line)
    seen[e["kind"], e.get("exec")] += 1
if seen["session.end", None] != 1:
    print("session", sys.argv[1], "has", seen["session.end", None], "ends")
for kind, exec in list(seen):
    if exec and (seen["exec.start", exec], seen["exec.end", exec]) != (1, 1):
        print("session", sys.argv[1], kind, exec, "has", seen["exec.start", exec], "starts and", seen["exec.end", exec], "ends")
' "$id"
	done
}

# act: what the daemon has to do before it has come through.
one_command() {
	timeout 60 "$bin/vitrine" run --quiet --socket "$socket" $limits -- sh -c "echo $marker >/tmp/file"
}

# Both are alive at once, and one of them has limits of its own.
two_commands() {
	id=$(timeout 60 "$bin/vitrine" start --socket "$socket" --limit memory=64M,pids=32) || return
	timeout 60 "$bin/vitrine" exec --quiet --state "$state" --socket "$socket" "$id" -- \
		sh -c "echo $marker >/tmp/file; while [ ! -e /tmp/go ]; do sleep 0.02; done" &
	first=$!
	timeout 60 "$bin/vitrine" exec --quiet --state "$state" --socket "$socket" --limit memory=32M,pids=8 "$id" -- touch /tmp/go
	one=$?
	wait $first && [ $one -eq 0 ] && timeout 60 "$bin/vitrine" kill --state "$state" --socket "$socket" "$id"
}

# walk NAME OPTION...: the daemon with these options, killed at point 1, 2, ... until there is none left.
walk() {
	name=$1
	shift
	state=$work/$name
	at=0
	status=137
	again=0
	: >"$work/left"
	while [ $status -eq 137 ]; do
		at=$((at + 1))
		client=0
		VITRINE_CRASH_AT=$at
		export VITRINE_CRASH_AT
		start "$crash" "$@"
		[ ! -S "$socket" ] || $act >/dev/null 2>"$work/client" || client=$?
		stop
		status=$?
		# A session that was refused for want of something has not come to the point.
		if [ $status -ne 137 ] && [ $client -ne 0 ] && [ $again -lt 20 ]; then
			sed "s/^/# point $at again: /" "$work/client"
			again=$((again + 1))
			at=$((at - 1))
			status=137
		fi
		unset VITRINE_CRASH_AT
		start "$bin"
		all_ended
		stop
		leftovers | sed "s/^/point $at: /" >>"$work/left"
	done
	cp "$work/left" "$work/log"
	[ ! -s "$work/left" ]
	ok $? "$name: killed at each of $((at - 1)) steps, the next start leaves nothing"
	is "$name: there was something to kill" yes "$([ $at -gt 40 ] && echo yes)"
	is "$name: and it ends in the end" 0 $status
	is "$name: every session has one end" '' "$(ends)"
	"$bin/vitrine" verify --state "$state" >"$work/log" 2>&1
	[ $? -ne 1 ]
	ok $? "$name: nothing of it passes for tampering"
}

act=one_command
limits='--limit memory=64M,pids=32'
walk cold
walk pool --pool 1
act=two_commands
walk commands

done_testing
