#!/bin/sh
# SIGHUP: a new configuration, without loss, and without a touch to what it does not change; a bad one changes nothing.
# And several requests at once: each session in its order.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/export.sh"

one=0123456789ab
two=fedcba987654
export TOKEN=tok
start_receiver

archive='{"name": "archive", "type": "file", "path": "'$work/out'", "batch_age_ms": 50}'
reload() {
	before=$(grep -c 'configuration' "$work/exporter.log")
	kill -HUP "$exporter"
	told() {
		[ "$(grep -c 'configuration' "$work/exporter.log")" -gt "$before" ]
	}
	wait_until 5 told
}

# ---- while records come: again and again, one sink changed each time, one not ----
printf '{"slow": 0.02}' >"$got/rules"
configure "$archive" "$(sink elastic "$url")"
start_exporter
journal $one 3000 rate=1500 open >"$work/last" &
writer=$!
for size in 60 70 80 90; do
	sleep 0.4
	configure "$archive" "$(sink elastic "$url")"
	reload
done
wait $writer
last=$(cat "$work/last")
check 'a sink that changes four times gets it all' wait_until 15 settled elastic archive
check 'in order' arrived _bulk "$last"
is 'and nothing twice: what was on its way was waited for' "$last" "$(sort -u "$got/got._bulk" | wc -l)"
is 'nothing twice, counted' "$last" "$(wc -l <"$got/got._bulk")"
check 'the other one has it all too' whole "$work/out" $one "$last"
is 'and was left alone' 4 "$(grep -c 'elastic: changed' "$work/exporter.log")"
! grep -q 'archive: changed' "$work/exporter.log"
ok $? 'nobody else was changed'

# ---- a bad one ----
good=$(cat "$config")
printf '{"sinks": [\n{"name": "archive", "type": "file", "path": "here"}]}\n' >"$config"
reload
wait_until 5 grep -q 'export.json:2: path: "here": bad value; allowed: an absolute path' "$work/exporter.log"
ok $? 'a bad one is refused, with its line and what is allowed'
wait_until 5 grep -q 'the configuration of before stays in force' "$work/exporter.log"
ok $? 'and the one before stays'
printf '%s\n' "$good" | sed 's|"directory": "[^"]*"|"directory": "/elsewhere"|' >"$config"
reload
wait_until 5 grep -q 'restart it' "$work/exporter.log"
ok $? 'what needs a restart says so'
printf '%s\n' "$good" >"$config"
last=$(journal $one 100)
check 'both go on' wait_until 10 settled archive elastic
check 'to the last record' arrived _bulk "$last"

# ---- one that comes, one that goes ----
rm "$got/rules"
configure "$archive" "$(sink hec "$url" '"token": {"file": "'"$work/token"'"}')"
printf 'wrong\n' >"$work/token"
reload
wait_until 5 grep -q 'elastic: removed' "$work/exporter.log"
ok $? 'a sink that is not there any more leaves'
check 'a new one is opened, here with a token that is wrong' wait_until 10 grep -q 'hec: paused: HTTP 403' "$work/exporter.log"
printf 'tok\n' >"$work/token"
reload
wait_until 5 grep -q 'hec: changed' "$work/exporter.log"
ok $? 'a secret that changed in its file is a change'
check 'and then it gets everything, from the beginning' wait_until 10 settled hec
check 'in order' arrived services_collector_event "$last"
stop_exporter
is 'the end is clean' 0 $?

# ---- several requests at once ----
again
rm -rf "$state" "$work/out"
: >"$work/want"
for session in $one $two aaaaaaaaaaaa bbbbbbbbbbbb cccccccccccc; do
	echo "$session $(journal $session 150)" >>"$work/want"
done
printf '{"slow": 0.1}' >"$got/rules"
printf '[{"status": 503}, {"reset": true}, {"items": {"2": 429}}, {"status": 429}]' >"$got/faults"
size=50
configure "$(sink elastic "$url" '"concurrency": 8')"
start_exporter
check 'eight at once' wait_until 20 settled elastic
stop_exporter
python3 - "$got" "$work/want" >"$work/log" 2>&1 <<'PYTHON'
import json, sys
first, want = {}, dict(line.split() for line in open(sys.argv[2]))
for line in dict.fromkeys(open(sys.argv[1] + "/got._bulk")):
    session, seq = line.split()
    first.setdefault(session, []).append(int(seq))
for session, last in want.items():
    have, all = first[session], list(range(1, int(last) + 1))
    assert sorted(have) == all, (session, len(have), last)
    # An item that was put off comes behind its batch, and before the next one.
    assert max(abs(a - b) for a, b in zip(have, all)) < 50, session
running = [json.loads(line)["running"] for line in open(sys.argv[1] + "/requests")]
assert max(running) > 2, running
PYTHON
ok $? 'all of them, each session in its order, more than two requests at a time'
python3 - "$got/requests" >"$work/log" 2>&1 <<'PYTHON'
import json, sys
requests = [json.loads(line) for line in open(sys.argv[1])]
bad = next(i for i, r in enumerate(requests) if r["fault"].get("status") == 503)
after = [r for r in requests if r["time"] > requests[bad]["time"] + 0.15]
assert after[0]["running"] == 1, after[:5]
PYTHON
ok $? 'after a failure one asks, and the others wait for its answer'

done_testing
