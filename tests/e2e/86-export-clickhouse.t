#!/bin/sh
# A real ClickHouse: the table is made on demand, what comes twice is one row, and a row is the whole canonical record.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/export.sh"

find_peer clickhouse-server clickhouse-server || skip_all "no clickhouse-server is installed, and make deps-receivers could not get it"

one=0123456789ab
two=fedcba987654
port=$(free_port)
mkdir "$work/ch"
cat >"$work/ch/config.xml" <<-XML
	<yandex><logger><level>warning</level><console>1</console></logger>
	<http_port>$port</http_port><listen_host>127.0.0.1</listen_host>
	<path>$work/ch/data/</path><tmp_path>$work/ch/tmp/</tmp_path><users_config>users.xml</users_config>
	<default_profile>default</default_profile><default_database>default</default_database><mark_cache_size>1073741824</mark_cache_size></yandex>
XML
cat >"$work/ch/users.xml" <<-XML
	<yandex><profiles><default><max_memory_usage>1000000000</max_memory_usage></default></profiles>
	<users><default><password>pass word</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
	<quotas><default><interval><duration>3600</duration><queries>0</queries><errors>0</errors><result_rows>0</result_rows><read_rows>0</read_rows>
	<execution_time>0</execution_time></interval></default></quotas></yandex>
XML
start_peer --config-file="$work/ch/config.xml"
query() {
	curl -sS "http://127.0.0.1:$port/" -H 'X-ClickHouse-User: default' -H 'X-ClickHouse-Key: pass word' --data-binary "$1"
}
up() {
	[ "$(query 'SELECT 1')" = 1 ]
}
wait_until 20 up || { sed 's/^/# /' "$work/peer.log" | head -20; skip_all "clickhouse-server does not start here"; }

last_one=$(journal $one 3000)
last_two=$(journal $two 7 big=300000)
export PASSWORD='wrong'
ch='{"name": "ch", "type": "clickhouse", "url": "http://127.0.0.1:'"$port"'", "password": {"env": "PASSWORD"}, "include_output": true,
	"batch_count": 500, "backoff_ms": 50, "backoff_max_ms": 200, "concurrency": 2}'
configure "$ch"
start_exporter
wait_until 10 grep -q 'ch: paused: .*Code: 193\|ch: paused: .*Code: 516' "$work/exporter.log"
ok $? 'a wrong password pauses the sink'
stop_exporter
export PASSWORD='pass word'
start_exporter
check 'all is delivered' wait_until 20 settled ch
stop_exporter

rows() {
	query 'SELECT count() FROM vitrine FINAL WHERE seq > 0 FORMAT TSV'
}
is 'a row a record, in a table that was not there' $((last_one + last_two)) "$(rows)"
same() {
	for session in $one $two; do
		"$bin/vitrine" replay --state "$state" --json $session 2>/dev/null >"$work/replayed"
		query "SELECT record FROM vitrine FINAL WHERE session = '$session' AND seq > 0 ORDER BY seq FORMAT TSVRaw" >"$work/rows"
		cmp "$work/replayed" "$work/rows" || return 1
	done
}
check 'a row is what replay --json prints, byte for byte: 300,000 bytes, hostile or not UTF-8' same
is 'time and kind can be asked for' "$(grep -c '"kind":"output"' "$work/rows")" \
	"$(query "SELECT count() FROM vitrine FINAL WHERE session = '$two' AND kind = 'output' AND time > now() - 3600 FORMAT TSV")"

rm "$directory/ch.cursor"
start_exporter
check 'everything again' wait_until 20 settled ch
stop_exporter
is 'is stored twice at most' $((last_one + last_two)) "$(rows)"
check 'and read once, the same' same
query 'DROP TABLE vitrine' >"$work/log"
rm "$directory/ch.cursor"
start_exporter
check 'a table that is dropped is made again' wait_until 20 settled ch
is 'with all that came since' $((last_one + last_two)) "$(rows)"
stop_exporter
stop_peer

done_testing
