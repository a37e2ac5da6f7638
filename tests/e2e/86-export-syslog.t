#!/bin/sh
# Syslog over each transport, to a strict receiver and to rsyslog: each message is one, whole or honestly cut.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/export.sh"

one=0123456789ab
last=$(journal $one 700)

start_syslog() {
	got=$work/$1
	rm -rf "$got"
	mkdir "$got"
	[ -z "${2:-}" ] || touch "$got/$2"
	if [ "$1" = tls ]; then
		openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
			-keyout "$got/key.pem" -out "$got/cert.pem" 2>/dev/null
	fi
	python3 "$here/syslog_receiver.py" "$got" "$1" 2>>"$work/receiver.log" &
	receiver=$!
	wait_until 5 test -s "$got/address" || exit 1
	address=$(cat "$got/address")
}

stop_syslog() {
	stop_exporter
	kill "$receiver" 2>/dev/null
	wait "$receiver" 2>/dev/null
	receiver=
	rm -rf "$directory"
}

# log_to TRANSPORT [MORE]
log_to() {
	configure '{"name": "log", "type": "syslog", "transport": "'"$1"'", "address": "'"$address"'", "include_output": true,
		"backoff_ms": 20, "backoff_max_ms": 100, "batch_age_ms": 50, "batch_count": 100'"${2:+, $2}"'}'
	start_exporter
}

got_all() {
	[ "$(wc -l <"$got/messages")" -ge "$last" ]
}

for transport in unix udp tcp tls; do
	start_syslog $transport
	if [ $transport = tls ]; then log_to tls "\"ca_file\": \"$got/cert.pem\""; else log_to $transport; fi
	wait_until 5 settled log && wait_until 3 got_all
	check "$transport: each record is a message, in order" whole "$got/messages" $one "$last"
	is "$transport: none twice" "$last" "$(wc -l <"$got/messages")"
	! [ -s "$got/violations" ]
	ok $? "$transport: and nothing else"
	stop_syslog
done

start_syslog tcp drop
log_to tcp
wait_until 5 settled log && wait_until 3 got_all
sleep 0.3
python3 - "$got/messages" "$last" >"$work/log" 2>&1 <<'PYTHON'
import json, sys
have = {json.loads(line)["seq"] for line in open(sys.argv[1])}
assert have == set(range(1, int(sys.argv[2]) + 1)), sorted(set(range(1, int(sys.argv[2]) + 1)) - have)[:5]
PYTHON
ok $? 'a connection that ends in the middle: its batch comes again'
stop_syslog

start_syslog tls
log_to tls
wait_until 10 grep -qi 'log: to be tried again: .*certificate' "$work/exporter.log"
ok $? 'a certificate that nobody vouches for is refused'
check 'and nothing was sent' test ! -e "$got/messages"
stop_syslog

python3 -c '
import socket, sys, time
server = socket.create_server(("127.0.0.1", 0))
open(sys.argv[1], "w").write("localhost:%d" % server.getsockname()[1])
time.sleep(60)' "$work/silent" &
receiver=$!
wait_until 5 test -s "$work/silent"
configure '{"name": "log", "type": "syslog", "transport": "tls", "address": "'"$(cat "$work/silent")"'"}' \
	'{"name": "archive", "type": "file", "path": "'"$work/out"'"}'
start_exporter
wait_until 5 settled archive
is 'a peer that never says hello holds up nobody' 0 $?
stop_exporter KILL
stop_syslog

# ---- long records ----
journal $one 7 big=60000 >/dev/null
last=$("$bin/vitrine" replay --state "$state" --json $one 2>/dev/null | wc -l)
start_syslog tcp
log_to tcp '"max_bytes": 2048'
wait_until 5 settled log && wait_until 3 got_all
is 'a record of 60,000 bytes: as many messages as records' "$last" "$(wc -l <"$got/messages")"
python3 - "$got/messages" >"$work/log" 2>&1 <<'PYTHON'
import json, sys
cut = [r for r in map(json.loads, open(sys.argv[1])) if r.get("truncated")]
assert any(r["length"] > 60000 for r in cut) and all(r["head"].startswith('{"seq":%d,' % r["seq"]) for r in cut), cut
assert all(len(line) <= 2048 for line in open(sys.argv[1], "rb"))
PYTHON
ok $? 'the long one says that it is cut, and how long it was'
stop_syslog

done_testing
