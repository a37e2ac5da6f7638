#!/bin/sh
# The first segments of a long record go alone, also while the session runs; what is left verifies, and says what went.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/export.sh"
need_root

v() { "$bin/vitrine" "$@" --state "$state"; }
mkfifo "$work/go"
# begin NAME COUNT: a session whose record has more than one segment, and that goes on until it is told.
begin() {
	run --quiet --name "$1" -- sh -c 'yes "a line of output that is long enough to fill it" | head -c '"$2"'; echo filled >&2; read -r _; touch /tmp/over' \
		<"$work/go" >/dev/null 2>"$work/err" &
	runs=$!
	exec 9>"$work/go"
	for _ in $(seq 600); do grep -q filled "$work/err" && [ -n "$(find "$state/sessions" -name turns)" ] && break; sleep 0.1; done
	for _ in $(seq 600); do [ -z "$(find "$state/sessions" -name '*.vtj.tmp')" ] && break; sleep 0.1; done
}
end() {
	echo >&9
	exec 9>&-
	wait $runs
}
verdict() {
	v verify "$@" >"$work/out" 2>&1
	echo $?
}

begin long 68000000
id=$(find "$state/sessions" -mindepth 1 -maxdepth 1 -printf %f)
dir=$state/sessions/$id
[ -s "$dir/000000.vtj" ] && [ -s "$dir/000001.vtj" ]
ok $? 'a session with two segments runs'
v prove long 500 >"$work/early" 2>"$work/log"
v replay long --follow --json >"$work/followed" 2>"$work/log" &
follows=$!
v retention --dry-run --max-size 1 >"$work/out" 2>&1
grep -q "^goes  *$id .*size: its segments before 000001.vtj alone" "$work/out" && [ -e "$dir/000000.vtj" ]
ok $? 'a dry run shows which segments would go'
v hold add "$id" --why incident
v retention --max-size 1 >"$work/out" 2>&1
grep -q "are to go, 0 of" "$work/out" && [ -e "$dir/000000.vtj" ]
ok $? 'a hold keeps segments, too'
v hold rm "$id" --why over
cp -a "$state" "$work/before"
v retention --max-size 1 --why 'no room' >"$work/out" 2>&1
[ ! -e "$dir/000000.vtj" ] && [ -e "$dir/000001.vtj" ] && kill -0 $runs
ok $? 'the sealed one goes while the session runs'
is 'verify: incomplete, as declared' 2 "$(verdict "$id")"
grep -q 'removed by retention, as recorded' "$work/out"
ok $? 'and says so'
end
is 'the same when it has ended' 2 "$(verdict "$id")"
is 'and of the whole' 2 "$(verdict)"
wait $follows
check 'who followed it saw all of it' python3 -c '
import json, sys
seqs = [json.loads(l)["seq"] for l in open(sys.argv[1])]
assert seqs == list(range(1, len(seqs) + 1)), seqs[:9]' "$work/followed"
v replay long --json >"$work/out" 2>"$work/log"
is 'a replay of the rest is no failure' 0 $?
check 'it begins with what the session was, and tells the gap' python3 -c '
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
first, gap, rest = lines[0], lines[1], lines[2:]
assert first["kind"] == "session.start" and first["seq"] == 1 and first["policy_sha256"]
assert gap["kind"] == "gap" and gap["reason"] == "removed by retention" and gap["first"] == 2 and gap["count"] == gap["last"] - 1
assert [r["seq"] for r in rest] == list(range(gap["last"] + 1, gap["last"] + 1 + len(rest))) and rest[-1]["kind"] == "session.end"' "$work/out"
v show long >"$work/out" 2>"$work/log" && grep -q 'removed by retention' "$work/out"
ok $? 'show, too'
last=$(tail -1 "$work/followed" | sed 's/{"seq":\([0-9]*\).*/\1/')
for n in 1 "$last"; do
	v prove long "$n" >"$work/proof" 2>"$work/log" && v verify --proof "$work/proof" >>"$work/log" 2>&1
	is "record $n can still be proved" 0 $?
done
v verify --proof "$work/early" >"$work/log" 2>&1
is 'a proof of what went holds as it did' 0 $?
v prove long 500 >"$work/out" 2>"$work/log"
[ $? -eq 1 ] && grep -q 'retention removed it' "$work/log"
ok $? 'a new one cannot be made'
v bundle long -o "$work/long.tar" >"$work/out" 2>&1
v keys export >"$work/keys" 2>"$work/log"
"$bin/vitrine" verify --key "$work/keys" "$work/long.tar" >"$work/out" 2>&1
is 'a bundle says the same' 2 $?
check 'the act is in the ledger' python3 -c '
import base64, hashlib, json, sys
line = open(sys.argv[1] + "/sessions/" + sys.argv[2] + "/front").read()
detail = base64.b64encode(hashlib.sha256(line.rstrip("\n").encode()).digest()).decode()
assert line in open(sys.argv[1] + "/acts").readlines() and " trim " in [l for l in open(sys.argv[1] + "/chain") if detail in l][0]
act = json.loads(line)
assert act["why"] == "no room" and act["segments"] == 1 and act["user"]["uid"] == 0' "$state" "$id"
configure "$(printf '{"name": "lines", "type": "file", "path": "%s", "batch_age_ms": 20}' "$work/lines")"
start_exporter
check 'a sink that comes later is told' wait_until 60 grep -q '"kind":"gap".*"reason":"removed by retention"' "$work/lines"
stop_exporter

# What is gone or bent otherwise was tampered with.
cp -a "$state" "$work/after"
restore() { rm -rf "$state"; cp -a "$work/after" "$state"; }
rm "$dir/front"
is 'a segment that is gone without the act is tampering' 1 "$(verdict "$id")"
restore
sed -i 's/"segments":1/"segments":2/' "$dir/front"
is 'so is an act that was changed' 1 "$(verdict "$id")"
restore
sed -i '/ trim /d' "$state/chain"
is 'one that the ledger does not know' 1 "$(verdict "$id")"
restore
sed -i 's/^turn \([0-9]* \)./turn \1_/' "$dir/turns"
is 'hashes of what went that are bent' 1 "$(verdict "$id")"
restore
cp "$work/before/sessions/$id/000000.vtj" "$dir/"
is 'what went and is there again changes nothing' 2 "$(verdict "$id")"
v retention --max-age 9999 >"$work/out" 2>&1
[ ! -e "$dir/000000.vtj" ]
ok $? 'it goes again'
rm "$dir/front"
cp "$work/before/sessions/$id/000000.vtj" "$dir/"
is 'a crash behind the act: all is there' 0 "$(verdict "$id")"
v retention --max-age 9999 >"$work/out" 2>&1
[ ! -e "$dir/000000.vtj" ] && [ "$(verdict "$id")" = 2 ]
ok $? 'the next run takes it away'

# Without its supervisor, behind a front: the next one ends the record.
rm -rf "$state" "$state".*
begin lost 68000000
id=$(find "$state/sessions" -mindepth 1 -maxdepth 1 -printf %f)
v retention --max-size 1 >"$work/out" 2>&1
kill -9 "$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' "$state/sessions/$id/manifest.json")"
exec 9>&-
wait $runs 2>/dev/null
run --quiet --name next -- true >"$work/out" 2>"$work/log"
for _ in $(seq 300); do grep -q '"ended"' "$state/sessions/$id/manifest.json" && break; sleep 0.1; done
is 'a record whose supervisor died is signed on behind what went' 2 "$(verdict "$id")"
grep -q 'removed by retention, as recorded' "$work/out"
ok $? 'and complete but for that'
done_testing
