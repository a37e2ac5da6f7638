#!/bin/sh
# What was done with records reaches the receivers, in every form, once and in order, and what is missing of it is told.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/export.sh"
need_root

v() { "$bin/vitrine" "$@" --state "$state" >"$work/said" 2>"$work/log"; }
for name in a b; do run --quiet --name $name -- true >"$work/out" 2>"$work/log"; done
id_of() { "$bin/vitrine" ps --state "$state" --json | python3 -c 'import json, sys
print([s["id"] for s in json.load(sys.stdin) if s["name"] == sys.argv[1]][0])' "$1"; }
a=$(id_of a) b=$(id_of b)
v hold add "$a" --why 'incident 4711'

file() { printf '{"name": "%s", "type": "file", "path": "%s", "format": "%s", "batch_age_ms": 20%s}' "$1" "$work/$1.out" "$2" "${3:-}"; }
configure "$(file lines jsonl)" "$(file ocsf ocsf)" "$(file ecs ecs)" "$(file otlp otlp)" "$(file cef cef)" \
	"$(file none jsonl ', "acts": false')" "$(file some jsonl ', "sessions": ["'"$b"'"], "kinds": ["record.retention"]')"
start_exporter
check 'all is sent' wait_until 60 grep -q record.hold "$work/lines.out"
v retention --max-size 1 --why 'no room'
check 'also what comes later' wait_until 60 grep -q record.retention "$work/lines.out"
acts() { grep -E '"kind":"record\.(hold|retention|access)"' "$1"; }
is 'as the ledger knows it: the lines are those of the acts' "$(sha256sum <"$state/acts")" "$(acts "$work/lines.out" | sha256sum)"
for form in ocsf ecs otlp cef; do
	wait_until 60 grep -q "no room" "$work/$form.out"
	check "in $form, each under an id of its own" python3 -c '
import json, re, sys
text, a, b = open(sys.argv[1]).read(), sys.argv[2], sys.argv[3]
ids = set(re.findall(r"([0-9a-f]{12}-0-[0-9]{15,}-[0-9]+)", text))
assert len(ids) == 2 and {i[:12] for i in ids} == {a, b}, ids
assert "incident 4711" in text and "no room" in text' "$work/$form.out" "$a" "$b"
done
wait_until 60 grep -q record.retention "$work/some.out"
[ "$(acts "$work/some.out" | grep -c .)" -eq 1 ] && acts "$work/some.out" | grep -q "\"session\":\"$b\".*record.retention"
ok $? 'filters hold for acts, too'
[ -z "$(acts "$work/none.out")" ]
ok $? 'who wants none gets none'
stop_exporter
before=$(wc -l <"$work/lines.out")
start_exporter
v hold rm "$a" --why closed
check 'a new process goes on behind what was sent' wait_until 60 grep -q '"released"' "$work/lines.out"
is 'with one line more' $((before + 1)) "$(wc -l <"$work/lines.out")"
stop_exporter

# A text that is gone.
v hold add "$a" --why 'to be lost'
sed -i '/to be lost/d' "$state/acts"
v hold add "$a" --why 'after it' || v hold rm "$a" --why 'after it'
start_exporter
check 'an act whose text is gone is told by a gap' wait_until 60 grep -q '"kind":"gap".*"class":"acts"' "$work/lines.out"
stop_exporter
done_testing
