#!/bin/sh
# Real syslog servers: rsyslog and syslog-ng take each record as one message, 60,000 bytes or hostile, over TCP and TLS.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/export.sh"

one=0123456789ab
journal $one 700 >/dev/null
last=$(journal $one 7 big=60000)
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
	-keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null

# log_to TRANSPORT ADDRESS [MORE]: all of the record, to there.
log_to() {
	rm -rf "$directory"
	configure '{"name": "log", "type": "syslog", "transport": "'"$1"'", "address": "'"$2"'", "include_output": true,
		"backoff_ms": 20, "backoff_max_ms": 100, "batch_age_ms": 50, "batch_count": 100'"${3:+, $3}"'}'
	start_exporter
	wait_until 10 settled log
	wait_until 5 lines
	stop_exporter
}

lines() {
	[ "$(wc -l <"$work/out")" -ge "$last" ]
}

# took NAME: $work/out has "HOST PROGRAM MSGID SESSION SEQ MESSAGE" a line, once for each record, in order.
took() {
	is "$1: a line a record" "$last" "$(wc -l <"$work/out")"
	python3 - "$work/out" "$last" >"$work/log" 2>&1 <<-'PYTHON'
		import json, sys
		for number, line in enumerate(open(sys.argv[1], encoding="utf-8", errors="surrogateescape"), 1):
		    host, program, kind, session, seq, message = line.rstrip("\n").split(" ", 5)
		    record = json.loads(message)
		    assert (host, program, session, int(seq)) == ("host.example", "vitrine", record["session"], record["seq"]), line[:200]
		    assert record["seq"] == number and record["kind"] == kind, line[:200]
		    assert len(message) < 8200
		    if record.get("truncated"):
		        assert record["length"] > 8000 and record["head"].startswith('{"seq":%d,' % number), line[:200]
	PYTHON
	ok $? "$1: each is ours, under its own number, and says where it is cut"
	: >"$work/out"
}

if find_peer rsyslog rsyslogd; then
	port=$(free_port)
	cat >"$work/rsyslog.conf" <<-CONF
		module(load="imtcp")
		module(load="imudp")
		input(type="imtcp" port="$port" address="127.0.0.1")
		input(type="imudp" port="$port" address="127.0.0.1" ruleset="old")
		template(name="whole" type="list") {
			property(name="hostname") constant(value=" ") property(name="app-name") constant(value=" ")
			property(name="msgid") constant(value=" ")
			property(name="structured-data" regex.expression="session=.([0-9a-f]+)" regex.type="ERE" regex.submatch="1")
			constant(value=" ")
			property(name="structured-data" regex.expression="seq=.([0-9]+)" regex.type="ERE" regex.submatch="1")
			constant(value=" ") property(name="msg" droplastlf="on" position.from="1") constant(value="\n")
		}
		template(name="plain" type="string" string="%hostname% %programname%%msg%\n")
		ruleset(name="old") { action(type="omfile" file="$work/old" template="plain") }
		action(type="omfile" file="$work/out" template="whole")
	CONF
	start_peer -n -f "$work/rsyslog.conf" -i "$work/rsyslog.pid" ${peer_root:+-M "$peer_root/usr/lib/x86_64-linux-gnu/rsyslog"}
	wait_until 5 listens "$port"
	log_to tcp "127.0.0.1:$port"
	took 'rsyslog, tcp'
	rm -rf "$directory"
	configure '{"name": "log", "type": "syslog", "transport": "udp", "address": "127.0.0.1:'"$port"'", "protocol": "3164",
		"batch_age_ms": 50, "batch_count": 20}'
	start_exporter
	wait_until 10 settled log
	old_lines() {
		[ "$(grep -c '^host.example vitrine {' "$work/old")" -ge "$last" ]
	}
	wait_until 5 old_lines
	stop_exporter
	is 'rsyslog, RFC 3164: a line a record, under our name' "$last $last" "$(grep -c '^host.example vitrine {' "$work/old") $(wc -l <"$work/old")"
	stop_peer
else
	echo "# SKIP rsyslog: it is not installed, and make deps-receivers could not get it"
fi

if find_peer syslog-ng-core syslog-ng; then
	port=$(free_port)
	tls_port=$(free_port)
	cat >"$work/syslog-ng.conf" <<-CONF
		@version: 3.38
		options { keep-hostname(yes); use-dns(no); stats-freq(0); };
		source tcp { syslog(ip("127.0.0.1") port($port) transport("tcp")); };
		source tls { syslog(ip("127.0.0.1") port($tls_port) transport("tls")
			tls(key-file("$work/key.pem") cert-file("$work/cert.pem") peer-verify(optional-untrusted))); };
		destination out { file("$work/out" template("\$HOST \$PROGRAM \$MSGID \${.SDATA.vitrine@32473.session} \${.SDATA.vitrine@32473.seq} \$MSG\n")); };
		log { source(tcp); source(tls); destination(out); };
	CONF
	start_peer -F --no-caps -f "$work/syslog-ng.conf" -p "$work/sng.pid" -R "$work/sng.persist" -c "$work/sng.ctl" \
		${peer_root:+--module-path="$peer_root/usr/lib/syslog-ng/3.38"}
	wait_until 10 listens "$port"
	log_to tcp "127.0.0.1:$port"
	took 'syslog-ng, tcp'
	log_to tls "localhost:$tls_port" "\"ca_file\": \"$work/cert.pem\""
	took 'syslog-ng, tls'
	stop_peer
else
	echo "# SKIP syslog-ng: it is not installed, and make deps-receivers could not get it"
fi

[ "$count" -gt 0 ] || skip_all "neither rsyslog nor syslog-ng is to be had"
done_testing
