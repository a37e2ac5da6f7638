#!/bin/sh
# One session's record in every form: a line a record, whole, and no output in it unless asked for.
. "$(dirname "$0")/lib.sh"
need_root

run --quiet --name shown -- sh -c 'echo visible-$((6 * 7)); cat /etc/passwd >/tmp/copy; exit 4' >"$work/out" 2>"$work/log"
records=$(replay 2>/dev/null | wc -l)

export_as() {
	"$bin/vitrine" export shown --state "$state" "$@"
}

for format in jsonl ocsf ecs otlp cef; do
	export_as --format $format >"$work/$format" 2>"$work/log"
	is "$format: a line a record" "$records" "$(wc -l <"$work/$format")"
	! grep -q visible-42 "$work/$format"
	ok $? "$format: no data of the output"
	export_as --format $format --include-output -o "$work/$format.data" 2>"$work/log"
	grep -q visible-42 "$work/$format.data"
	ok $? "$format: and with it where it is asked for"
done

check 'ids are the same and unique in every form' python3 -c '
import json, sys
d = sys.argv[1]
lines = {f: open(f"{d}/{f}").read().splitlines() for f in ("jsonl", "ocsf", "ecs", "otlp", "cef")}
want = ["%s-%d" % (r["session"], r["seq"]) for r in map(json.loads, lines["jsonl"])]
assert len(set(want)) == len(want)
assert [r["metadata"]["uid"] for r in map(json.loads, lines["ocsf"])] == want
assert [r["event"]["id"] for r in map(json.loads, lines["ecs"])] == want
assert all("\"" + w + "\"" in line for w, line in zip(want, lines["otlp"]))
assert all("externalId=" + w + " " in line for w, line in zip(want, lines["cef"]))' "$work"

check 'output goes out as length and digest' python3 -c '
import json, sys
out = [r for r in map(json.loads, open(sys.argv[1])) if r["kind"] == "output"]
assert out and all(r["data"] == "" and r["data_truncated"] and len(r["data_digest"]) == 64 for r in out), out
assert sum(r["data_length"] for r in out) == len("visible-42\n")' "$work/jsonl"

replay --kind file,process >"$work/replayed" 2>/dev/null
export_as | grep -E '"kind":"(file|process)\.' >"$work/exported"
check 'jsonl is what replay --json prints' cmp "$work/replayed" "$work/exported"

! export_as --format nonsense >"$work/out" 2>"$work/err"
ok $? 'an unknown format is refused'
grep -q 'jsonl, ocsf, ecs, otlp, cef' "$work/err"
ok $? 'and the error says which there are'
! "$bin/vitrine" export no-such --state "$state" >"$work/out" 2>"$work/log"
ok $? 'a session that is not there is an error'
! export_as -o "$work/no/such/place" 2>"$work/log"
ok $? 'so is a file that cannot be written'

done_testing
