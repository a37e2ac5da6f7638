#!/bin/sh
# HTTP sinks against a strict receiver with faults: all arrives, in order, and what is refused is kept aside, alone.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/export.sh"

one=0123456789ab
export TOKEN=tok
export HOOK_SECRET=whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=

start_receiver
last=$(journal $one 400)

# ---- all at once, with faults for everybody ----
again '[{"status": 503}, {"reset": true}, {"status": 429, "retry_after": "1"}, {"status": 500, "body": "oops"},
	{"status": 408}, {"reset": true}, {"status": 502}, {"status": 503}]'
configure "$(sink hec "$url" '"token": {"env": "TOKEN"}')" "$(sink elastic "$url")" "$(sink otlp "$url")" \
	"$(sink webhook "$url/hook" '"secret": {"env": "HOOK_SECRET"}')" "$(sink clickhouse "$url/ch")"
start_exporter
check 'five receivers with faults get it all' wait_until 8 settled hec elastic otlp webhook clickhouse
check 'hec: in order' arrived services_collector_event "$last"
check 'elastic: in order' arrived _bulk "$last"
check 'otlp: in order' arrived v1_logs "$last"
check 'webhook: in order' arrived hook "$last"
check 'clickhouse: in order, table and all' arrived ch "$last"
check 'no protocol was broken' test ! -e "$got/violations"
cat "$got/violations" 2>/dev/null | head -5 | sed 's/^/# /'

# ---- _bulk: items ----
again '[{"items": {"1": 429, "3": 429, "7": 409}}]'
configure "$(sink elastic "$url")"
start_exporter
wait_until 10 settled elastic
python3 - "$got/got._bulk" "$last" >"$work/log" 2>&1 <<'PYTHON'
import collections, sys
seen = collections.Counter(int(line.split()[1]) for line in open(sys.argv[1]))
assert set(seen) == set(range(1, int(sys.argv[2]) + 1)), "lost"
assert max(seen.values()) == 1, "what was taken came again"
PYTHON
ok $? 'bulk: just these, and what was there already is not sent again'
python3 - "$got/requests" >"$work/log" 2>&1 <<'PYTHON'
import json, sys
sizes = [json.loads(line)["bytes"] for line in open(sys.argv[1])]
assert sizes[1] < sizes[0] / 10, sizes
PYTHON
ok $? 'bulk: the second request holds only them'
again
printf '{"poison": 200}' >"$got/rules"
start_exporter
wait_until 10 settled elastic
check 'bulk: a poisoned record is left out, the others arrive' arrived _bulk "$last" 200
is 'bulk: and it is quarantined' 1 "$(status_of elastic quarantined)"
python3 -c '
import json, sys
letter, = map(json.loads, open(sys.argv[1]))
assert letter["seq"] == 200 and "status 400" in letter["reason"] and "200" in letter["sent"], letter' \
	"$directory/elastic.dead.jsonl" >"$work/log" 2>&1
ok $? 'bulk: with the reason and what was sent'

python3 -c '
import json, sys
letter, = map(json.loads, open(sys.argv[1]))
answer = json.loads(letter["answer"])["create"]
assert letter["status"] == 200 and answer["status"] == 400 and answer["_id"].endswith("-200"), letter' \
	"$directory/elastic.dead.jsonl" >"$work/log" 2>&1
ok $? 'bulk: and just what was answered to it'

# ---- OTLP: some of a batch rejected ----
again '[{"rejected": 3}]'
configure "$(sink otlp "$url")"
start_exporter
wait_until 10 settled otlp
check 'otlp: what was rejected in part is never sent again' arrived v1_logs "$last"
is 'otlp: none twice' "$last" "$(wc -l <"$got/got.v1_logs")"
is 'otlp: as many are quarantined as were rejected' 3 "$(status_of otlp quarantined)"
is 'otlp: and the others delivered' $((last - 3)) "$(status_of otlp delivered)"
python3 -c '
import json, sys
letters = list(map(json.loads, open(sys.argv[1])))
assert len(letters) == 50 and all(l["certain"] is False and "3 of 50 rejected" in l["reason"] for l in letters), letters[0]
assert all(json.loads(l["answer"])["partialSuccess"]["rejectedLogRecords"] == "3" for l in letters)' \
	"$directory/otlp.dead.jsonl" >"$work/log" 2>&1
ok $? 'otlp: the batch is kept, as one of which it is not known which'
again '[{"status": 400}]'
start_exporter
wait_until 10 settled otlp
check 'otlp: a 400 is halved and none is lost' arrived v1_logs "$last"

# ---- HEC: one bad event, acknowledgements ----
again
printf '{"poison": 77}' >"$got/rules"
configure "$(sink hec "$url" '"token": {"env": "TOKEN"}')"
start_exporter
wait_until 10 settled hec
check 'hec: the bad event is left out, the others arrive' arrived services_collector_event "$last" 77
is 'hec: and it is quarantined' 1 "$(status_of hec quarantined)"
again
printf '{"poison": 77, "silent": true}' >"$got/rules"
start_exporter
wait_until 10 settled hec
check 'hec: where it does not say which, it is found by halving' arrived services_collector_event "$last" 77
is 'hec: just that one' 1 "$(status_of hec quarantined)"
is 'hec: and none twice' $((last - 1)) "$(wc -l <"$got/got.services_collector_event")"
again '[{"status": 400, "body": {"text": "Incorrect index", "code": 7}}, {"status": 303}]'
start_exporter
wait_until 5 grep -q 'hec: paused: HTTP 400' "$work/exporter.log"
ok $? 'hec: an index that is not there pauses it'
wait_until 10 settled hec
check 'hec: a redirect too, and nothing is lost by either' arrived services_collector_event "$last"
is 'hec: or quarantined' 0 "$(status_of hec quarantined)"
again
printf '{"balanced": true}' >"$got/rules"
configure "$(sink hec "$url" '"token": {"env": "TOKEN"}, "ack": true, "ack_poll_ms": 20, "ack_wait_s": 5')"
start_exporter
wait_until 10 settled hec
check 'hec: behind a balancer it stays with one indexer' arrived services_collector_event "$last"
is 'hec: and sends nothing twice' "$last" "$(wc -l <"$got/got.services_collector_event")"
again
configure "$(sink hec "$url" '"token": {"env": "TOKEN"}, "ack": true, "ack_poll_ms": 20, "ack_wait_s": 1')"
start_exporter
wait_until 10 settled hec
check 'hec: with acknowledgement all arrive' arrived services_collector_event "$last"
grep -q false "$got/asked" && grep -q true "$got/asked"
ok $? 'hec: and count only when they are acknowledged'
again
printf '{"no_acks": true}' >"$got/rules"
start_exporter
wait_until 5 grep -q 'not acknowledged in time' "$work/exporter.log"
ok $? 'hec: what is never acknowledged is sent again'
is 'hec: and is not delivered' 0 "$(status_of hec delivered)"

done_testing
