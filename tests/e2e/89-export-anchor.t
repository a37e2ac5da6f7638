#!/bin/sh
# What goes off the host carries the newest signed checkpoint, in every form, and `vitrine verify --anchor` takes it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/export.sh"
need_root

export TOKEN=tok
export HOOK_SECRET=whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=
start_receiver
: >"$got/keep"
files=
for format in jsonl ocsf ecs otlp cef; do
	files="$files{\"name\": \"$format\", \"type\": \"file\", \"path\": \"$work/out.$format\", \"format\": \"$format\", \"batch_age_ms\": 50}, "
done
mkdir -p "$state/sessions"
chmod 711 "$state" "$state/sessions"
size=1000
configure "$files$(sink hec "$url" '"token": {"env": "TOKEN"}')" "$(sink elastic "$url")" "$(sink otlp "$url" | sed 's/"name": "otlp"/"name": "collector"/')" \
	"$(sink webhook "$url/hook" '"secret": {"env": "HOOK_SECRET"}')" "$(sink clickhouse "$url/ch")"
start_exporter

run --quiet --name other -- true 2>"$work/log"
run --quiet --name shown -- sh -c 'i=0; while [ $i -lt 30 ]; do cat /etc/passwd >/tmp/$i; sleep 0.1; i=$((i + 1)); done' 2>"$work/log"
check 'all is delivered' wait_until 10 settled jsonl ocsf ecs otlp cef hec elastic collector webhook clickhouse
stop_exporter
check 'no protocol was broken' test ! -e "$got/violations"

verify() {
	"$bin/vitrine" verify shown --state "$state" --quiet "$@"
}
check 'the record is intact' verify
for kept in "$work"/out.* "$got"/body.*; do
	check "$(basename "$kept"): what was kept is an anchor" verify --anchor "$kept"
done
python3 - "$work/out.jsonl" >"$work/log" 2>&1 <<'PYTHON'
import json, sys
marks = [r for r in map(json.loads, open(sys.argv[1])) if r["kind"] == "checkpoint"]
last = [r for r in map(json.loads, open(sys.argv[1]))][-1]
sessions = {r["session"] for r in marks}
assert len(sessions) == 2 and all(r["seq"] == 0 for r in marks), marks
assert len([r for r in marks if r["session"] == last["session"]]) > 2, "only at the end"
assert last["kind"] == "checkpoint" and "\nend\n" in last["note"], last
PYTHON
ok $? 'they come while the session runs, and the last one with its end'

# ---- what an anchor is for ----
grep '"kind":"checkpoint"' "$work/out.jsonl" | grep -F "$(grep -l '"name": "shown"' "$state"/sessions/*/manifest.json | cut -d/ -f5)" >"$work/kept" ||
	grep '"kind":"checkpoint"' "$work/out.jsonl" >"$work/kept"
python3 - "$work/kept" "$work/bent" <<'PYTHON'
import json, sys
line = json.loads(open(sys.argv[1]).readlines()[-1])
note = line["note"].split("\n")
note[2] = ("B" if note[2][0] == "A" else "A") + note[2][1:]
line["note"] = "\n".join(note)
open(sys.argv[2], "w").write(json.dumps(line) + "\n")
PYTHON
verify --anchor "$work/bent" >"$work/log" 2>&1
is 'an anchor that is not what was signed here: tampered' 1 $?
grep '"kind":"checkpoint"' "$work/out.jsonl" | head -n 1 >"$work/foreign"
"$bin/vitrine" verify shown --state "$state" --anchor "$work/foreign" >"$work/out" 2>"$work/err"
is 'one of another session is none' 3 $?
grep -q 'holds no checkpoint of this session' "$work/err"
ok $? 'and the error says so'

done_testing
