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

cleanup_exporter() {
	[ -z "$exporter" ] || kill -KILL "$exporter" 2>/dev/null
	[ -z "${receiver:-}" ] || kill "$receiver" 2>/dev/null
}
trap 'cleanup_exporter; finish' EXIT
