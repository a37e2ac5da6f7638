#!/bin/sh
# A real Prometheus scrapes a real daemon and a real exporter; what it gets is strict, true, and all that dashboards and
# alerts ask for. No client holds up a session.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/export.sh"
need_root
PATH=$PATH:$receivers/prometheus/usr/bin
for tool in prometheus promtool; do
	command -v $tool >/dev/null || skip_all "no $tool is installed, and make deps-receivers could not get it"
done
top=$(cd "$here/../.." && pwd)
daemon='' prometheus='' crowd=''

end() {
	for pid in $crowd $prometheus $exporter $daemon; do
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	finish
}
trap end EXIT

# shellcheck disable=SC2046
set -- $(python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
print(*(s.getsockname()[1] for s in sockets))')
daemon_port=$1 export_port=$2 prometheus_port=$3

cat >"$work/daemon.json" <<END
{"state": "$state", "socket": "$work/control", "ring_bytes": 4194304, "rings": 1, "metrics": "127.0.0.1:$daemon_port"}
END
"$bin/vitrined" --config "$work/daemon.json" 2>"$work/daemon.log" &
daemon=$!
wait_until 20 test -S "$work/control"

# It takes seconds to begin, and looks for the exporter too before that is there.
cat >"$work/prometheus.yml" <<END
global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 1s}
rule_files: [$top/dashboards/prometheus/alerts.yml]
scrape_configs:
  - job_name: vitrine
    static_configs: [{targets: ["127.0.0.1:$daemon_port", "127.0.0.1:$export_port"]}]
END
prometheus --config.file "$work/prometheus.yml" --storage.tsdb.path "$work/tsdb" --log.level warn \
	--web.listen-address "127.0.0.1:$prometheus_port" >"$work/prometheus.log" 2>&1 &
prometheus=$!

vitrine_run() {
	"$bin/vitrine" run --socket "$work/control" --quiet "$@"
}

vitrine_run -- true
SECRET=a-secret-of-many-letters vitrine_run --secret SECRET=env:SECRET -- sh -c 'echo $SECRET; echo $SECRET' >/dev/null
vitrine_run -- false
vitrine_run -- sh -c 'kill -9 $$'

# ---- the exporter, on a unix socket ----

configure '{"name": "archive", "type": "file", "path": "'"$work"'/archive.jsonl"}' \
	'{"name": "away", "type": "webhook", "url": "http://127.0.0.1:1/", "secret": {"env": "HOOK"}}'
sed -i 's|^{|{"metrics": "unix:'"$work"'/export.sock", |' "$config"
export HOOK=whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=
start_exporter
of_exporter() {
	curl -sS --max-time 10 --unix-socket "$work/export.sock" http://localhost/metrics
}
all_counted() {
	of_exporter | grep -q '^vitrine_export_pending_records{sink="archive",type="file"} 0$' &&
		of_exporter | grep -q '^vitrine_export_delivered_records_total{sink="archive",type="file"} [1-9]'
}
check 'the exporter tells on a unix socket' wait_until 20 all_counted
is 'which is its owner'"'"'s alone' 600 "$(stat -c %a "$work/export.sock")"

of_exporter >"$work/export.txt"
is 'delivered is what the sink has' "$(grep -c '"seq":[1-9]' "$work/archive.jsonl")" \
	"$(sed -n 's/^vitrine_export_delivered_records_total{sink="archive",type="file"} //p' "$work/export.txt")"
# And at most a checkpoint of each session.
pending=$(sed -n 's/^vitrine_export_pending_records{sink="away",type="webhook"} //p' "$work/export.txt")
records=$(grep -c '"seq":[1-9]' "$work/archive.jsonl")
check 'pending is what the journals have' test "$pending" -ge "$records" -a "$pending" -le $((records + 4))
lagging() {
	of_exporter | grep -Eq '^vitrine_export_lag_seconds\{sink="away",type="webhook"\} [0-9]*[1-9]'
}
check 'and the lag of a receiver that is away grows' wait_until 10 lagging
stop_exporter
check 'its socket goes with it' test ! -e "$work/export.sock"
sed -i 's|unix:'"$work"'/export.sock|127.0.0.1:'"$export_port"'|' "$config"
start_exporter

# ---- the daemon, on a port ----

of_daemon() {
	curl -sS --max-time 20 "http://127.0.0.1:$daemon_port/metrics" "$@"
}
check 'the daemon tells on a port' wait_until 20 of_daemon
of_daemon >"$work/daemon.txt"
of_daemon -H 'Accept: application/openmetrics-text; version=1.0.0' >"$work/daemon.om"
curl -sS -H 'Accept: application/openmetrics-text' "http://127.0.0.1:$export_port/metrics" >"$work/export.om"

check 'promtool finds nothing wrong with the older form' sh -c "cat '$work/daemon.txt' | promtool check metrics"
check 'nor with that of the exporter' sh -c "cat '$work/export.txt' | promtool check metrics"
# Of Debian's package, wherever else there is a python3.
check 'a strict reader takes the OpenMetrics' /usr/bin/python3 -c '
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
for path in sys.argv[1:]:
    families = list(parse(open(path).read()))
    assert len(families) > 15, len(families)
    assert all(f.documentation for f in families)' "$work/daemon.om" "$work/export.om"
! grep -q 'a-secret-of-many\|'"$work" "$work/daemon.om" "$work/export.om"
ok $? 'no secret and no path is in it'

value() {
	of_daemon | sed -n "s/^$1 //p"
}
is 'sessions that started' 4 "$(value vitrine_sessions_started_total)"
is 'how they ended: by themselves' 3 "$(value 'vitrine_sessions_ended_total{reason="exit"}')"
is 'and by a signal' 1 "$(value 'vitrine_sessions_ended_total{reason="signal"}')"
is 'none lost a record' 0 "$(of_daemon | awk '/^vitrine_lost_records_total/ {n += $2} END {print n}')"
is 'records that were written are those in the journals' \
	"$("$bin/vitrine" ps --state "$state" --json | python3 -c 'import json, sys; print(sum(s["records"] for s in json.load(sys.stdin)))')" \
	"$(of_daemon | awk '/^vitrine_records_total/ {n += $2} END {print n}')"
is 'secrets that were cut' 2 "$(value 'vitrine_redactions_total{rule="given"}')"
is 'each session was signed, sealed and synced' yes \
	"$(of_daemon | awk '/^vitrine_journal_(sealed_blocks|checkpoints)_total/ {if ($2 >= 4) n++} /^vitrine_journal_sync_seconds_count/ {if ($2 >= 4) n++} END {if (n == 3) print "yes"}')"
check 'bytes too' test "$(value vitrine_journal_written_bytes_total)" -gt 4000

# ---- who serves it ----

server=$(pgrep -P "$daemon" -x vitrine-metrics)
is 'it has a user of its own' no "$(case $(awk '/^Uid:/ {print $2}' "/proc/$server/status") in 0 | 64742) echo yes ;; *) echo no ;; esac)"
is 'no capability' 0000000000000000 "$(awk '/^CapEff:/ {print $2}' "/proc/$server/status")"
[ -n "$(nm "$bin/vitrine-metrics" 2>/dev/null | grep -m1 __asan_init)" ] ||
	is 'and a filter of system calls' 2 "$(awk '/^Seccomp:/ {print $2}' "/proc/$server/status")"

python3 -c '
import socket, sys, time
crowd = []
for i in range(60):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.send([b"", b"GET /metr", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: "][i % 3])
    crowd.append(s)
print("here", flush=True)
time.sleep(60)' "$daemon_port" >"$work/crowd" &
crowd=$!
wait_until 10 grep -q here "$work/crowd"
check 'a crowd of clients that dawdle does not hold up a session' vitrine_run -- true
kill $crowd
wait $crowd 2>/dev/null
crowd=''
check 'and leaves the place to others' wait_until 20 of_daemon
kill -9 "$server"
check 'killed, it comes again' wait_until 20 sh -c "[ \"\$(pgrep -P $daemon -x vitrine-metrics)\" != $server ] && curl -sf http://127.0.0.1:$daemon_port/metrics >/dev/null"
is 'and counts on' 5 "$(value vitrine_sessions_started_total)"

# ---- Prometheus ----

check 'promtool takes the alerts' promtool check rules "$top/dashboards/prometheus/alerts.yml"
cp "$top/dashboards/prometheus/alerts.yml" "$here/alerts.test.yml" "$work"
check 'which fire when they should' promtool test rules "$work/alerts.test.yml"

scraped() {
	curl -sf "http://127.0.0.1:$prometheus_port/api/v1/query" --data-urlencode 'query=sum(count_over_time(up[1m])) >= 6 and sum(up) == 2' |
		grep -q '"value":\[' &&
		! curl -sf "http://127.0.0.1:$prometheus_port/api/v1/rules" | grep -q '"health":"unknown"'
}
check 'Prometheus scrapes both' wait_until 30 scraped
"$bin/vitrine-metrics" --list >"$work/list"
check 'and has all that dashboards and alerts name' /usr/bin/python3 "$here/dashboards.py" "http://127.0.0.1:$prometheus_port" \
	"$work/list" "$top/dashboards/grafana" "$top/dashboards/prometheus/alerts.yml"
firing=$(curl -s "http://127.0.0.1:$prometheus_port/api/v1/query" --data-urlencode 'query=ALERTS{alertstate="firing",severity="page"}' |
	python3 -c 'import json, sys; print(*{r["metric"]["alertname"] for r in json.load(sys.stdin)["data"]["result"]})')
is 'a host that is well wakes nobody' '' "$firing"

# ---- places that are refused ----

printf '{"metrics": "0.0.0.0:9847"}\n' >"$work/bad.json"
"$bin/vitrined" --config "$work/bad.json" 2>"$work/err"
grep -q 'metrics: "0.0.0.0:9847": bad value; allowed: unix:/PATH, or a loopback address' "$work/err"
ok $? 'metrics are for the host alone, and the error says so'
sed "s/$export_port/$daemon_port/; s|$directory|$work/other|" "$config" >"$work/taken.json"
"$bin/vitrine-export" --config "$work/taken.json" >"$work/err" 2>&1
grep -q "metrics: 127.0.0.1:$daemon_port: .*Address already in use" "$work/err"
ok $? 'a place that is taken is named'

done_testing
