#!/bin/sh
# Records go by rules, not without a trace: what was removed, held and read is written down and signed; what is gone otherwise was tampered with.
. "$(dirname "$0")/lib.sh"
need_root

v() { "$bin/vitrine" "$@" --state "$state"; }
id_of() { v ps --json 2>/dev/null | python3 -c 'import json, sys
print([s["id"] for s in json.load(sys.stdin) if s.get("name") == sys.argv[1]][-1])' "$1"; }

for name in a b c; do run --quiet --name $name -- true >"$work/out" 2>"$work/log"; done
a=$(id_of a) b=$(id_of b) c=$(id_of c)
v verify >"$work/out" 2>&1
is 'three records, all intact' 0 $?

# Holds.
v hold add "$a" >"$work/out" 2>&1
is 'a hold needs a reason' 2 $?
v hold add "$a" --why 'incident 4711' >"$work/out" 2>&1
is 'a record is held' 0 $?
v hold add "$a" --why again >"$work/out" 2>&1
[ $? -eq 1 ] && grep -q 'held already' "$work/out"
ok $? 'once'
v hold ls >"$work/out" 2>&1
grep -q "^held  *$a .*root.*incident 4711" "$work/out"
ok $? 'ls says which, since when, by whom and why'

# A dry run changes nothing and says why each stays or goes.
v retention --dry-run --max-size 1 >"$work/out" 2>&1
grep -q "^stays  *$a .*it is held" "$work/out" && grep -q "^goes  *$b .*size" "$work/out" && [ -d "$state/sessions/$b" ]
ok $? 'a dry run tells, and removes nothing'
v retention >"$work/out" 2>&1
[ $? -eq 1 ] && grep -q -e --max-age "$work/out"
ok $? 'without a limit nothing is removed'
v retention --max-age 10parsecs >"$work/out" 2>&1
[ $? -eq 2 ] && grep -q '10parsecs.*days' "$work/out"
ok $? 'a bad age is refused, with what is allowed'
v retention --max-age 1 >"$work/out" 2>&1
[ -d "$state/sessions/$b" ]
ok $? 'what is young stays'

cp -a "$state" "$work/before"
v retention --max-size 1 --why 'no room; token=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' >"$work/out" 2>&1
is 'all but the held one go' 0 $?
[ -d "$state/sessions/$a" ] && [ ! -e "$state/sessions/$b" ] && [ ! -e "$state/sessions/$c" ]
ok $? 'and are gone'
[ "$(ls "$state/removed/$b")" = checkpoints ]
ok $? 'their signed checkpoints stay'
! grep -q zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17 "$state/acts" && grep -q 'no room' "$state/acts"
ok $? 'a secret in a reason is not kept'
check 'the act is an event' python3 -c '
import json, sys
acts = [json.loads(l) for l in open(sys.argv[1])]
gone = [a for a in acts if a["kind"] == "record.retention" and a["session"] == sys.argv[2]]
assert len(gone) == 1 and gone[0]["count"] > 0 and len(gone[0]["hash"]) == 64 and gone[0]["reason"] == "size" and gone[0]["user"]["uid"] == 0
' "$state/acts" "$b"

v verify "$b" >"$work/out" 2>&1
[ $? -eq 2 ] && grep -q 'removed by retention, as recorded' "$work/out"
ok $? 'verify says that it was removed, as recorded'
v verify >"$work/out" 2>&1
is 'the whole is incomplete, as declared' 2 $?
v verify "$a" >"$work/out" 2>&1
is 'what stayed is intact' 0 $?

# What is gone without an act was tampered with.
cp -a "$state" "$work/after"
rm -r "${state:?}/sessions/$a"
v verify >"$work/out" 2>&1
[ $? -eq 1 ] && grep -q "$a: tampered" "$work/out"
ok $? 'a record that is gone otherwise was tampered with'
restore() { rm -rf "$state"; cp -a "$work/after" "$state"; }
restore
sed -i 's/incident 4711/incident 4712/' "$state/acts"
v verify >"$work/out" 2>&1
is 'an act that was changed is tampering' 1 $?
v retention --max-size 1 >"$work/out" 2>&1
[ $? -eq 1 ] && grep -q 'act that the ledger knows' "$work/out" && [ -d "$state/sessions/$a" ]
ok $? 'and nothing is removed under it'
restore
: >"$state/acts"
v verify "$b" >"$work/out" 2>&1
is 'a removal whose act is gone is tampering' 1 $?
restore
sed -i "/ remove /d" "$state/chain"
v verify >"$work/out" 2>&1
is 'a ledger without the removal is tampering' 1 $?
restore

# A crash between the act and the removal.
rm -r "${state:?}/removed/$b"
cp -a "$work/before/sessions/$b" "$state/sessions/"
v verify "$b" >"$work/out" 2>&1
is 'a record that was not taken away yet is intact' 0 $?
v retention --max-age 1 >"$work/out" 2>&1
[ ! -e "$state/sessions/$b" ] && [ "$(ls "$state/removed/$b")" = checkpoints ]
ok $? 'the next run takes it away'

# Standards.
v compliance --standard pci-dss >"$work/out" 2>&1
[ $? -eq 1 ] && grep -q '^contradicted  10.5.1' "$work/out" && grep -q '^demonstrated  10.3.4' "$work/out"
ok $? 'records that were removed too early contradict the clause that asks for a year'
for standard in nist-au eu-ai-act; do
	v compliance --standard $standard --json >"$work/out" 2>"$work/log"
	check "$standard: each clause has a finding, and facts or what it cannot show" python3 -c '
import json, sys
c = json.load(open(sys.argv[1]))["clauses"]
assert len(c) >= 9 and all(x["facts"] or x["cannot_show"] for x in c) and {"demonstrated", "outside"} <= {x["finding"] for x in c}' "$work/out"
done
v compliance --standard iso-9000 >"$work/out" 2>&1
[ $? -eq 2 ] && grep -q 'nist-au pci-dss eu-ai-act' "$work/out"
ok $? 'an unknown standard is refused with those that there are'
rm -r "${state:?}/sessions/$a"
v compliance --standard nist-au >"$work/out" 2>&1
[ $? -eq 1 ] && grep -q '^contradicted  AU-9 ' "$work/out"
ok $? 'a record that is gone contradicts'
restore

# While vitrined serves: reading is recorded, and retention goes by its configuration.
run --quiet --name d -- true >"$work/out" 2>"$work/log"
d=$(id_of d)
echo '{"retention_bytes": 1}' >"$work/config.json"
"$bin/vitrined" --state "$state" --socket "$work/socket" --config "$work/config.json" 2>"$work/daemon.log" &
daemon=$!
for _ in $(seq 200); do [ -e "$state/sessions/$d" ] || break; sleep 0.1; done
[ ! -e "$state/sessions/$d" ] && [ -d "$state/sessions/$a" ]
ok $? 'vitrined removes what its configuration asks for, and nothing that is held'
for _ in $(seq 200); do [ -L "$state/served" ] && break; sleep 0.1; done
v show a >"$work/out" 2>&1
is 'a record is read' 0 $?
check 'and that is recorded' python3 -c '
import json, sys
acts = [json.loads(l) for l in open(sys.argv[1])]
assert [a for a in acts if a["kind"] == "record.access" and a["session"] == sys.argv[2] and a["query"] == "show a" and a["user"]["uid"] == 0]' "$state/acts" "$a"
kill $daemon
wait $daemon
[ ! -e "$state/served" ]
ok $? 'vitrined says that it serves no more'
v verify >"$work/out" 2>&1
is 'the acts and the ledger agree' 2 $?

v hold rm "$a" --why 'closed' >"$work/out" 2>&1
is 'a hold is released' 0 $?
v retention --max-size 1 >"$work/out" 2>&1
[ ! -e "$state/sessions/$a" ]
ok $? 'and the record may go'

done_testing
