#!/bin/sh
# export.sh BIN TESTS [RECORDS]: what sinks cost, against a receiver that looks at nothing: records and MiB a second of
# processor time, and the most memory. Beside them rsyslog, reading the same records as lines from a file. Run by
# `make bench-export`, from the top of the tree.
# shellcheck disable=SC2046
set -eu
bin=$1
tests=$2
records=${3:-400000}
receivers=${VITRINE_RECEIVERS:-build/receivers}
work=$(mktemp -d /tmp/vitrine-bench.XXXXXX)
receiver=
peer=
finish() {
	for pid in $receiver $peer; do kill "$pid" 2>/dev/null || :; done
	rm -rf "$work"
}
trap finish EXIT

"$tests/bench-export" "$records"
"$tests/bench-export" state "$work/state" "$records"
"$tests/bench-null_receiver" "$work/port" &
receiver=$!
while [ ! -s "$work/port" ]; do sleep 0.05; done
port=$(cat "$work/port")

# cost PID: processor seconds of it and of all its threads, and the most memory in kB
cost() {
	awk '{print ($14 + $15) / '"$(getconf CLK_TCK)"'}' "/proc/$1/stat"
	awk '/^VmHWM/ {print $2}' "/proc/$1/status"
}

# report NAME HOLD BYTES SECONDS KB
report() {
	echo "$1|$2|$3|$4|$5|$records" | awk -F'|' '{s = $4 > 0 ? $4 : 0.01
		printf "%-30s %9.0f records/s %8.1f MiB/s a core  %6.1f MiB of memory%s\n", $1, $6 / s, $3 / s / 1048576, $5 / 1024, $2 ? "  (hold: >= " $2 ")" : ""}'
}

# measure NAME HOLD SINK...: each a JSON object without its name
measure() {
	name=$1
	hold=$2
	printf '{"state": "%s", "directory": "%s", "sinks": [{"name": "sink", %s}]}\n' "$work/state" "$work/cursors" "$3" >"$work/export.json"
	rm -rf "$work/cursors" "$work/out" "$work"/out.*
	mkdir "$work/cursors"
	"$bin/vitrine-export" --config "$work/export.json" 2>"$work/log" &
	peer=$!
	while [ "$("$bin/vitrine-export" --config "$work/export.json" status --json | sed 's/.*"pending":\([0-9]*\).*/\1/')" != 0 ]; do sleep 0.3; done
	set -- $(cost $peer)
	kill $peer
	wait $peer || :
	peer=
	bytes=$("$bin/vitrine-export" --config "$work/export.json" status --json | sed 's/.*"bytes":\([0-9]*\).*/\1/')
	report "$name" "$hold" "$bytes" "$1" "$2"
}

file='"type": "file", "path": "'$work/out'", "rotate_bytes": 0, "include_output": true, "batch_count": 10000'
measure 'file sink, jsonl' 100 "$file"
measure 'file sink, jsonl, no sync' 100 "$file, \"sync\": \"never\""
measure 'file sink, ocsf' '' "$file, \"format\": \"ocsf\""
measure 'syslog sink, tcp' '' '"type": "syslog", "transport": "tcp", "address": "127.0.0.1:'"$port"'", "include_output": true, "batch_count": 10000'
http='"type": "webhook", "url": "http://127.0.0.1:'$port'/", "include_output": true, "batch_count": 10000'
measure 'http sink, gzip' 40 "$http"
measure 'http sink, plain' 40 "$http, \"gzip\": false"
measure 'otlp sink, gzip' 40 '"type": "otlp", "url": "http://127.0.0.1:'"$port"'/", "include_output": true, "batch_count": 10000'
measure 'hec sink, gzip' 40 '"type": "hec", "url": "http://127.0.0.1:'"$port"'/", "token": {"env": "PATH"}, "include_output": true, "batch_count": 10000'

# ---- rsyslog: the same records, as lines of a file ----
rsyslogd=$(command -v rsyslogd || ls /usr/sbin/rsyslogd "$receivers/rsyslog/usr/sbin/rsyslogd" 2>/dev/null | head -n 1 || :)
if [ -z "$rsyslogd" ]; then
	echo 'rsyslog is not to be had: nothing to compare with'
	exit 0
fi
modules=/usr/lib/x86_64-linux-gnu/rsyslog
for package in rsyslog rsyslog-elasticsearch; do
	[ ! -d "$receivers/$package$modules" ] || modules="$modules:$receivers/$package$modules"
done
measure 'file sink, as input for rsyslog' '' "$file"
mv "$work/out" "$work/lines"
bytes=$(wc -c <"$work/lines")

# compare NAME ACTION
compare() {
	mkdir -p "$work/rsyslog"
	rm -rf "$work/rsyslog"/* "$work/end"
	cat >"$work/rsyslog.conf" <<-CONF
		global(workDirectory="$work/rsyslog" maxMessageSize="64k")
		module(load="imfile")
		template(name="line" type="string" string="%msg%\n")
		ruleset(name="to") { $2
			if (\$msg contains "\"seq\":$records,") then { action(type="omfile" file="$work/end" template="line") } }
		input(type="imfile" file="$work/lines" tag="x" ruleset="to" reopenOnTruncate="on")
	CONF
	"$rsyslogd" -n -f "$work/rsyslog.conf" -i "$work/rsyslog.pid" -M "$modules" 2>"$work/log" &
	peer=$!
	tries=600
	while [ ! -s "$work/end" ] && [ $tries -gt 0 ] && kill -0 $peer 2>/dev/null; do
		tries=$((tries - 1))
		sleep 0.1
	done
	if [ ! -s "$work/end" ]; then
		echo "$1: it did not come to the end: $(head -n 1 "$work/log")"
		kill $peer 2>/dev/null || :
		wait $peer || :
		peer=
		return
	fi
	sleep 1
	set -- "$1" $(cost $peer)
	kill $peer
	wait $peer || :
	peer=
	report "$1" '' "$bytes" "$2" "$3"
}
compare 'rsyslog, imfile to omfile' "action(type=\"omfile\" file=\"$work/out\" template=\"line\")"
if find $(echo "$modules" | tr : ' ') -name omelasticsearch.so | grep -q .; then
	compare 'rsyslog, imfile to omelasticsearch' "action(type=\"omelasticsearch\" server=\"http://127.0.0.1:$port\" template=\"line\" bulkmode=\"on\" maxbytes=\"1m\" errorfile=\"$work/rsyslog/errors\" queue.type=\"linkedList\" queue.dequeuebatchsize=\"1000\")"
fi
