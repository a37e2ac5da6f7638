#!/bin/sh
# kill -9 of each of our processes: the session ends, nothing of it is left, and its record is finished with one end.
. "$(dirname "$0")/lib.sh"
need_root

cgroups=/sys/fs/cgroup/vitrine
[ -d /sys/fs/cgroup/unified ] && cgroups=/sys/fs/cgroup/unified/vitrine

# child PARENT [NAME]: pid of the child that is called so (a name of at most 15 letters), or of any.
child() {
	tr ' ' '\n' <"/proc/$1/task/$1/children" 2>/dev/null | while read -r pid; do
		[ "${2:-$(cat "/proc/$pid/comm")}" = "$(cat "/proc/$pid/comm")" ] && echo "$pid"
	done
}

# strike PID...: a victim that is not there would make a test that cannot fail.
strike() {
	if [ $# -ne 1 ] || [ -z "$1" ]; then
		echo "Bail out! no process to kill"
		kill "$client"
		exit 1
	fi
	kill -9 "$1"
}

# start: a session that runs until it is killed; $client, $daemon and $id are set.
start() {
	: >"$work/out"
	"$bin/vitrine" run --state "$state" -- sh -c 'echo ready; sleep 1000 & while :; do sleep 0.1; done' \
		>"$work/out" 2>"$work/err" </dev/null &
	client=$!
	wait_for grep -q ready "$work/out"
	daemon=$(child $client vitrined)
	id=$(sed -n 's/^session //p' "$work/err")
}

manifest() {
	"$bin/vitrine" ps --state "$state" --json | python3 -c '
import json, sys
print(*[s[sys.argv[2]] for s in json.load(sys.stdin) if s["id"] == sys.argv[1]])' "$id" "$1"
}

one_end() {
	"$bin/vitrine" replay --state "$state" --json "$id" >"$work/record" 2>"$work/log"
	python3 -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
seqs = [line["seq"] for line in lines]
assert [l["kind"] for l in lines].count("session.end") == 1, "ends"
assert lines[-1]["kind"] == "session.end" and lines[-1]["reason"] == sys.argv[2], lines[-1]
assert seqs == list(range(1, len(seqs) + 1)), "numbers"' "$work/record" "$1" 2>>"$work/log"
}

# struck WHAT STATUS REASON: what has to be true when the victim is dead.
struck() {
	wait "$client" 2>/dev/null
	is "$1: exit status" "$2" $?
	# A killed client does not wait for its daemon.
	wait_for test ! -d "/proc/$daemon"
	"$bin/vitrine" run --quiet --state "$state" -- true 2>"$work/log"
	ok $? "$1: the next session runs"
	is "$1: nothing of its cgroup is left" '' "$(ls -d "$cgroups/$id" 2>/dev/null)"
	is "$1: reason" "$3" "$(manifest reason)"
	one_end "$3"
	ok $? "$1: its record has one end"
}

start
strike "$daemon"
struck vitrined 125 supervisor_lost

start
strike "$(child "$daemon" vitrine-recorde)"
struck recorder 125 supervisor_lost

start
strike "$(child "$daemon" vitrine-names)"
struck names 125 supervisor_lost

start
strike "$(child "$daemon" vitrine-launche)"
struck launcher 125 supervisor_lost

start
strike "$(child "$(child "$daemon" vitrine-launche)")"
struck init 137 killed

start
strike "$client"
struck client 137 killed

# Killed between the end of the record and the manifest: the record knows better.
"$bin/vitrine" run --state "$state" -- sh -c 'exit 3' 2>"$work/err"
id=$(sed -n 's/^session //p' "$work/err")
python3 - "$state/sessions/$id/manifest.json" <<-'PYTHON'
	import json, sys
	m = json.load(open(sys.argv[1]))
	m["state"], m["supervisor_pid"] = "running", 999999999
	for key in "reason", "exit_code", "ended_ns":
	    m.pop(key, None)
	json.dump(m, open(sys.argv[1], "w"))
PYTHON
"$bin/vitrine" run --quiet --state "$state" -- true 2>"$work/log"
is 'a record that had its end keeps it' exit "$(manifest reason)"
one_end exit
ok $? 'and gets no second one'

done_testing
