#!/bin/sh
# Killed 50 times (KILLS) at random, while three sessions write and receivers fail: nothing is lost, and what comes twice
# has the same id and is the same.
. "$(dirname "$0")/../e2e/lib.sh"
here=$(cd "$(dirname "$0")/../e2e" && pwd)
. "$(dirname "$0")/../e2e/export.sh"

kills=${KILLS:-50}
seed=${SEED:-$(date +%s)}
echo "# SEED=$seed"
one=0123456789ab
two=fedcba987654
three=aaaaaaaaaaaa
export TOKEN=tok
start_receiver
printf '{"down": false}' >"$got/rules"
size=200
configure "$(sink hec "$url" '"token": {"env": "TOKEN"}, "concurrency": 3')" "$(sink elastic "$url" '"concurrency": 2')" \
	"$(sink clickhouse "$url/ch")" \
	'{"name": "archive", "type": "file", "path": "'"$work/out"'", "rotate_bytes": 0, "include_output": true, "batch_age_ms": 50}'
python3 -c '
import json, random, sys
random.seed(int(sys.argv[1]))
kinds = [{"status": 503}, {"reset": True}, {"items": {"1": 429}}, {"status": 429, "retry_after": "1"}, {}, {}, {}]
print(json.dumps([random.choice(kinds) for _ in range(300)]))
open(sys.argv[2], "w").writelines("%.2f\n" % random.uniform(0.02, 1.2) for _ in range(int(sys.argv[3])))' \
	"$seed" "$work/delays" "$kills" >"$got/faults"

for session in $one $two $three; do
	journal $session $((kills * 600)) rate=1000 >"$work/last.$session" &
	writers="${writers:-} $!"
done
while read -r delay; do
	start_exporter
	sleep "$delay"
	stop_exporter KILL
done <"$work/delays"
for writer in $writers; do wait "$writer"; done
start_exporter
check "killed $kills times: it comes to the end" wait_until 300 settled archive hec elastic clickhouse
stop_exporter
is 'which is clean' 0 $?
check 'archive: nothing is lost, all in order, and what came twice is the same' whole "$work/out" \
	$one "$(cat "$work/last.$one")" $two "$(cat "$work/last.$two")" $three "$(cat "$work/last.$three")"
for place in services_collector_event _bulk ch; do
	python3 - "$got/got.$place" $one "$(cat "$work/last.$one")" $two "$(cat "$work/last.$two")" $three "$(cat "$work/last.$three")" \
		>"$work/log" 2>&1 <<-'PYTHON'
		import collections, sys
		want = {(s, n) for s, last in zip(sys.argv[2::2], sys.argv[3::2]) for n in range(1, int(last) + 1)}
		seen = collections.Counter(tuple([line.split()[0], int(line.split()[1])]) for line in open(sys.argv[1]))
		assert set(seen) == want, (len(seen), len(want), sorted(want - set(seen))[:5])
		print(sum(seen.values()) - len(seen), "came again")
	PYTHON
	r=$?
	echo "# $place: $(cat "$work/log")"
	ok $r "$place: nothing is lost"
done
check 'no protocol was broken' test ! -e "$got/violations"

done_testing
