#!/bin/sh
# Eight sessions that do nothing but make events, for a minute: nothing is lost, and the counts are those of the acts.
# SECONDS_OF_FLOOD says for how long.
. "$(dirname "$0")/../e2e/lib.sh"
need_root
make_workspace
seconds=${SECONDS_OF_FLOOD:-60}
cp "$tests/loops" "$work/workspace/"

"$bin/vitrined" --state "$state" --socket "$work/socket" >"$work/daemon.log" 2>&1 &
daemon=$!
i=0
while [ ! -S "$work/socket" ] && [ $i -lt 100 ]; do
	sleep 0.1
	i=$((i + 1))
done
[ -S "$work/socket" ]
ok $? 'the daemon listens'

# flood KIND ROUND COMMAND...: each session repeats it, and says at its end how often it did.
flood() {
	kind=$1
	round=$2
	shift 2
	clients=
	for i in 1 2 3 4 5 6 7 8; do
		"$bin/vitrine" run --json --socket "$work/socket" --name "$kind$i" --workspace "$work/workspace" -- sh -c "
			n=0
			end=\$((\$(date +%s) + $seconds))
			while [ \$(date +%s) -lt \$end ]; do
				/workspace/loops $* >/dev/null
				n=\$((n + $round))
			done
			echo \$n" >"$work/$kind$i.acts" 2>"$work/$kind$i.verdict" &
		clients="$clients $!"
	done
	bad=0
	for client in $clients; do
		wait "$client" || bad=1
	done
	ok $bad "$kind: eight sessions ran for $seconds s"
}

# judge KIND CLASS EACH: lost is 0, and produced holds at least EACH records for each act.
judge() {
	python3 - "$work" "$@" >"$work/said" <<-'PYTHON'
		import json, sys
		work, kind, of_class, each, seconds = sys.argv[1:]
		produced = lost = acts = 0
		bad = False
		for i in range(1, 9):
		    own = int(open(f"{work}/{kind}{i}.acts").read())
		    verdict = json.loads(open(f"{work}/{kind}{i}.verdict").readlines()[-1])
		    counts = verdict["counts"]
		    lost += sum(c["lost"] for c in counts.values())
		    produced += sum(c["produced"] for c in counts.values())
		    acts += own
		    if counts[of_class]["produced"] < own * int(each) or counts[of_class]["journaled"] != counts[of_class]["produced"]:
		        bad = True
		        print(f"{kind}{i}: {own} acts, {counts}")
		print(f"{acts:,} acts, {produced:,} records, {produced / int(seconds):,.0f} a second, lost {lost}")
		sys.exit(bad or lost != 0 or acts == 0)
	PYTHON
	bad=$?
	cp "$work/said" "$work/log"
	sed 's/^/# /' "$work/said"
	ok $bad "$1: all of it is in the records, and nothing is lost"
}

flood files 20000 files 20000
judge files file 2 "$seconds"
flood execs 300 execs 300 /bin/true
judge execs process 3 "$seconds"

for i in 1 2 3 4 5 6 7 8; do
	"$bin/vitrine" verify --state "$state" --quiet "execs$i" >>"$work/log" 2>&1 || bad=1
done
ok $bad 'each record verifies'

kill "$daemon"
wait "$daemon"
ok $? 'the daemon ends'
done_testing
