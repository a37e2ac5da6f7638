#!/bin/sh
# An outage costs no memory: while a receiver is away records pile up in the journals, and when it is back the first
# that comes is the first of the outage, in order, beside a sink that was never held up.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/export.sh"

one=0123456789ab
start_receiver
printf '{"down": true}' >"$got/rules"
size=1000
configure "$(sink elastic "$url")" \
	'{"name": "archive", "type": "file", "path": "'"$work/out"'", "sync": "never", "batch_age_ms": 50}'
journal $one 1000 open >/dev/null
# A sanitized exporter would keep what it freed, and memory is what is measured here.
ASAN_OPTIONS=quarantine_size_mb=1:thread_local_quarantine_size_kb=64
export ASAN_OPTIONS
start_exporter
wait_until 5 grep -q 'elastic: to be tried again' "$work/exporter.log"
is 'the receiver is away' 0 $?

memory() {
	awk '/^VmRSS/ {print $2}' "/proc/$exporter/status"
}
sleep 1
before=$(memory)
last=$(journal $one 20000 rate=5000)
after=$(memory)
echo "# ${before} kB, and after 20,000 records ${after} kB"
[ "$after" -lt $((before + 8192)) ]
ok $? '20,000 records of an outage: memory stays'
check 'a sink that is there gets them meanwhile' wait_until 3 settled archive
[ "$(status_of elastic pending)" -eq "$last" ]
ok $? 'what is pending is counted'
requests=$(wc -l <"$got/requests")
[ "$requests" -lt 200 ]
ok $? "the receiver is not hammered ($requests requests)"

rm "$got/rules"
wait_until 20 settled elastic
check 'it comes back: all of them, in order, from the first on' arrived _bulk "$last"
python3 - "$got/requests" >"$work/log" 2>&1 <<'PYTHON'
import json, sys
waits = sorted(json.loads(line)["time"] for line in open(sys.argv[1]))
gaps = [round(b - a, 4) for a, b in zip(waits, waits[1:])][3:30]
assert len(set(gaps)) > len(gaps) / 2, gaps
PYTHON
ok $? 'no two waits are the same'
stop_exporter
is 'and the end is clean' 0 $?
check 'archive: whole' whole "$work/out" $one "$last"

done_testing
