#!/bin/sh
# Standard streams pass byte-exact and are in the record; nothing of the end is cut; nobody waits for nothing.
. "$(dirname "$0")/lib.sh"
need_root

# recorded STREAM: the bytes of a stream as the record has them.
recorded() {
	"$bin/vitrine" replay --state "$state" --raw-output last 2>"$work/recorded.err"
}

head -c 3000000 /dev/urandom >"$work/random"
run --quiet -- cat <"$work/random" >"$work/out" 2>"$work/log"
check 'three megabytes pass through cat unharmed' cmp "$work/random" "$work/out"
recorded >"$work/again"
check 'and the record gives them back' cmp "$work/random" "$work/again"

bad=0
for _ in 1 2 3 4 5 6 7 8 9 10; do
	run --quiet -- sh -c 'head -c 1000000 /dev/zero | tr "\0" a; exit 3' >"$work/out" 2>>"$work/log"
	[ $? -eq 3 ] && [ "$(wc -c <"$work/out")" -eq 1000000 ] || bad=1
done
ok $bad 'the end of the output is never cut'

run --quiet -- sh -c 'head -c 10000000 /dev/zero >&2; head -c 10000000 /dev/zero' >"$work/out" 2>"$work/err"
is 'ten megabytes to each stream, one after the other: stdout' 10000000 "$(wc -c <"$work/out")"
is 'ten megabytes to each stream, one after the other: stderr' 10000000 "$(wc -c <"$work/err")"

is 'no standard input: end of file at once' 0 "$(run --quiet -- cat </dev/null | wc -c)"
is 'a slow reader gets it all' 5000000 "$(run --quiet -- head -c 5000000 /dev/zero | (sleep 1; cat) | wc -c)"
timeout 20 "$bin/vitrine" run --quiet --state "$state" -- yes 2>"$work/log" | head -n 5 >"$work/out"
is 'the end of a reader ends an endless writer' 5 "$(wc -l <"$work/out")"
replay --kind session.end | grep -q '"signal":13,'
ok $? 'by SIGPIPE, as without vitrine'

start=$(date +%s)
run --quiet -- sh -c 'sleep 60 & echo started' >"$work/out" 2>"$work/log"
status=$?
took=$(($(date +%s) - start))
is 'a background child that holds the pipe does not keep the command' 'started 0' "$(cat "$work/out") $status"
[ "$took" -lt 10 ]
ok $? "and it took ${took} s"

run --json -- sh -c 'echo out; exit 5' >"$work/out" 2>"$work/err"
tail -n 1 "$work/err" >"$work/log"
check 'the last line of --json is the verdict' python3 -c '
import json, sys
v = json.loads(open(sys.argv[1]).readlines()[-1])
assert v["reason"] == "exit" and v["exit_code"] == 5, v
assert v["stdout"]["total"] == 4 and v["counts"]["process"]["lost"] == 0, v
assert v["usage"]["wall_ns"] > 0 and v["usage"]["processes"] >= 1, v' "$work/err"

cat >"$work/policy.json" <<-'JSON'
	{"output": "full", "output_cap": 1000}
JSON
run --quiet --policy "$work/policy.json" -- head -c 5000 /dev/zero >"$work/out" 2>"$work/log"
is 'a cap cuts the record, never the stream' 5000 "$(wc -c <"$work/out")"
replay --kind session.end >"$work/end"
check 'and the record says so' python3 -c '
import json, sys
v = json.loads(open(sys.argv[1]).readline())
assert v["stdout"] == {"total": 5000, "kept": 1000} and v["output_truncated"] is True, v' "$work/end"

SECRET_TOKEN=correct-horse-battery
export SECRET_TOKEN
run --quiet --secret TOKEN=env:SECRET_TOKEN -- sh -c 'printf "token=%s\n" "$TOKEN"; printf %s "${TOKEN%horse-battery}"; sleep 0.2; printf %s "horse-battery"; echo; true "$TOKEN"' \
	>"$work/out" 2>"$work/log"
is 'a secret reaches the command and its output is not altered' 2 "$(grep -c correct-horse-battery "$work/out")"
! grep -rqa correct-horse-battery "$state"
ok $? 'and is nowhere in the state directory, split or whole'
replay | grep -q 'REDACTED:TOKEN:'
ok $? 'its places are marked'

done_testing
