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
grep -q '"kind":"session.pause"' "$work/record"
ok $? 'the session was frozen on the way'
is 'as often resumed as paused' "$(grep -c '"kind":"session.pause"' "$work/record")" "$(grep -c '"kind":"session.resume"' "$work/record")"

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
