#!/bin/sh
# Strict mode: a session that outruns its recorder is frozen, and loses nothing. The other modes count, or kill.
. "$(dirname "$0")/lib.sh"
need_root
make_workspace

printf '{"ring_bytes": 4194304}\n' >"$work/small.json"
processes=64
opens=2000

# flood MODE: 64 processes at once, each opening, writing and closing files as fast as it can.
flood() {
	run --quiet --on-loss "$1" --policy "$work/small.json" --workspace "$workspace" -- sh -c "
		i=0
		while [ \$i -lt $processes ]; do
			/workspace/acts flood=$opens >/dev/null &
			i=\$((i + 1))
		done
		wait" 2>"$work/log"
	ok $? "64 busy processes with --on-loss $1 came to their end"
	replay >"$work/record"
}

flood freeze
check 'nothing lost, counts add up' counts_add_up --lossless
is 'every open is in the record' $((processes * opens)) "$(grep -cE '"kind":"file.(create|open)".*"path":"/tmp/flood-' "$work/record")"
is 'every write is in the record' $((processes * opens)) "$(grep -c '"kind":"file.modify".*"path":"/tmp/flood-' "$work/record")"
is 'no gap' 0 "$(grep -c '"kind":"gap"' "$work/record")"

# Argument lists of 120 KB from 64 processes: far more than the recorder can write, and a ring of 4 MiB.
cat >"$workspace/burst.sh" <<-'SH'
	big=$(head -c 120000 /dev/zero | tr '\0' x)
	i=0
	while [ $i -lt 64 ]; do
		(n=0; while [ $n -lt 25 ]; do /bin/true "$big"; n=$((n + 1)); done) &
		i=$((i + 1))
	done
	wait
SH
run --quiet --policy "$work/small.json" --workspace "$workspace" -- sh burst.sh 2>"$work/log"
ok $? '64 processes that outrun the recorder came to their end'
replay >"$work/record"
check 'nothing lost, counts add up' counts_add_up --lossless
grep -q '"kind":"session.pause"' "$work/record"
ok $? 'the session was frozen on the way'
is 'as often resumed as paused' "$(grep -c '"kind":"session.pause"' "$work/record")" "$(grep -c '"kind":"session.resume"' "$work/record")"
is 'every argument list is there, whole' 1600 "$(grep '"kind":"process.exec"' "$work/record" | grep -c '"argv_bytes":120011,')"
is 'and none is cut' 0 "$(grep -c argv_truncated "$work/record")"

# 64 processes in the midst of an exec at the same moment: 60 MB that nothing can hold back once they have begun. Beside them
# others want the processors, so that many are interrupted there.
for _ in 1 2 3; do
	(exec sh -c 'while :; do :; done') &
	loops="${loops:-} $!"
done
run --quiet --policy "$work/small.json" --workspace "$workspace" -- /workspace/acts burst=64 burst=64 >/dev/null 2>"$work/log"
ok $? '64 processes that exec at once came to their end'
# shellcheck disable=SC2086
kill $loops
replay >"$work/record"
check 'nothing lost, counts add up' counts_add_up --lossless
is 'every argument list is there, whole' 64 "$(grep '"kind":"process.exec"' "$work/record" | grep -c '"argv_bytes":960013,')"
is 'also of those that failed' 64 "$(grep '"kind":"process.exec_failed"' "$work/record" | grep -c '"argv_bytes":960013,')"

flood count
check 'what was lost is counted, and counts add up' counts_add_up
check 'gap records and losses agree' python3 - "$work/record" <<-'PYTHON'
	import json, sys
	gaps, counts = {}, {}
	for line in open(sys.argv[1]):
	    record = json.loads(line)
	    if record["kind"] == "gap":
	        gaps[record["class"]] = gaps.get(record["class"], 0) + record["count"]
	    if record["kind"] == "session.end":
	        counts = record["counts"]
	lost = {name: c["lost"] for name, c in counts.items() if c["lost"]}
	print("gaps", gaps, "lost", lost)
	sys.exit(0 if counts and gaps == lost else 1)
PYTHON
is 'exec and exit records always find room' 0 "$(python3 -c '
import json, sys
for line in open(sys.argv[1]):
    r = json.loads(line)
    if r["kind"] == "session.end":
        print(r["counts"]["process"]["lost"])' "$work/record")"

done_testing
