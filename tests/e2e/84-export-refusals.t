#!/bin/sh
# What a receiver asks for: smaller requests, a later time, a person. And one bad receiver holds up none.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/export.sh"

one=0123456789ab
export HOOK_SECRET=whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=

start_receiver
journal $one 300 >/dev/null

# ---- sizes ----
again
printf '{"limit": 1000000}' >"$got/rules"
journal $one 7 big=5000000 >/dev/null 2>&1
last=$("$bin/vitrine" replay --state "$state" --json $one 2>/dev/null | wc -l)
big=$("$bin/vitrine" replay --state "$state" --json $one 2>/dev/null | python3 -c '
import json, sys
print(*[r["seq"] for r in map(json.loads, sys.stdin) if len(r.get("data", "")) >= 5000000])')
configure "$(sink elastic "$url" '"include_output": true')" \
	'{"name": "whole", "type": "file", "path": "'"$work/whole"'", "include_output": true, "batch_age_ms": 50}'
start_exporter
wait_until 10 settled elastic whole
check '413: halved until it fits; what alone is too large is kept aside' arrived _bulk "$last" "$big"
is '413: just that one' 1 "$(status_of elastic quarantined)"
check 'a record of 5,000,000 bytes is one line of a file, and so is every other' whole "$work/whole" $one "$last"

# ---- what only a person can set right ----
for fault in 401 404 303; do
	again '[{"status": '$fault'}]'
	configure "$(sink elastic "$url")"
	start_exporter
	wait_until 5 grep -q "paused: HTTP $fault" "$work/exporter.log"
	is "$fault: paused" 0 $?
	kill -HUP "$exporter"
	wait_until 5 settled elastic
	check "$fault: nothing is dropped, and SIGHUP goes on" arrived _bulk "$last"
done

# ---- Retry-After ----
again '[{"status": 429, "retry_after": "2"}, {"status": 503, "retry_after": "soon"}, {"status": 503, "retry_after": "-5"}]'
start_exporter
wait_until 10 settled elastic
python3 - "$got/requests" >"$work/log" 2>&1 <<'PYTHON'
import json, sys
times = [json.loads(line)["time"] for line in open(sys.argv[1])][:4]
waits = [b - a for a, b in zip(times, times[1:])]
assert 1.9 < waits[0] < 3 and waits[1] < 1 and waits[2] < 1, waits
PYTHON
ok $? 'Retry-After is kept to, and what makes no sense is not'
again '[{"status": 429, "retry_after": "'"$(LC_ALL=C date -u -d '+3 seconds' '+%a, %d %b %Y %T GMT')"'"}]'
start_exporter
wait_until 10 settled elastic
python3 - "$got/requests" >"$work/log" 2>&1 <<'PYTHON'
import json, sys
times = [json.loads(line)["time"] for line in open(sys.argv[1])]
assert 0.9 < times[1] - times[0] < 4, times[:2]
PYTHON
ok $? 'also as a date'

# ---- webhook: the id of a batch stays ----
again '[{"status": 503}, {"reset": true}]'
configure "$(sink webhook "$url/hook" '"secret": {"env": "HOOK_SECRET"}')"
start_exporter
wait_until 10 settled webhook
is 'webhook: the same id at each attempt' 1 "$(head -n 3 "$got/requests" | grep -o '"id": "[^"]*"' | sort -u | wc -l)"

# ---- one bad sink ----
again '[{"hang": 5}]'
configure "$(sink elastic "$url")" '{"name": "dead", "type": "otlp", "url": "http://127.0.0.1:9"}' \
	'{"name": "archive", "type": "file", "path": "'"$work/out"'"}'
begun=$(date +%s)
start_exporter
wait_until 5 settled archive
is 'a receiver that hangs and one that is not there hold up nobody' 0 $?
[ $(($(date +%s) - begun)) -lt 4 ]
ok $? 'not even for long'
stop_exporter KILL

done_testing
