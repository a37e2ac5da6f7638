# For tests/e2e/8*-export*.t: journals without sessions, and an exporter at work on them.
# shellcheck shell=sh disable=SC2034,SC2154

config=$work/export.json
directory=$work/exporter
exporter=

# journal ID COUNT [...]: see write_journal.c. Prints the last number.
journal() {
	"$tests/write-journal" "$state" "$@"
}

# configure SINK...: the configuration with these sinks, each a JSON object.
configure() {
	sinks=$1
	shift
	for sink in "$@"; do sinks="$sinks, $sink"; done
	printf '{"state": "%s", "directory": "%s", "sinks": [%s]}\n' "$state" "$directory" "$sinks" >"$config"
}

start_exporter() {
	"$bin/vitrine-export" --config "$config" 2>>"$work/exporter.log" &
	exporter=$!
}

# shellcheck disable=SC2120
stop_exporter() {
	[ -n "$exporter" ] || return 0
	kill -"${1:-TERM}" "$exporter" 2>/dev/null
	wait "$exporter" 2>/dev/null
	stopped=$?
	exporter=
	return $stopped
}

# status_of SINK KEY
status_of() {
	"$bin/vitrine-export" --config "$config" status --json 2>/dev/null | python3 -c '
import json, sys
print(next(s for s in json.load(sys.stdin)["sinks"] if s["name"] == sys.argv[1]).get(sys.argv[2], ""))' "$1" "$2"
}

# wait_until SECONDS COMMAND...
wait_until() {
	tries=$(($1 * 10))
	shift
	while [ $tries -gt 0 ]; do
		"$@" >/dev/null 2>&1 && return 0
		tries=$((tries - 1))
		sleep 0.1
	done
	return 1
}

settled() {
	for sink in "$@"; do [ "$(status_of "$sink" pending)" = 0 ] || return 1; done
}

# whole FILE ID LAST...: FILE has, per session, all numbers from 1 to LAST, first seen in order; how often does not
# matter, but what comes twice has to be the same. The lines are canonical.
whole() {
	python3 - "$@" <<-'PYTHON'
		import gzip, json, sys
		path, want = sys.argv[1], dict(zip(sys.argv[2::2], map(int, sys.argv[3::2])))
		seen, order, again = {}, {}, 0
		for line in open(path, "rb"):
		    assert line.endswith(b"\n"), "a torn line"
		    r = json.loads(line)
		    key = (r["session"], r["seq"])
		    if key in seen:
		        again += 1
		        assert seen[key] == line, ("one id, two records", key)
		        continue
		    seen[key] = line
		    assert order.get(key[0], 0) + 1 == key[1], ("out of order", key, order.get(key[0]))
		    order[key[0]] = key[1]
		assert order == want, (order, want)
		print(len(seen), "records,", again, "of them again")
	PYTHON
}

got=$work/receiver

# start_receiver: see receiver.py; it is then at $url and keeps what it got in $got.
start_receiver() {
	mkdir -p "$got"
	python3 "$here/receiver.py" "$got" 2>>"$work/receiver.log" &
	receiver=$!
	wait_until 5 test -s "$got/port" || exit 1
	url=http://127.0.0.1:$(cat "$got/port")
}

fast='"backoff_ms": 20, "backoff_max_ms": 100, "batch_age_ms": 50'
size=50
# sink TYPE URL [MORE]: a sink of that type and name, in a hurry.
sink() {
	printf '{"name": "%s", "type": "%s", "url": "%s", "batch_count": %s, %s%s}' "$1" "$1" "$2" "$size" "$fast" "${3:+, $3}"
}

# arrived NAME LAST [LEFT_OUT...]: the receiver took 1 to LAST, first seen in order, without those left out.
arrived() {
	python3 - "$got/got.$1" "$2" "${3:-}" <<-'PYTHON'
		import sys
		left = set(map(int, sys.argv[3].split()))
		first = list(dict.fromkeys(int(line.split()[1]) for line in open(sys.argv[1])))
		want = [n for n in range(1, int(sys.argv[2]) + 1) if n not in left]
		assert first == want, (len(first), len(want), sorted(set(want) - set(first))[:10], first[:20])
	PYTHON
}

# again: everything anew, for one sink under one script of faults
again() {
	stop_exporter
	rm -rf "$directory"
	rm -f "$got"/got.* "$got/requests" "$got/asked" "$got/rules"
	printf '%s\n' "${1:-[]}" >"$got/faults"
	: >"$work/exporter.log"
}

# ---- real receivers, installed or as tests/receivers.sh unpacked them ----

receivers=${VITRINE_RECEIVERS:-$here/../../build/receivers}

# find_peer PACKAGE PROGRAM: the program is in $peer, where it was unpacked in $peer_root ("" where it is installed).
find_peer() {
	peer_root=
	if [ -x "$receivers/$1/usr/sbin/$2" ]; then
		peer_root=$receivers/$1
		peer=$peer_root/usr/sbin/$2
		peer_libraries=$(find "$peer_root/usr/lib" "$peer_root/lib" -name '*.so.*' -printf '%h\n' 2>/dev/null | sort -u | paste -sd:)
		return 0
	fi
	peer_libraries=
	peer=$(command -v "$2" || ls /usr/sbin/"$2" 2>/dev/null)
}

# start_peer ARGUMENT...: run it; it is then the receiver.
start_peer() {
	LD_LIBRARY_PATH=$peer_libraries "$peer" "$@" >>"$work/peer.log" 2>&1 &
	receiver=$!
}

stop_peer() {
	kill "$receiver" 2>/dev/null
	wait "$receiver" 2>/dev/null
	receiver=
}

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

listens() {
	python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1)' "$1"
}

cleanup_exporter() {
	[ -z "$exporter" ] || kill -KILL "$exporter" 2>/dev/null
	[ -z "${receiver:-}" ] || kill "$receiver" 2>/dev/null
}
trap 'cleanup_exporter; finish' EXIT
